package openai

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// storeRoutes adds the routes of stored completions.
func (s *Server) storeRoutes(g gin.IRoutes, get func(gin.IRoutes, string, gin.HandlerFunc)) {
	get(g, "/chat/completions", s.listStored)
	get(g, "/chat/completions/:id", s.getStored)
	g.POST("/chat/completions/:id", s.updateStored)
	g.DELETE("/chat/completions/:id", s.deleteStored)
	get(g, "/chat/completions/:id/messages", s.storedMessages)
}

// updateBody is a change of a stored completion.
type updateBody struct {
	Metadata map[string]string `json:"metadata"`
}

// stored finds the completion of the path. In the lenient policy any id has one.
func (s *Server) stored(c *gin.Context) (storedChat, bool) {
	id := c.Param("id")
	item, ok := s.store.get(id)
	if !ok && s.opts.Policy == PolicyLenient {
		who := s.identity("", DefaultModel)
		item.resp = chatResponse{
			ID: id, Object: "chat.completion", Created: who.created, Model: who.model, Usage: &Usage{},
			Choices: []chatChoice{{Message: message(&Choice{}, s.opts.Dialect), FinishReason: "stop"}},
		}
		return item, true
	}
	if !ok {
		s.refuse(c, notStored(id))
	}
	return item, ok
}

func (s *Server) getStored(c *gin.Context) {
	if item, ok := s.stored(c); ok {
		s.writeSpoken(c, marshal(item.resp), item.resp.sounds)
	}
}

func (s *Server) updateStored(c *gin.Context) {
	body, err := s.readBody(c.Writer, c.Request)
	if err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	var b updateBody
	if err := s.check.decode(body, &b, updateShape(), s.opts.MaxDepth); err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	if err := checkMetadata(b.Metadata); err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	item, ok := s.stored(c)
	if !ok {
		return
	}
	item.resp.Metadata = b.Metadata
	s.store.setMetadata(item.resp.ID, b.Metadata)
	s.writeSpoken(c, marshal(item.resp), item.resp.sounds)
}

func (s *Server) deleteStored(c *gin.Context) {
	id := c.Param("id")
	if !s.store.remove(id) && s.opts.Policy != PolicyLenient {
		s.refuse(c, notStored(id))
		return
	}
	s.writeJSON(c, http.StatusOK, marshal(struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{id, "chat.completion.deleted", true}))
}

func (s *Server) listStored(c *gin.Context) {
	id := func(r chatResponse) string { return r.ID }
	part, more, err := page(c, s.store.list(c.Query("model"), c.QueryMap("metadata")), id, s.opts.Policy)
	if err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	s.writeSpoken(c, marshal(newList(part, more, id)), sounds(part))
}

func (s *Server) storedMessages(c *gin.Context) {
	item, ok := s.stored(c)
	if !ok {
		return
	}
	id := func(m storedMessage) string { return m.ID }
	part, more, err := page(c, append([]storedMessage(nil), item.messages...), id, s.opts.Policy)
	if err != nil {
		s.refuse(c, asAPIError(err))
		return
	}
	s.writeJSON(c, http.StatusOK, marshal(newList(part, more, id)))
}
