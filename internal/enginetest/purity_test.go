package enginetest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// pure lists the rooms that must not know the outside world (architecture §2, §3), relative to the project, and what
// each may import beyond the common list. A room that becomes pure adds a line.
var pure = map[string][]string{
	"engine":                       {},
	"engine/kv":                    {"github.com/zeebo/xxh3"},
	"engine/cluster":               {},
	"internal/eventq":              {},
	"internal/rng":                 {"hash/fnv", "math/rand/v2"},
	"internal/enginetest":          {"encoding/json"},
	"internal/experiment/workload": {"github.com/zeebo/xxh3", "math/rand/v2"},
	"internal/experiment/report":   {"encoding/json", "io"},
	"internal/glob":                {},
	"openai/reply":                 {"encoding/json"},
	"openai/reply/schema": {
		"encoding/base64", "encoding/json", "github.com/dlclark/regexp2", "github.com/santhosh-tekuri/jsonschema/v6",
		"github.com/santhosh-tekuri/jsonschema/v6/kind", "io", "math/big", "net/url", "regexp", "regexp/syntax",
	},
	"openai/reply/script": {
		"bufio", "crypto/sha256", "encoding/hex", "encoding/json", "github.com/hashicorp/golang-lru/v2/simplelru",
		"go.yaml.in/yaml/v3", "io", "math/rand/v2", "reflect", "regexp", "text/template",
	},
	"openai/speech":   {"encoding/base64", "github.com/zeebo/xxh3", "io"},
	"timing":          {},
	"timing/aic/grid": {},
	"timing/compare":  {"math/rand/v2"},
}

// common may be imported by every pure room, next to other rooms of the project.
var common = map[string]bool{
	"bytes": true, "cmp": true, "encoding/binary": true, "errors": true, "fmt": true, "iter": true, "maps": true,
	"math": true, "math/bits": true, "slices": true, "sort": true, "strconv": true, "strings": true, "time": true,
	"unicode": true, "unicode/utf8": true,
}

// impure are rooms of the project that pure ones must not import.
var impure = []string{
	"fakellm/cmd", "fakellm/config", "fakellm/internal/cli", "fakellm/internal/assembly", "fakellm/internal/observe",
	"fakellm/engine/drive", "fakellm/internal/experiment/bench", "fakellm/internal/experiment/workload/trace",
}

// clocks are the functions of package time that look at, or wait for, the clock.
var clocks = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "Tick": true,
	"NewTimer": true, "NewTicker": true,
}

// seeded are the names of math/rand/v2 that do not touch the global source.
var seeded = map[string]bool{
	"New": true, "NewPCG": true, "NewChaCha8": true, "NewZipf": true, "Rand": true, "Source": true, "PCG": true,
	"ChaCha8": true, "Zipf": true,
}

// TestPureRooms reads the source of the pure rooms: imports, clocks, goroutines, channels, global randomness, and loops
// over maps, whose order is random. Such a loop is allowed when a comment "order:" on its line or the line before says
// why the order cannot reach output.
func TestPureRooms(t *testing.T) {
	for room, extra := range pure {
		t.Run(room, func(t *testing.T) {
			dir := filepath.Join("..", "..", filepath.FromSlash(room))
			if _, err := os.Stat(dir); err != nil {
				t.Skip("not built yet")
			}
			for _, complaint := range inspectRoom(t, dir, extra) {
				t.Error(complaint)
			}
		})
	}
}

// inspectRoom returns what is wrong with the package in dir.
func inspectRoom(t *testing.T, dir string, extra []string) (complaints []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	checker := types.Config{Importer: nothing{}, Error: func(error) {}}
	_, _ = checker.Check(dir, fset, files, info) // what comes from other packages stays unknown
	for _, f := range files {
		i := inspection{fset: fset, file: f, info: info, extra: extra, names: map[string]string{}}
		i.imports()
		ast.Inspect(f, i.node)
		complaints = append(complaints, i.complaints...)
	}
	return complaints
}

// nothing imports empty packages.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}

// inspection is one file under inspection.
type inspection struct {
	fset       *token.FileSet
	file       *ast.File
	info       *types.Info
	extra      []string
	names      map[string]string // local name of an import to its path
	complaints []string
}

func (i *inspection) complain(n ast.Node, format string, args ...any) {
	i.complaints = append(i.complaints, fmt.Sprintf("%s: %s", i.fset.Position(n.Pos()), fmt.Sprintf(format, args...)))
}

func (i *inspection) imports() {
	for _, spec := range i.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := strings.TrimSuffix(path, "/v2")
		name = name[strings.LastIndex(name, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		i.names[name] = path
		allowed := common[path] || strings.HasPrefix(path, "fakellm/")
		for _, e := range i.extra {
			allowed = allowed || e == path
		}
		for _, room := range impure {
			if path == room || strings.HasPrefix(path, room+"/") {
				allowed = false
			}
		}
		if !allowed {
			i.complain(spec, "imports %s", path)
		}
	}
}

func (i *inspection) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		i.complain(n, "starts a goroutine")
	case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
		i.complain(n, "uses a channel")
	case *ast.SelectorExpr:
		i.selector(n)
	case *ast.RangeStmt:
		i.loop(n)
	}
	return true
}

func (i *inspection) selector(n *ast.SelectorExpr) {
	x, ok := n.X.(*ast.Ident)
	if !ok {
		return
	}
	switch i.names[x.Name] {
	case "time":
		if clocks[n.Sel.Name] {
			i.complain(n, "looks at the clock: time.%s", n.Sel.Name)
		}
	case "math/rand/v2", "math/rand":
		if !seeded[n.Sel.Name] {
			i.complain(n, "draws from the global source: rand.%s", n.Sel.Name)
		}
	}
}

func (i *inspection) loop(n *ast.RangeStmt) {
	kind := i.info.TypeOf(n.X)
	if kind == nil {
		return
	}
	if _, ok := kind.Underlying().(*types.Map); !ok {
		return
	}
	line := i.fset.Position(n.Pos()).Line
	for _, group := range i.file.Comments {
		for _, c := range group.List {
			at := i.fset.Position(c.Pos()).Line
			if (at == line || at == line-1) && strings.Contains(c.Text, "order:") {
				return
			}
		}
	}
	i.complain(n, "walks a map in random order; say why that is harmless in a comment \"order: …\"")
}

// TestInspectionBites: the test above would notice.
func TestInspectionBites(t *testing.T) {
	dir := t.TempDir()
	source := `package x
import ("os"; "time"; "math/rand/v2")
var m map[int]int
func f() {
	go f()
	_ = time.Now()
	_ = rand.Int()
	_ = make(chan int)
	for range m { os.Exit(1) }
	// order: only summed
	for range m { }
}
`
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got := inspectRoom(t, dir, nil)
	for _, want := range []string{"imports os", "goroutine", "clock", "global source", "channel", "random order"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("no complaint about %q in %v", want, got)
		}
	}
	if n := strings.Count(strings.Join(got, "\n"), "random order"); n != 1 {
		t.Errorf("%d complaints about map order, want 1", n)
	}
}
