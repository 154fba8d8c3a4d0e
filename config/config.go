package config

import "time"

// Config holds every setting of fakellm. The zero value is not valid; start from [Default].
type Config struct {
	Server  `koanf:",squash"`
	Reply   `koanf:",squash"`
	Engine  `koanf:",squash"`
	Timing  `koanf:",squash"`
	Observe `koanf:",squash"`
	Control `koanf:",squash"`
	// Origin says where settings were given, for messages; [Load] fills it in.
	Origin Origin `koanf:"-"`
	// Bad are the keys whose values [Load] refused: what is there in their place is no more than possible.
	Bad []string `koanf:"-"`
}

// Server says where and how the endpoint listens.
type Server struct {
	Model           string        `koanf:"model" jsonschema_description:"model name reported by /v1/models and used to choose the tokenizer; any name is answered unless served_model_name is set"`
	ServedModelName []string      `koanf:"served_model_name" jsonschema_description:"names that are answered; every other gets 404. Empty: any name is answered"`
	Host            string        `koanf:"host" jsonschema_description:"address to listen on"`
	Port            int           `koanf:"port" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"TCP port; 0 picks a free one"`
	APIKey          []string      `koanf:"api_key" jsonschema_description:"keys that are accepted; empty: no key is asked for"`
	Strict          bool          `koanf:"strict" jsonschema_description:"refuse unknown request fields with 400 instead of ignoring them"`
	Lenient         bool          `koanf:"lenient" jsonschema_description:"accept the meaningless values that test suites of SDKs send: limits of 0, ids that were never stored"`
	MaxBodyBytes    int           `koanf:"max_body_bytes" jsonschema:"minimum=1" jsonschema_description:"largest request body in bytes; a larger one gets 413"`
	WriteTimeout    time.Duration `koanf:"write_timeout" jsonschema_description:"how long a client may refuse to read before its answer is cut"`
	DrainTimeout    time.Duration `koanf:"drain_timeout" jsonschema_description:"how long open streams may go on after SIGTERM"`
	LogLevel        string        `koanf:"log_level" jsonschema:"enum=debug,enum=info,enum=warn,enum=error" jsonschema_description:"least severe message that is logged"`
	LogFormat       string        `koanf:"log_format" jsonschema:"enum=text,enum=json" jsonschema_description:"form of the log on standard error"`
}

// Reply says what the model answers.
type Reply struct {
	Tokenizer    string  `koanf:"tokenizer" jsonschema:"enum=auto,enum=o200k_base,enum=cl100k_base,enum=approx" jsonschema_description:"vocabulary; auto chooses by model name, approx counts bytes/4 without tokenizing"`
	Seed         uint64  `koanf:"seed" jsonschema_description:"seed of everything random in a reply"`
	ReplyMode    string  `koanf:"reply_mode" jsonschema:"enum=filler,enum=echo" jsonschema_description:"what is said: seeded English filler, or the last user message"`
	OutputLength string  `koanf:"output_length" jsonschema:"enum=lognormal,enum=fixed,enum=uniform,enum=prompt" jsonschema_description:"distribution of the answer length when the client sets no limit"`
	OutputMean   int     `koanf:"output_mean" jsonschema:"minimum=1" jsonschema_description:"mean answer length in tokens (fixed: the length)"`
	OutputSigma  float64 `koanf:"output_sigma" jsonschema:"minimum=0" jsonschema_description:"sigma of the log-normal length; uniform: half-width as a share of the mean"`
	ToolStyle    string  `koanf:"tool_style" jsonschema:"enum=tokens,enum=whole" jsonschema_description:"how streamed tool arguments are cut: a fragment per token, or all at once with the last"`
	OutputMax    int     `koanf:"output_max" jsonschema:"minimum=1" jsonschema_description:"longest answer in tokens when the client sets no limit"`
}

// Engine describes the simulated workers, under vLLM's names where vLLM has the setting.
type Engine struct {
	Backend                 string  `koanf:"backend" jsonschema:"enum=vllm,enum=sglang,enum=trtllm" jsonschema_description:"scheduler that is imitated"`
	NumWorkers              int     `koanf:"num_workers" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"equal workers behind the endpoint, served round robin"`
	NumGPUBlocks            int     `koanf:"num_gpu_blocks" jsonschema:"minimum=0" jsonschema_description:"KV blocks per rank; 0: 16384, or what the timing model's GPU can hold"`
	BlockSize               int     `koanf:"block_size" jsonschema:"minimum=0" jsonschema_description:"tokens per KV block (SGLang: the page); 0: the backend's default, vllm 64, sglang 1, trtllm 32"`
	MaxModelLen             int     `koanf:"max_model_len" jsonschema:"minimum=0" jsonschema_description:"longest prompt plus output in tokens; 0: what the KV pool can hold"`
	MaxNumSeqs              int     `koanf:"max_num_seqs" jsonschema:"minimum=0" jsonschema_description:"most requests running at once per rank; 0: no limit"`
	MaxNumBatchedTokens     int     `koanf:"max_num_batched_tokens" jsonschema:"minimum=0" jsonschema_description:"token budget of a pass (vllm, trtllm); 0: no limit"`
	EnablePrefixCaching     bool    `koanf:"enable_prefix_caching" jsonschema_description:"reuse the KV blocks of earlier prompts"`
	EnableChunkedPrefill    bool    `koanf:"enable_chunked_prefill" jsonschema_description:"split prompts over passes (sglang: always)"`
	PreemptionMode          string  `koanf:"preemption_mode" jsonschema:"enum=lifo,enum=fifo" jsonschema_description:"which running request gives way when blocks run out (vllm)"`
	DataParallelSize        int     `koanf:"data_parallel_size" jsonschema:"minimum=1,maximum=1024" jsonschema_description:"data-parallel ranks per worker, behind one barrier"`
	PrefillScheduleInterval int     `koanf:"prefill_schedule_interval" jsonschema:"minimum=1" jsonschema_description:"group steps between prefills of data-parallel vllm ranks"`
	PrefillDecodeInterval   int     `koanf:"prefill_decode_interval" jsonschema:"minimum=0" jsonschema_description:"rounds without prefill after a prefill (sglang)"`
	NumSpeculativeTokens    int     `koanf:"num_speculative_tokens" jsonschema:"minimum=0,maximum=5" jsonschema_description:"draft tokens per pass of speculative decoding; 0: off"`
	AcceptRates             string  `koanf:"acceptance_rates" jsonschema_description:"conditional acceptance probability per draft position, comma-separated; empty: 0.85,0.3,0,0,0"`
	AcceptSeed              uint64  `koanf:"acceptance_seed" jsonschema_description:"seed of the acceptance stream"`
	SchedulePolicy          string  `koanf:"schedule_policy" jsonschema:"enum=fifo,enum=lpm" jsonschema_description:"order of the queue (sglang)"`
	MaxPrefillTokens        int     `koanf:"max_prefill_tokens" jsonschema:"minimum=1" jsonschema_description:"input tokens of a prefill batch (sglang)"`
	ChunkedPrefillSize      int     `koanf:"chunked_prefill_size" jsonschema:"minimum=1" jsonschema_description:"new tokens of a prefill batch, a multiple of block_size (sglang)"`
	ClipMaxNewTokens        int     `koanf:"clip_max_new_tokens" jsonschema:"minimum=0" jsonschema_description:"output reserved at admission, at most (sglang)"`
	ScheduleConservativness float64 `koanf:"schedule_conservativeness" jsonschema:"minimum=0" jsonschema_description:"scales the estimate of output still to come (sglang)"`
}

// Timing says how long a pass takes.
type Timing struct {
	TimingModel        string  `koanf:"timing" jsonschema:"enum=polynomial,enum=fixed,enum=profile,enum=aic,enum=analytic" jsonschema_description:"where the length of a pass comes from"`
	PrefillMS          float64 `koanf:"prefill_ms" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"length of every prefill in ms (timing fixed)"`
	DecodeMS           float64 `koanf:"decode_ms" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"length of every decode step in ms (timing fixed)"`
	SpeedupRatio       float64 `koanf:"speedup_ratio" jsonschema:"exclusiveMinimum=0,minimum=0.000001,maximum=1000000000" jsonschema_description:"divides every pass"`
	DecodeSpeedupRatio float64 `koanf:"decode_speedup_ratio" jsonschema:"exclusiveMinimum=0,minimum=0.000001,maximum=1000000000" jsonschema_description:"divides decode once more"`
	Fast               bool    `koanf:"fast" jsonschema_description:"every pass takes no time; scheduling is unchanged"`
	ProfileData        string  `koanf:"planner_profile_data" jsonschema_description:"measured profile: an .npz file or a profiler results directory (timing profile)"`
	GPU                string  `koanf:"gpu" jsonschema_description:"GPU of the analytic model, for example h100_sxm; implies timing analytic"`
	GPUModel           string  `koanf:"gpu_model" jsonschema_description:"model that the GPU runs: a built-in name or a config.json; empty: the served model's name"`
	MemoryUtilization  float64 `koanf:"gpu_memory_utilization" jsonschema:"minimum=0,maximum=1" jsonschema_description:"share of GPU memory that sizes the KV pool when num_gpu_blocks is 0 and a GPU is named, as the backend counts it; 0: the backend's default"`
	TensorParallelSize int     `koanf:"tensor_parallel_size" jsonschema:"minimum=1" jsonschema_description:"GPUs per worker in tensor parallel (timing analytic, aic)"`
	AICSystemsDir      string  `koanf:"aic_systems_dir" jsonschema_description:"AIConfigurator tables: a directory or a wheel (timing aic)"`
	AICSystem          string  `koanf:"aic_system" jsonschema_description:"system of the tables, for example h200_sxm; implies timing aic"`
	AICBackend         string  `koanf:"aic_backend" jsonschema_description:"backend of the tables; empty: backend"`
	AICBackendVersion  string  `koanf:"aic_backend_version" jsonschema_description:"backend version of the tables; empty: the current one"`
	AICModel           string  `koanf:"aic_model" jsonschema_description:"model in AIConfigurator's spelling; empty: the served model's name"`
	AICMoETPSize       int     `koanf:"aic_moe_tp_size" jsonschema:"minimum=0" jsonschema_description:"tensor parallel size of the experts; 0: derived"`
	AICMoEEPSize       int     `koanf:"aic_moe_ep_size" jsonschema:"minimum=0" jsonschema_description:"expert parallel size; 0: derived"`
	AICAttentionDPSize int     `koanf:"aic_attention_dp_size" jsonschema:"minimum=0" jsonschema_description:"attention data parallel size; 0: 1"`
}

// Observe says who may listen in.
type Observe struct {
	Dialect        string `koanf:"dialect" jsonschema:"enum=openai,enum=vllm,enum=sglang,enum=trtllm,enum=dynamo" jsonschema_description:"whose error bodies, field names and metrics are imitated"`
	StreamInterval int    `koanf:"stream_interval" jsonschema:"minimum=1" jsonschema_description:"tokens bundled into one chunk of a stream"`
	KVEventsPort   int    `koanf:"zmq_kv_events_port" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"first port of the ZMQ publishers of KV events, one per rank; 0: off"`
	KVReplayPort   int    `koanf:"zmq_replay_port" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"first port of the ZMQ replay sockets of KV events, beside zmq_kv_events_port; 0: off"`
	KVEventsTopic  string `koanf:"kv_events_topic" jsonschema_description:"topic frame of KV events; {rank}, {worker} and {model} are filled in"`
	FPMPort        int    `koanf:"zmq_fpm_port" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"first port of the ZMQ publishers of forward-pass metrics; 0: off"`
	FPMFile        string `koanf:"fpm_jsonl" jsonschema_description:"file that receives forward-pass metrics as JSON lines"`
}

// Control says what may be told what to answer, and what is remembered.
type Control struct {
	Mappings       []string `koanf:"mappings" jsonschema_description:"files of scripted replies, YAML or JSON; they are read again when they change"`
	Faults         string   `koanf:"faults" jsonschema_description:"file of fault rules, YAML or JSON; it is read again when it changes"`
	RecordFrom     string   `koanf:"record_from" jsonschema_description:"base URL of a real endpoint, for example https://api.openai.com/v1, which answers what no mapping matches, with the client's own key; needs record_to"`
	RecordTo       string   `koanf:"record_to" jsonschema_description:"tape that answers of record_from are appended to, as JSON lines without keys"`
	ReplayTape     string   `koanf:"replay_tape" jsonschema_description:"tape that answers the requests it knows, with the engine's timing"`
	RPM            int      `koanf:"rpm" jsonschema:"minimum=0" jsonschema_description:"requests per minute and API key, over all models that limit does not name; 0: no limit"`
	TPM            int      `koanf:"tpm" jsonschema:"minimum=0" jsonschema_description:"tokens per minute and API key, over all models that limit does not name; 0: no limit"`
	Limit          []string `koanf:"limit" jsonschema_description:"limits of a model, MODEL=RPM/TPM, for each API key, beside what rpm and tpm say of its other models. MODEL may be a glob (* and ?); a model's own name goes before globs, the first glob that fits before later ones. 0 is no limit, MODEL=0/0 exempts the model"`
	JournalRecords int      `koanf:"journal_records" jsonschema:"minimum=0" jsonschema_description:"requests that /sim/requests remembers; 0: none"`
	JournalFile    string   `koanf:"journal_jsonl" jsonschema_description:"file that receives every finished request as a JSON line"`
	ControlToken   string   `koanf:"control_token" jsonschema_description:"token (Authorization: Bearer) that /sim/ asks for; without one it answers loopback only"`
}

// Default returns the settings of a server started without any.
func Default() Config {
	return Config{
		Server: Server{
			Model: "gpt-4o", Host: "127.0.0.1", Port: 8000, MaxBodyBytes: 32 << 20, WriteTimeout: time.Minute, DrainTimeout: 30 * time.Second,
			LogLevel: "info", LogFormat: "text",
		},
		Reply: Reply{
			Tokenizer: "auto", ReplyMode: "filler", OutputLength: "lognormal", OutputMean: 180, OutputSigma: 0.6, OutputMax: 2048,
			ToolStyle: "tokens",
		},
		Engine: Engine{
			Backend: "vllm", NumWorkers: 1, MaxNumSeqs: 256, MaxNumBatchedTokens: 8192,
			EnablePrefixCaching: true, EnableChunkedPrefill: true, PreemptionMode: "lifo", DataParallelSize: 1,
			PrefillScheduleInterval: 1, AcceptSeed: 42, SchedulePolicy: "fifo", MaxPrefillTokens: 16384,
			ChunkedPrefillSize: 8192, ClipMaxNewTokens: 4096, ScheduleConservativness: 1,
		},
		Timing: Timing{
			TimingModel: "polynomial", PrefillMS: 10, DecodeMS: 2, SpeedupRatio: 1, DecodeSpeedupRatio: 1, TensorParallelSize: 1,
		},
		Observe: Observe{Dialect: "openai", StreamInterval: 1},
		Control: Control{JournalRecords: 1000},
	}
}
