package assembly

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"fakellm/engine"
	"fakellm/internal/observe/metrics"
	"fakellm/openai"
)

// metrics chooses the sets by dialect; OpenAI itself has none, so there the backend's own names count. Dynamo's front end
// stands before workers that have vLLM's.
func (s *Server) metrics(reg prometheus.Registerer) []engine.Sink {
	c := metrics.Config{
		Model: s.model(), Ranks: s.engine.DPSize, Workers: s.cfg.NumWorkers, MaxModelLen: LongestSequence(s.engine),
		BlockSize: s.engine.BlockSize, Blocks: s.engine.NumGPUBlocks, Drafts: s.engine.NumSpeculativeTokens,
		MaxNumSeqs: s.cfg.MaxNumSeqs, MaxNumBatchedTokens: s.cfg.MaxNumBatchedTokens, Disconnected: s.tally.disconnected.Load,
		Cache: map[string]string{
			"block_size": fmt.Sprint(s.engine.BlockSize), "num_gpu_blocks": fmt.Sprint(s.engine.NumGPUBlocks),
			"enable_prefix_caching": fmt.Sprint(s.engine.EnablePrefixCaching), "cache_dtype": "auto",
		},
	}
	switch s.names() {
	case openai.DialectSGLang:
		return []engine.Sink{metrics.NewSGLang(reg, c)}
	case openai.DialectTRTLLM:
		return []engine.Sink{metrics.NewTRTLLM(reg, c)}
	case openai.DialectDynamo:
		return []engine.Sink{metrics.NewDynamo(reg, c), metrics.NewVLLM(reg, c)}
	default:
		return []engine.Sink{metrics.NewVLLM(reg, c)}
	}
}

// names says whose names the metrics have.
func (s *Server) names() openai.Dialect {
	if d := openai.Dialect(s.cfg.Dialect); d != openai.DialectOpenAI {
		return d
	}
	return openai.Dialect(s.engine.Backend)
}
