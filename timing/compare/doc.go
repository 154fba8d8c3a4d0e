// Package compare holds two timing sources against each other on many shapes and says how their ratio is spread, by
// family of models, GPU and phase: the table of spec analytic-timing §4.
//
// It is pure: shapes come from a seed, the same seed gives the same table. Start reading at compare.go; shapes.go
// draws.
package compare
