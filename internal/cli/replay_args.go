package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"fakellm/config"
)

// engineArgs are the reference's nested engine arguments, an object of objects: each key with its place and its raw
// value (spec simulation-harness §1.1).
type engineArgs map[string]json.RawMessage

// readEngineArgs parses JSON, or the file behind @.
func readEngineArgs(text string) (engineArgs, error) {
	if text == "" {
		return nil, nil
	}
	raw, name := []byte(text), "extra_engine_args"
	if path, ok := strings.CutPrefix(text, "@"); ok {
		var err error
		if raw, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("extra_engine_args: %w", err)
		}
		name = path
	}
	out := engineArgs{}
	if err := out.flatten("", raw); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// nested are the keys whose values are objects of settings.
var nested = []string{
	"engine", "dynamo", "engine.sglang", "engine.trtllm", "engine.timing_model", "engine.timing_model.config",
}

// flatten puts every setting under its dotted key.
func (a engineArgs) flatten(prefix string, raw []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			line := 1 + bytes.Count(raw[:syntax.Offset], []byte("\n"))
			return fmt.Errorf("line %d: %w", line, err)
		}
		return fmt.Errorf("%s: must be a JSON object", strings.TrimSuffix("it"+prefix, "."))
	}
	for key, value := range object {
		path := prefix + key
		if slices.Contains(nested, path) {
			if string(value) == "null" {
				continue
			}
			if err := a.flatten(path+".", value); err != nil {
				return err
			}
			continue
		}
		a[path] = value
	}
	return nil
}

// apply sets in c what the arguments say and leaves the rest alone. The error joins every problem, unknown keys
// included.
func (a engineArgs) apply(c *config.Config) error {
	d := &decoder{args: a}
	d.engine(c)
	d.sglang(c)
	d.launch(c)
	d.timing(c)
	for _, key := range ignored {
		d.take(key)
	}
	for _, key := range unsupported {
		if raw, ok := d.take(key); ok && string(raw) != "null" {
			d.fail(key, "not supported yet")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if !slices.Contains(d.taken, key) {
			d.fail(key, "unknown key")
		}
	}
	return errors.Join(d.problems...)
}

// ignored are keys that change nothing in an aggregated offline replay.
var ignored = []string{
	"startup_time", "gpu_memory_utilization", "mem_fraction_static", "free_gpu_memory_fraction",
	"cuda_graph_reserved_bytes",
	"num_gpu_blocks_is_explicit", "engine.emit_kv_events", "engine.emit_kv_token_ids",
	"engine.kv_transfer_bytes_per_token",
	"engine.kv_bytes_per_token", "engine.kv_transfer_bandwidth", "engine.kv_transfer_timing_mode",
	"engine.kv_cache_bytes_per_token", "dynamo.enable_local_indexer", "dynamo.bootstrap_port",
	"dynamo.handoff_session_timeout_ms", "dynamo.zmq_kv_events_port", "dynamo.zmq_replay_port",
	"dynamo.router_queue_policy",
}

// unsupported are keys of features that are not built.
var unsupported = []string{
	"engine.native_host_offload", "engine.g3_offload", "engine.state_cache", "engine.prefix_match_unit",
	"engine.kv_cache_groups", "engine.kv_cache_capacity_bytes", "dynamo.reasoning", "dynamo.response_replay_trace_path",
}

func (d *decoder) engine(c *config.Config) {
	d.oneOf("engine.backend", &c.Backend, "vllm", "sglang", "trtllm")
	d.count("engine.num_gpu_blocks", &c.NumGPUBlocks, 1)
	d.count("engine.block_size", &c.BlockSize, 1)
	d.countOrNull("engine.max_model_len", &c.MaxModelLen)
	d.countOrNull("engine.max_num_seqs", &c.MaxNumSeqs)
	d.countOrNull("engine.max_num_batched_tokens", &c.MaxNumBatchedTokens)
	d.count("engine.prefill_schedule_interval", &c.PrefillScheduleInterval, 1)
	d.count("engine.prefill_decode_interval", &c.PrefillDecodeInterval, 0)
	d.flag("engine.enable_prefix_caching", &c.EnablePrefixCaching)
	d.flag("engine.enable_chunked_prefill", &c.EnableChunkedPrefill)
	d.oneOf("engine.preemption_mode", &c.PreemptionMode, "lifo", "fifo")
	role := "aggregated"
	d.oneOf("engine.worker_type", &role, "aggregated")
	policy := ""
	d.oneOf("engine.trtllm.capacity_scheduler_policy", &policy, "guaranteed_no_evict")
	d.number("engine.speedup_ratio", &c.SpeedupRatio)
	d.number("engine.decode_speedup_ratio", &c.DecodeSpeedupRatio)
	d.count("engine.aic_nextn", &c.NumSpeculativeTokens, 1)
	d.rates("engine.aic_nextn_accept_rates", &c.AcceptRates)
	d.seed("engine.aic_mtp_seed", &c.AcceptSeed)
}

func (d *decoder) sglang(c *config.Config) {
	d.oneOf("engine.sglang.schedule_policy", &c.SchedulePolicy, "fifo", "lpm")
	d.count("engine.sglang.max_prefill_tokens", &c.MaxPrefillTokens, 1)
	d.count("engine.sglang.chunked_prefill_size", &c.ChunkedPrefillSize, 1)
	d.count("engine.sglang.clip_max_new_tokens", &c.ClipMaxNewTokens, 0)
	d.number("engine.sglang.schedule_conservativeness", &c.ScheduleConservativness)
}

func (d *decoder) launch(c *config.Config) {
	d.count("dp_size", &c.DataParallelSize, 1)
	d.count("tensor_parallel_size", &c.TensorParallelSize, 1)
}

// timing translates the timing model. Naming one switches off what the settings had chosen.
func (d *decoder) timing(c *config.Config) {
	kind, provider := "", ""
	d.oneOf("engine.timing_model.type", &kind, "polynomial", "fixed", "external")
	d.number("engine.timing_model.prefill_ms", &c.PrefillMS)
	d.number("engine.timing_model.decode_ms", &c.DecodeMS)
	d.oneOf("engine.timing_model.provider", &provider, "dynamo_profile", "aic", "ais")
	if kind == "" {
		return
	}
	c.TimingModel, c.Fast, c.ProfileData, c.GPU, c.AICSystem = kind, false, "", "", ""
	if kind != "external" {
		return
	}
	switch provider {
	case "dynamo_profile":
		c.TimingModel = "profile"
		d.text("engine.timing_model.config.path", &c.ProfileData)
	case "aic", "ais":
		c.TimingModel = "aic"
		d.aic(c)
	default:
		d.fail("engine.timing_model.provider", "missing")
	}
}

func (d *decoder) aic(c *config.Config) {
	const at = "engine.timing_model.config."
	d.text(at+"systems_dir", &c.AICSystemsDir)
	d.text(at+"system", &c.AICSystem)
	d.text(at+"backend", &c.AICBackend)
	d.text(at+"backend_version", &c.AICBackendVersion)
	d.text(at+"model", &c.AICModel)
	d.count(at+"tp_size", &c.TensorParallelSize, 1)
	d.count(at+"moe_tp_size", &c.AICMoETPSize, 1)
	d.count(at+"moe_ep_size", &c.AICMoEEPSize, 1)
	d.count(at+"attention_dp_size", &c.AICAttentionDPSize, 1)
}

// decoder reads settings one by one and gathers what is wrong.
type decoder struct {
	args     engineArgs
	taken    []string
	problems []error
}

func (d *decoder) fail(key, format string, args ...any) {
	d.problems = append(d.problems, fmt.Errorf("extra_engine_args: %s: "+format, append([]any{key}, args...)...))
}

func (d *decoder) take(key string) (json.RawMessage, bool) {
	raw, ok := d.args[key]
	d.taken = append(d.taken, key)
	return raw, ok
}

// value decodes a key that is present into v; null counts as absent.
func value[T any](d *decoder, key, what string, v *T) bool {
	raw, ok := d.take(key)
	if !ok || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, v); err != nil {
		d.fail(key, "%s: must be %s", raw, what)
		return false
	}
	return true
}

func (d *decoder) count(key string, v *int, least int) {
	n := 0
	if !value(d, key, "a whole number", &n) {
		return
	}
	if n < least {
		d.fail(key, "%d: must be at least %d", n, least)
		return
	}
	*v = n
}

// countOrNull takes null for no limit, which the settings write as 0.
func (d *decoder) countOrNull(key string, v *int) {
	if raw, ok := d.args[key]; ok && string(raw) == "null" {
		*v = 0
	}
	d.count(key, v, 1)
}

func (d *decoder) number(key string, v *float64) {
	x := 0.0
	if !value(d, key, "a number", &x) {
		return
	}
	if !(x >= 0) || math.IsInf(x, 0) {
		d.fail(key, "%v: must be finite and not negative", x)
		return
	}
	*v = x
}

func (d *decoder) flag(key string, v *bool)   { value(d, key, "true or false", v) }
func (d *decoder) text(key string, v *string) { value(d, key, "a string", v) }

func (d *decoder) seed(key string, v *uint64) { value(d, key, "a whole number from 0 to 2^64-1", v) }

func (d *decoder) oneOf(key string, v *string, allowed ...string) {
	text := ""
	if !value(d, key, "a string", &text) {
		return
	}
	if !slices.Contains(allowed, text) {
		d.fail(key, "%q: must be %s", text, strings.Join(allowed, " or "))
		return
	}
	*v = text
}

// rates takes the comma list, or a list of numbers.
func (d *decoder) rates(key string, v *string) {
	raw, ok := d.take(key)
	if !ok || string(raw) == "null" {
		return
	}
	if len(raw) > 0 && raw[0] == '[' {
		*v = strings.Trim(string(raw), "[] ")
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		d.fail(key, "%s: must be a list of numbers with commas", raw)
	}
}
