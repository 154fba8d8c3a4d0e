package openai

import (
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"
)

// store keeps completions that asked for it, oldest first (spec openai-endpoint N10). It is safe for concurrent use.
type store struct {
	limit int
	mu    sync.Mutex
	items []*storedChat
}

type storedChat struct {
	resp     chatResponse
	messages []storedMessage
}

// storedMessage is a message of a stored request.
type storedMessage struct {
	ID           string        `json:"id"`
	Role         string        `json:"role"`
	Content      *string       `json:"content"`
	Name         string        `json:"name,omitempty"`
	Refusal      *string       `json:"refusal"`
	ContentParts []contentPart `json:"content_parts"`
}

type contentPart struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

func newStore(limit int) *store { return &store{limit: limit} }

// put keeps a completion and drops the oldest beyond the limit.
func (st *store) put(req *ChatRequest, resp chatResponse, ids idSource) {
	if st.limit < 0 {
		return
	}
	item := &storedChat{resp: resp}
	for _, m := range req.Messages {
		item.messages = append(item.messages, storeMessage(m, ids.make("msg_")))
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.items = append(st.items, item)
	if over := len(st.items) - st.limit; over > 0 {
		st.items = slices.Delete(st.items, 0, over)
	}
}

func storeMessage(m Message, id string) storedMessage {
	out := storedMessage{ID: id, Role: m.Role, Name: m.Name}
	if m.Refusal != "" {
		out.Refusal = &m.Refusal
	}
	for _, p := range m.Parts {
		switch p.Kind {
		case "text":
			out.Content = join(out.Content, p.Text)
			out.ContentParts = append(out.ContentParts, contentPart{Type: "text", Text: &p.Text})
		case "image_url":
			out.ContentParts = append(out.ContentParts, contentPart{Type: "image_url", ImageURL: &imageURL{p.Data, p.Detail}})
		}
	}
	if len(m.Parts) < 2 {
		out.ContentParts = nil
	}
	return out
}

// at is the index of an id, or -1; mu is held.
func (st *store) at(id string) int {
	return slices.IndexFunc(st.items, func(i *storedChat) bool { return i.resp.ID == id })
}

// get copies an item out.
func (st *store) get(id string) (storedChat, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if i := st.at(id); i >= 0 {
		return *st.items[i], true
	}
	return storedChat{}, false
}

// setMetadata replaces the metadata of an item.
func (st *store) setMetadata(id string, meta map[string]string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if i := st.at(id); i >= 0 {
		changed := *st.items[i]
		changed.resp.Metadata = meta
		st.items[i] = &changed
	}
}

// remove reports whether there was such an item.
func (st *store) remove(id string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	i := st.at(id)
	if i >= 0 {
		st.items = slices.Delete(st.items, i, i+1)
	}
	return i >= 0
}

// list copies the responses that match, oldest first.
func (st *store) list(model string, meta map[string]string) []chatResponse {
	st.mu.Lock()
	defer st.mu.Unlock()
	var out []chatResponse
	for _, i := range st.items {
		match := model == "" || i.resp.Model == model
		for k, v := range meta {
			match = match && i.resp.Metadata[k] == v
		}
		if match {
			out = append(out, i.resp)
		}
	}
	return out
}

// page cuts a list by the usual cursor parameters; id names an element.
func page[T any](c *gin.Context, all []T, id func(T) string, p Policy) (part []T, more bool, err error) {
	limit := 20
	if v := c.Query("limit"); v != "" {
		n, convErr := strconv.Atoi(v)
		if convErr != nil || n > 100 || n < 0 || (n == 0 && p != PolicyLenient) {
			return nil, false, badRequest("limit", codeValue, "invalid 'limit': %q is not an integer from 1 to 100", clip(v))
		}
		limit = n
	}
	order := c.Query("order")
	if order != "" {
		if err := oneOf("order", &order, "asc", "desc"); err != nil {
			return nil, false, err
		}
	}
	if order == "desc" {
		slices.Reverse(all)
	}
	if after := c.Query("after"); after != "" {
		i := slices.IndexFunc(all, func(v T) bool { return id(v) == after })
		all = all[i+1:]
	}
	if len(all) > limit {
		return all[:limit], true, nil
	}
	return all, false, nil
}

// listBody is a page on the wire.
type listBody[T any] struct {
	Object  string `json:"object"`
	Data    []T    `json:"data"`
	FirstID string `json:"first_id"`
	LastID  string `json:"last_id"`
	HasMore bool   `json:"has_more"`
}

func newList[T any](part []T, more bool, id func(T) string) listBody[T] {
	l := listBody[T]{Object: "list", Data: part, HasMore: more}
	if len(part) == 0 {
		l.Data = []T{}
		return l
	}
	l.FirstID, l.LastID = id(part[0]), id(part[len(part)-1])
	return l
}

func notStored(id string) *APIError {
	return &APIError{
		Status: http.StatusNotFound, Type: typeInvalid, Param: "completion_id", Code: "not_found",
		Message: "no stored completion has the id '" + clip(id) + "'",
	}
}
