package aic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"fakellm/timing/aic/fault"
)

// maxCases bounds a file of cases.
const maxCases = 256 << 20

// caseFile is the form of the golden files; a bare array of cases is read too.
type caseFile struct {
	Cases []json.RawMessage `json:"cases"`
}

// caseFields are the fields of every kind of case. Absent fields have the defaults of Config and MemoryConfig.
type caseFields struct {
	ID      json.RawMessage `json:"id"`
	Model   string          `json:"model"`
	System  string          `json:"system"`
	Backend string          `json:"backend"`
	Version string          `json:"version"`
	TP      int             `json:"tp"`
	PP      int             `json:"pp"`
	DP      int             `json:"attention_dp"`
	MoETP   int             `json:"moe_tp"`
	MoEEP   int             `json:"moe_ep"`
	Gemm    string          `json:"gemm_quant"`
	MoE     string          `json:"moe_quant"`
	KVCache string          `json:"kvcache_quant"`
	FMHA    string          `json:"fmha_quant"`
	Comm    string          `json:"comm_quant"`
	Mode    string          `json:"mode"`
	NextN   int             `json:"nextn"`

	Phase string `json:"phase"`
	Kind  string `json:"kind"`
}

func (c *caseFields) config() Config {
	return Config{
		Model: c.Model, System: c.System, Backend: c.Backend, Version: c.Version,
		TP: c.TP, PP: c.PP, AttentionDP: c.DP, MoETP: c.MoETP, MoEEP: c.MoEEP,
		Gemm: c.Gemm, MoE: c.MoE, KVCache: c.KVCache, FMHA: c.FMHA, Comm: c.Comm, Mode: c.Mode, NextN: c.NextN,
	}
}

// caseError is how a refusal is written.
type caseError struct {
	Category fault.Category `json:"category"`
	Reason   string         `json:"reason"`
}

// RunCases answers a file of cases in the form of the golden files (passes with a phase, operators with a kind, else
// capacities) and writes one JSON line per case in the same order: the id, and either the result under the golden's
// names or error with category and reason. It stops only when r or w fail or r is not such a file.
func RunCases(r io.Reader, w io.Writer, data *Data) error {
	raw, err := io.ReadAll(io.LimitReader(r, maxCases+1))
	if err != nil {
		return err
	}
	if len(raw) > maxCases {
		return fault.New(fault.BadData, "cases: more than %d bytes", maxCases)
	}
	var file caseFile
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		err = json.Unmarshal(raw, &file.Cases)
	} else {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		return fault.New(fault.BadData, "cases: %v", err)
	}
	run := runner{data: data, models: map[string]*Model{}}
	out := bufio.NewWriter(w)
	for _, c := range file.Cases {
		if err := run.one(c, out); err != nil {
			return err
		}
	}
	return out.Flush()
}

// runner keeps the models of the cases so far.
type runner struct {
	data   *Data
	models map[string]*Model
}

func (r *runner) one(raw json.RawMessage, w io.Writer) error {
	var c caseFields
	var out object
	err := json.Unmarshal(raw, &c)
	if err != nil {
		err = fault.New(fault.BadConfig, "case: %v", err)
	} else {
		out, err = r.answer(&c, raw)
	}
	id := c.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	line := object{{"id", id}}
	if err != nil {
		category := fault.Of(err)
		if category == "" {
			category = "other"
		}
		line = append(line, field{"error", caseError{category, err.Error()}})
	} else {
		line = append(line, out...)
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func (r *runner) answer(c *caseFields, raw json.RawMessage) (object, error) {
	switch {
	case c.Phase != "":
		m, err := r.model(c)
		if err != nil {
			return nil, err
		}
		return runPass(m, c.Phase, raw)
	case c.Kind != "":
		return r.runOp(c, raw)
	}
	m, err := r.model(c)
	if err != nil {
		return nil, err
	}
	return runCapacity(m, raw)
}

// model returns the case's model, loading it once per deployment.
func (r *runner) model(c *caseFields) (*Model, error) {
	deployment := *c
	deployment.ID, deployment.Phase, deployment.Kind = nil, "", ""
	key := fmt.Sprint(deployment)
	if m, ok := r.models[key]; ok {
		return m, nil
	}
	m, err := r.data.Model(c.config())
	if err != nil {
		return nil, err
	}
	if len(r.models) >= 64 {
		clear(r.models)
	}
	r.models[key] = m
	return m, nil
}

// object is a JSON object whose fields keep their order.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err1 := json.Marshal(f.name)
		value, err2 := json.Marshal(f.value)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
