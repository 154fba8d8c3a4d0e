package assembly

import (
	"encoding/json"
	"net/http"
	"strconv"

	"fakellm/engine/kv"
)

// withControl adds the routes that look into the engine or change its cache.
func (s *Server) withControl(face http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sim/state", s.state)
	mux.HandleFunc("GET /sim/kv_blocks", s.blocks)
	for _, route := range []string{"/reset_prefix_cache", "/flush_cache"} { // vLLM's and SGLang's name of the same thing
		mux.HandleFunc("POST "+route, s.resetCache)
		mux.HandleFunc("GET "+route, s.resetCache)
	}
	mux.Handle("/", face)
	return mux
}

func (s *Server) resetCache(w http.ResponseWriter, _ *http.Request) {
	s.live.ResetPrefixCache()
	w.WriteHeader(http.StatusOK)
}

// state answers with a copy of what the engine holds right now.
func (s *Server) state(w http.ResponseWriter, _ *http.Request) {
	var v simState
	if !s.live.Inspect(func() { v = s.snapshot() }) {
		http.Error(w, `{"error":{"message":"the engine is shut down","type":"server_error","param":null,"code":null}}`,
			http.StatusServiceUnavailable)
		return
	}
	v.Version, v.Counts = s.version, s.tally.counts()
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	_ = enc.Encode(v) // the client may be gone: nothing to do about it
}

// blocks lists the identities of the cached blocks of ?worker=0&rank=0: what the KV events add up to between passes.
func (s *Server) blocks(w http.ResponseWriter, r *http.Request) {
	worker, errW := strconv.Atoi(orText(r.FormValue("worker"), "0"))
	rank, errR := strconv.Atoi(orText(r.FormValue("rank"), "0"))
	if errW != nil || errR != nil || worker < 0 || rank < 0 || worker >= s.cfg.NumWorkers || rank >= s.engine.DPSize {
		http.Error(w, `{"error":{"message":"worker and rank must name an existing rank","type":"invalid_request_error",`+
			`"param":"worker","code":null}}`, http.StatusBadRequest)
		return
	}
	var hashes []kv.SequenceHash
	s.live.Inspect(func() { hashes = s.machine.Resident(worker, rank) })
	if hashes == nil {
		hashes = []kv.SequenceHash{}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"block_hashes": hashes})
}
