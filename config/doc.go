// Package config is the one tree of settings: what exists, what it defaults to, and which of defaults, file, environment
// and flags wins (in rising order). It only holds values; the rooms that use a setting check it in their own Validate.
//
// Every setting is one field with a koanf tag. From that tag follow its key in a file (max_num_seqs), its flag
// (--max-num-seqs), its environment variable (FAKELLM_MAX_NUM_SEQS), its line in the JSON schema and in the README.
//
// A Config is a plain value: copy it, share it between goroutines as long as nobody writes.
package config
