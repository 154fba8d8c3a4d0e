package openai

import (
	"errors"
	"strings"
	"sync"

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
func schemaRefusal(r *ChatRequest, err error) error {
	if _, ok := errors.AsType[*schema.Error](err); !ok {
		return err
	}
	param := "response_format"
	if strings.HasPrefix(err.Error(), "parameters of") {
		param = "tools"
		if r.LegacyFunctions {
			param = "functions"
		}
	}
	return badRequest(param, "invalid_json_schema", "invalid schema for '%s': %v", param, err)
}
