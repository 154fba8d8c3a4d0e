package assembly

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fakellm/engine/kv"
	"fakellm/openai"
)

// withControl adds the routes that look into the engine or steer the answers. What lives under /sim/ is guarded.
func (s *Server) withControl(face http.Handler) http.Handler {
	sim := http.NewServeMux()
	sim.HandleFunc("GET /sim/state", s.state)
	sim.HandleFunc("GET /sim/kv_blocks", s.blocks)
	s.mappingRoutes(sim)
	if j := s.rooms.journal; j != nil {
		j.Routes(sim, time.Now)
	}
	guarded := s.guard(enveloped(sim))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/sim/"):
			guarded.ServeHTTP(w, r)
		case path == "/reset_prefix_cache" || path == "/flush_cache": // vLLM's and SGLang's name of the same thing
			s.resetCache(w, r)
		case path == "/prometheus/metrics" && s.names() == openai.DialectTRTLLM: // where trtllm-serve has them
			r = r.Clone(r.Context())
			r.URL.Path = "/metrics"
			face.ServeHTTP(w, r)
		default:
			face.ServeHTTP(w, r)
		}
	})
}

// enveloped answers what a mux does not know, or not with that method, in the error envelope of all other routes.
func enveloped(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := verdict{header: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(&probe, r)
		if allow := probe.header.Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
		}
		code := "unknown_url"
		if probe.status == http.StatusMethodNotAllowed {
			code = "method_not_allowed"
		}
		refuseControl(w, probe.status, code, fmt.Sprintf("%s %s: %s", r.Method, r.URL.Path, http.StatusText(probe.status)))
	})
}

// verdict hears what a handler would answer and drops the body.
type verdict struct {
	header http.Header
	status int
}

// Header, WriteHeader and Write make a verdict an http.ResponseWriter.
func (v *verdict) Header() http.Header         { return v.header }
func (v *verdict) WriteHeader(status int)      { v.status = status }
func (v *verdict) Write(p []byte) (int, error) { return len(p), nil }

// guard lets control requests through that carry the token, or, without one, that come from this machine.
func (s *Server) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + s.cfg.ControlToken))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.ControlToken != "" {
			got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
			if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
				refuseControl(w, http.StatusUnauthorized, "invalid_control_token", "send the control token as 'Authorization: Bearer TOKEN'")
				return
			}
		} else if !fromHere(r.RemoteAddr) || !forHere(r) {
			refuseControl(w, http.StatusForbidden, "control_is_local",
				"control routes answer this machine only; set control_token to open them to others")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// forHere says whether a request from this machine was meant for it: a page of another site that a browser here shows
// names itself as Origin, or, with a name that resolves to this machine, as Host.
func forHere(r *http.Request) bool {
	if _, _, err := net.SplitHostPort(r.RemoteAddr); err != nil {
		return true // an in-memory connection of a test
	}
	if origin := r.Header.Get("Origin"); origin != "" && !localName(strings.TrimPrefix(strings.TrimPrefix(origin, "http://"), "https://")) {
		return false
	}
	return localName(r.Host)
}

// localName says whether a host, with or without a port, is a name of this machine.
func localName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// fromHere says whether an address is on this machine. One that is no IP address is an in-memory connection of a test.
func fromHere(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (s *Server) resetCache(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET, POST")
		refuseControl(w, http.StatusMethodNotAllowed, "method_not_allowed", r.Method+" is not allowed here")
		return
	}
	s.live.ResetPrefixCache()
	w.WriteHeader(http.StatusOK)
}

// state answers with a copy of what the engine holds right now.
func (s *Server) state(w http.ResponseWriter, _ *http.Request) {
	var v simState
	if !s.live.Inspect(func() { v = s.snapshot() }) {
		refuseControl(w, http.StatusServiceUnavailable, "engine_shut_down", "the engine is shut down")
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
		refuseControl(w, http.StatusBadRequest, "invalid_control_request", "worker and rank must name an existing rank")
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
