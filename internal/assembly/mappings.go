package assembly

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"fakellm/openai/fault"
	"fakellm/openai/reply/script"
)

// maxControl bounds the body of a control request, in bytes.
const maxControl = 16 << 20

// mappingRoutes serve the scripted replies in WireMock's shape, and the fault rules beside them.
func (s *Server) mappingRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /sim/mappings", func(w http.ResponseWriter, _ *http.Request) {
		raw, err := s.rooms.script.Book().ToJSON()
		answerRaw(w, http.StatusOK, raw, err)
	})
	mux.HandleFunc("POST /sim/mappings", s.edit(http.StatusCreated, func(b *script.Book, _ string, body []byte) (*script.Book, any, error) {
		m, err := script.ParseMapping("body", body)
		if err != nil {
			return nil, nil, err
		}
		return b.Add(m)
	}))
	mux.HandleFunc("DELETE /sim/mappings", s.edit(http.StatusOK, func(*script.Book, string, []byte) (*script.Book, any, error) {
		return new(script.Book), struct{}{}, nil
	}))
	mux.HandleFunc("GET /sim/mappings/{id}", func(w http.ResponseWriter, r *http.Request) {
		m, err := s.rooms.script.Book().Mapping(r.PathValue("id"))
		if err != nil {
			controlError(w, err)
			return
		}
		raw, err := script.MappingJSON(m)
		answerRaw(w, http.StatusOK, raw, err)
	})
	mux.HandleFunc("PUT /sim/mappings/{id}", s.edit(http.StatusOK, func(b *script.Book, id string, body []byte) (*script.Book, any, error) {
		m, err := script.ParseMapping("body", body)
		if err != nil {
			return nil, nil, err
		}
		next, err := b.Replace(id, m)
		return next, struct{}{}, err
	}))
	mux.HandleFunc("DELETE /sim/mappings/{id}", s.edit(http.StatusOK, func(b *script.Book, id string, _ []byte) (*script.Book, any, error) {
		next, err := b.Remove(id)
		return next, struct{}{}, err
	}))
	mux.HandleFunc("POST /sim/mappings/import", s.edit(http.StatusOK, func(b *script.Book, _ string, body []byte) (*script.Book, any, error) {
		next, err := b.Import("body", body)
		return next, struct{}{}, err
	}))
	mux.HandleFunc("POST /sim/mappings/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.reload()
		s.rooms.script.ResetState()
		w.WriteHeader(http.StatusOK)
	})
	mux.HandleFunc("POST /sim/scenarios/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.rooms.script.ResetState()
		w.WriteHeader(http.StatusOK)
	})
	mux.HandleFunc("GET /sim/scenarios", s.scenarios)
	mux.HandleFunc("GET /sim/faults", func(w http.ResponseWriter, _ *http.Request) {
		raw, err := fault.FormatRules(s.rooms.breaker.Rules())
		answerRaw(w, http.StatusOK, raw, err)
	})
	mux.HandleFunc("PUT /sim/faults", s.putFaults)
	mux.HandleFunc("DELETE /sim/faults", func(w http.ResponseWriter, _ *http.Request) {
		_ = s.rooms.breaker.Use(nil) // no rules cannot be wrong
		w.WriteHeader(http.StatusOK)
	})
}

// edit serves a change of the book.
func (s *Server) edit(status int, change func(*script.Book, string, []byte) (*script.Book, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControl))
		if err != nil {
			controlError(w, err)
			return
		}
		var out any
		err = s.rooms.script.Edit(func(b *script.Book) (*script.Book, error) {
			next, answer, err := change(b, r.PathValue("id"), body)
			if err != nil {
				return nil, err
			}
			out = answer
			return next, checkFaults(next)
		})
		if err != nil {
			controlError(w, err)
			return
		}
		if m, ok := out.(script.Mapping); ok {
			raw, err := script.MappingJSON(m)
			answerRaw(w, status, raw, err)
			return
		}
		answerJSON(w, status, out)
	}
}

// scenarios lists the states of the session ?session=.
func (s *Server) scenarios(w http.ResponseWriter, r *http.Request) {
	var states []script.ScenarioState
	s.rooms.script.State(func(st *script.State) { states = st.ScenarioStates(r.FormValue("session")) })
	answerJSON(w, http.StatusOK, map[string]any{"scenarios": s.rooms.script.Book().Scenarios(), "states": states})
}

// putFaults replaces the fault rules.
func (s *Server) putFaults(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControl))
	if err == nil && len(bytes.TrimSpace(body)) == 0 {
		err = errors.New("the body is empty: send fault rules, or DELETE /sim/faults to drop them all")
	}
	if err == nil {
		var rules []fault.Rule
		if rules, err = fault.ParseRules("body", body); err == nil {
			err = s.rooms.breaker.Use(rules)
		}
	}
	if err != nil {
		controlError(w, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// controlError answers a control request that cannot be followed.
func controlError(w http.ResponseWriter, err error) {
	status, code := http.StatusBadRequest, "invalid_control_request"
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, script.ErrUnknownMapping):
		status, code = http.StatusNotFound, "mapping_not_found"
	case errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
	}
	refuseControl(w, status, code, err.Error())
}

// refuseControl answers in the error envelope of all other routes.
func refuseControl(w http.ResponseWriter, status int, code, message string) {
	class := "invalid_request_error"
	if status >= http.StatusInternalServerError {
		class = "server_error"
	}
	answerJSON(w, status, map[string]any{"error": map[string]any{"message": message, "type": class, "param": nil, "code": code}})
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	answerRaw(w, status, raw, err)
}

func answerRaw(w http.ResponseWriter, status int, raw []byte, err error) {
	if err != nil {
		refuseControl(w, http.StatusInternalServerError, "internal_error", err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // the client may be gone: nothing to do about it
}
