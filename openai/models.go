package openai

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// model is one entry of the model list; engines add the last three (spec openai-endpoint M1).
type model struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root,omitempty"`
	Parent      *string `json:"parent,omitempty"`
	MaxModelLen int     `json:"max_model_len,omitempty"`
}

func (s *Server) model(id string) model {
	m := model{ID: id, Object: "model", Created: s.born.Unix(), OwnedBy: "fakellm"}
	if s.opts.Dialect != DialectOpenAI {
		m.OwnedBy, m.Root, m.MaxModelLen = string(s.opts.Dialect), id, s.backend.Limits().MaxModelLen
	}
	return m
}

func (s *Server) listModels(c *gin.Context) {
	ids := s.opts.ServedModels
	if len(ids) == 0 {
		ids = []string{s.opts.ListedModel}
	}
	list := make([]model, len(ids))
	for i, id := range ids {
		list[i] = s.model(id)
	}
	s.writeJSON(c, http.StatusOK, marshal(struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", list}))
}

// modelID is the rest of the path; net/http has already decoded %2F in it.
func modelID(c *gin.Context) string { return strings.TrimPrefix(c.Param("id"), "/") }

func (s *Server) getModel(c *gin.Context) {
	id := modelID(c)
	if id == "" {
		s.listModels(c)
		return
	}
	if err := s.check.knownModel(id); err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	s.writeJSON(c, http.StatusOK, marshal(s.model(id)))
}

// deleteModel pretends in the lenient policy, and otherwise refuses: served models are configuration.
func (s *Server) deleteModel(c *gin.Context) {
	id := modelID(c)
	if s.opts.Policy != PolicyLenient {
		s.refuse(c, &APIError{
			Status: http.StatusForbidden, Type: typeInvalid, Param: "model", Code: "model_not_deletable",
			Message: "the model '" + clip(id) + "' cannot be deleted",
		})
		return
	}
	s.writeJSON(c, http.StatusOK, marshal(struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{id, "model", true}))
}

func (s *Server) health(c *gin.Context) { c.Status(http.StatusOK) }

func (s *Server) readiness(c *gin.Context) {
	if !s.ready.Load() {
		s.writeJSON(c, http.StatusServiceUnavailable, []byte(`{"status":"not ready"}`))
		return
	}
	s.writeJSON(c, http.StatusOK, []byte(`{"status":"ready"}`))
}

func (s *Server) version(c *gin.Context) {
	s.writeJSON(c, http.StatusOK, marshal(struct {
		Version string `json:"version"`
	}{s.opts.Version}))
}
