package openai

import (
	"errors"
	"strings"
	"sync"

	"fakellm/openai/reply"
	"fakellm/openai/reply/schema"
)

// schemaCache keeps compiled schemas, since a client sends the same ones with every request. The zero value is ready;
// it is safe for concurrent use.
type schemaCache struct {
	mu   sync.Mutex
	kept map[string]*schema.Schema
}

const (
	// maxSchemas are kept; when there are more, the cache starts anew.
	maxSchemas = 256
	// maxCachedSchema bytes are the longest text that is worth keeping.
	maxCachedSchema = 64 << 10
)

// compile is schema.Compile with a memory. Schemas that cannot be compiled are not kept.
func (c *schemaCache) compile(raw []byte) (*schema.Schema, error) {
	c.mu.Lock()
	s := c.kept[string(raw)]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := schema.Compile(raw)
	if err != nil || len(raw) > maxCachedSchema {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxSchemas {
		c.kept = map[string]*schema.Schema{}
	}
	c.kept[string(raw)] = s
	return s, nil
}

// schemaRefusal makes a schema that cannot be served the client's error, naming where it stands.
func schemaRefusal(f *Format, legacy bool, err error) error {
	inner, ok := errors.AsType[*schema.Error](err)
	if !ok {
		return err
	}
	param := "response_format"
	switch {
	case strings.HasPrefix(err.Error(), "parameters of") && legacy:
		param = "functions"
	case strings.HasPrefix(err.Error(), "parameters of"):
		param = "tools"
	case f.Kind == reply.FormatString:
		return badRequest(f.Field, codeValue, "invalid '%s': no answer can be made for it: %v", f.Field, inner)
	case f.Field != "":
		param, err = f.Field, inner
	}
	return badRequest(param, "invalid_json_schema", "invalid schema for '%s': %v", param, err)
}
