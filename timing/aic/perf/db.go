// Package perf answers how long one operator takes on one GPU, from the collected tables or from rooflines (spec
// aic-timing §3 to §5). A DB stands for one system, backend, version and mode; ops are small structs that ask it.
//
// Loading reads files; afterwards a DB is immutable, pure and safe for concurrent use. Start at Load and op.go. One
// file per family of operators: gemm, attention, mla, moe, comm.
package perf

import (
	"fmt"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/table"
)

// Mode says where latencies come from.
type Mode int

// The modes (spec aic-timing §5.1).
const (
	Silicon   Mode = iota // tables only; missing rows are an error
	Hybrid                // tables, and the empirical estimate where rows are missing
	Empirical             // the roofline over the utilisation of the nearest rows
	SOL                   // the roofline alone
)

// ParseMode reads a mode by its name; "" is Silicon.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "", "SILICON":
		return Silicon, nil
	case "HYBRID":
		return Hybrid, nil
	case "EMPIRICAL":
		return Empirical, nil
	case "SOL":
		return SOL, nil
	}
	return 0, fault.New(fault.BadConfig, "database mode %q is not one of SILICON, HYBRID, EMPIRICAL, SOL", s)
}

// String is the name that ParseMode reads.
func (m Mode) String() string { return [...]string{"SILICON", "HYBRID", "EMPIRICAL", "SOL"}[m] }

// Scope names what a DB stands for.
type Scope struct {
	Store   *table.Store
	Index   *table.Index
	Backend string
	Version string
	Mode    Mode
	// Cache keeps loaded tables between DBs; nil keeps none.
	Cache Cache
}

// Cache keeps immutable tables by key. Implementations must be safe for the callers of Load.
type Cache interface {
	Get(key string) (any, bool)
	Put(key string, v any)
}

// Needs is a set of tables.
type Needs uint

// The tables.
const (
	NeedGemm Needs = 1 << iota
	NeedQuantize
	NeedContext
	NeedGeneration
	NeedAllReduce
	NeedNCCL
	NeedMoE
	NeedContextMLA
	NeedGenerationMLA
	NeedBMM
	NeedContextModule
	NeedGenerationModule
)

// DB answers operator queries. Only the tables that were asked for at Load are there.
type DB struct {
	Scope
	sys *table.System
	// strict is the same data without estimates, where the mode would estimate; nil otherwise.
	strict *DB

	gemm         *gemmTable
	computeScale *scaleTable
	scaleMatrix  *scaleTable
	context      *attentionTable
	generation   *attentionTable
	allReduce    *reduceTable
	nccl         *ncclTable
	moe          *moeTable
	contextMLA   *mlaTable
	genMLA       *mlaTable
	bmm          *bmmTable
	contextMod   *mlaTable
	genMod       *mlaTable
}

// Load reads the tables that are needed. A table without a file is no error here: it is one when an operator asks for
// it. SOL needs no table.
func Load(sc Scope, needs Needs) (*DB, error) {
	db := &DB{Scope: sc, sys: sc.Index.System}
	if sc.Mode == SOL {
		return db, nil
	}
	for _, step := range []func() error{
		func() error { return fill(db, needs&NeedGemm, "gemm", &db.gemm, db.loadGemm) },
		func() error {
			return fill(db, needs&NeedQuantize, "computescale", &db.computeScale, db.loadComputeScale)
		},
		func() error { return fill(db, needs&NeedQuantize, "scale_matrix", &db.scaleMatrix, db.loadScaleMatrix) },
		func() error { return fill(db, needs&NeedContext, "context", &db.context, db.loadContext) },
		func() error { return fill(db, needs&NeedGeneration, "generation", &db.generation, db.loadGeneration) },
		func() error { return fill(db, needs&NeedAllReduce, "allreduce", &db.allReduce, db.loadAllReduce) },
		func() error { return fill(db, needs&NeedNCCL, "nccl", &db.nccl, db.loadNCCL) },
		func() error { return fill(db, needs&NeedMoE, "moe", &db.moe, db.loadMoE) },
		func() error { return fill(db, needs&NeedContextMLA, "context_mla", &db.contextMLA, db.loadContextMLA) },
		func() error {
			return fill(db, needs&NeedGenerationMLA, "generation_mla", &db.genMLA, db.loadGenerationMLA)
		},
		func() error { return fill(db, needs&NeedBMM, "mla_bmm", &db.bmm, db.loadBMM) },
		func() error {
			return fill(db, needs&NeedContextModule, "context_module", &db.contextMod, db.loadContextModule)
		},
		func() error {
			return fill(db, needs&NeedGenerationModule, "generation_module", &db.genMod, db.loadGenerationModule)
		},
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if sc.Mode == Hybrid {
		strict := *db
		strict.Mode = Silicon
		db.strict = &strict
	}
	return db, nil
}

// shared reports whether rows of other versions count (spec aic-timing §2.2).
func (db *DB) shared() bool { return db.Mode == Silicon || db.Mode == Hybrid }

// fill loads a table that is needed into dst, once per system, backend, version and sharing.
func fill[T any](db *DB, needed Needs, name string, dst *T, load func() (T, error)) error {
	if needed == 0 {
		return nil
	}
	key := fmt.Sprintf("%s|%s|%s|%t|%s", db.sys.Name, db.Backend, db.Version, db.shared(), name)
	if db.Cache != nil {
		if v, ok := db.Cache.Get(key); ok {
			*dst = v.(T)
			return nil
		}
	}
	v, err := load()
	if err != nil {
		return err
	}
	*dst = v
	if db.Cache != nil {
		db.Cache.Put(key, v)
	}
	return nil
}

// origin is the name of a table and the files that its rows came from, for messages.
type origin struct {
	name  string
	files []string
}

// frames reads the files of a table in the order in which their rows win.
func (db *DB) frames(name string, cols []table.Column, each func(*table.Frame, table.Source) error) (origin, error) {
	sources, err := db.Store.Sources(db.Index, db.Backend, db.Version, name, db.shared())
	if err != nil {
		return origin{}, err
	}
	return db.read(name, sources, cols, each)
}

// read reads the given files of a table.
func (db *DB) read(name string, sources []table.Source, cols []table.Column,
	each func(*table.Frame, table.Source) error,
) (origin, error) {
	o := origin{name: name}
	for _, s := range sources {
		f, err := db.Store.ReadColumns(s.Path, cols)
		if err != nil {
			return o, err
		}
		if err := checkRows(f); err != nil {
			return o, fault.New(fault.BadData, "%s: %v", s.Path, err)
		}
		if err := each(f, s); err != nil {
			return o, err
		}
		o.files = append(o.files, s.Path)
	}
	return o, nil
}

// checkRows refuses latencies that no measurement gives. A measured difference may be 0.
func checkRows(f *table.Frame) error {
	for i, v := range f.Floats("latency") {
		if v < 0 {
			return fmt.Errorf("column latency, row %d: %v is negative", i, v)
		}
	}
	return nil
}

// kernelFilter returns whether a row may be taken from a source: every row of the backend itself, and from other
// backends those of the declared kernels.
func kernelFilter(f *table.Frame, s table.Source) func(row int) bool {
	if s.Kernels == nil {
		return func(int) bool { return true }
	}
	kernels := f.Text("kernel_source")
	ok := make([]bool, len(kernels.Values))
	for i, v := range kernels.Values {
		for _, k := range s.Kernels {
			ok[i] = ok[i] || k == v
		}
	}
	return func(row int) bool { return len(ok) > 0 && ok[kernels.Rows[row]] }
}

// miss is the error of a query that the rows do not answer.
func (db *DB) miss(o origin, slice, nearest string) error {
	e := &fault.Error{
		Category: fault.MissingSlice,
		Reason:   fmt.Sprintf("no perf data for %s on %s %s", db.sys.Name, db.Backend, db.Version),
		Table:    o.name, Slice: slice, Files: o.files, Nearest: nearest,
	}
	if len(o.files) == 0 {
		e.Reason += ": no file of this table"
		if len(db.Index.Backends()) == 0 {
			e.Category = fault.MissingTable
			e.Reason = fmt.Sprintf("system %s has no tables; mode SOL needs none", db.sys.Name)
		}
	}
	return e
}
