package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"fakellm/timing/aic/fault"

	"github.com/parquet-go/parquet-go"
)

// Bounds on one table file; real ones are a few megabytes and a quarter of a million rows.
const (
	maxFile = 32 << 20
	maxRows = 4 << 20
)

// Kind is the type a column must have.
type Kind int

// The kinds of columns that the tables use.
const (
	Text Kind = iota
	Int
	Float
	Bool
)

// Column asks for one column of a file by name.
type Column struct {
	Name string
	Kind Kind
	// Optional columns may be absent from the file; their slices are then nil.
	Optional bool
}

// Frame holds the columns of one file, in file order. Slices of columns that were not asked for, or are absent, are
// nil.
type Frame struct {
	Path  string
	Rows  int
	texts map[string]Texts
	ints  map[string][]int64
	reals map[string][]float64
	bools map[string][]bool
}

// Texts is a text column: each row's index into the distinct values, in order of first appearance.
type Texts struct {
	Values []string
	Rows   []int32
}

// At returns the text of a row; "" for an absent column.
func (t Texts) At(row int) string {
	if t.Rows == nil {
		return ""
	}
	return t.Values[t.Rows[row]]
}

// Text returns a text column.
func (f *Frame) Text(name string) Texts { return f.texts[name] }

// Ints returns an integer column, nil when absent.
func (f *Frame) Ints(name string) []int64 { return f.ints[name] }

// Floats returns a real column, nil when absent.
func (f *Frame) Floats(name string) []float64 { return f.reals[name] }

// Bools returns a boolean column, nil when absent.
func (f *Frame) Bools(name string) []bool { return f.bools[name] }

// ReadColumns reads the asked columns of a table file. Every refusal is BadData and names file and column; memory stays
// below a small multiple of the bounds above whatever the bytes say.
func (st *Store) ReadColumns(file string, columns []Column) (*Frame, error) {
	data, err := ReadBounded(st.fsys, file, maxFile)
	if err != nil {
		return nil, err
	}
	return DecodeColumns(file, data, columns)
}

// DecodeColumns is ReadColumns on bytes that are already in memory; file is used in messages only.
func DecodeColumns(file string, data []byte, columns []Column) (f *Frame, err error) {
	defer func() {
		// The decoder trusts some counts of a damaged file and panics on them: that is the file's fault, not ours.
		if r := recover(); r != nil {
			f, err = nil, fault.New(fault.BadData, "%s: damaged parquet file: %v", file, r)
		}
	}()
	f, err = decode(file, data, columns)
	if err != nil {
		return nil, fault.New(fault.BadData, "%s: %v", file, err)
	}
	return f, nil
}

func decode(file string, data []byte, columns []Column) (*Frame, error) {
	if len(data) < 12 || string(data[:4]) != "PAR1" {
		return nil, fmt.Errorf("not a parquet file: it does not begin with PAR1")
	}
	if err := checkFooter(data); err != nil {
		return nil, err
	}
	pf, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	if n := pf.NumRows(); n < 0 || n > maxRows {
		return nil, fmt.Errorf("%d rows, want 0 to %d", n, maxRows)
	}
	f := &Frame{
		Path: file, Rows: int(pf.NumRows()),
		texts: map[string]Texts{}, ints: map[string][]int64{}, reals: map[string][]float64{}, bools: map[string][]bool{},
	}
	total := int64(0)
	for _, g := range pf.RowGroups() {
		if g.NumRows() < 0 {
			return nil, fmt.Errorf("a row group of %d rows", g.NumRows())
		}
		total += g.NumRows()
	}
	if total != int64(f.Rows) {
		return nil, fmt.Errorf("row groups hold %d rows, the file says %d", total, f.Rows)
	}
	check := &pageChecker{data: data, file: pf}
	defer check.close()
	buf := make([]parquet.Value, 4096)
	for _, c := range columns {
		if err := f.read(check, c, buf); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return f, nil
}

// read appends one column over all row groups.
func (f *Frame) read(check *pageChecker, c Column, buf []parquet.Value) error {
	pf := check.file
	leaf, ok := pf.Schema().Lookup(c.Name)
	if !ok {
		if c.Optional {
			return nil
		}
		return fmt.Errorf("absent, the file has another schema")
	}
	if leaf.MaxRepetitionLevel > 0 || leaf.MaxDefinitionLevel > 1 {
		return fmt.Errorf("nested, want a plain column")
	}
	if got := leaf.Node.Type().Kind(); !c.Kind.accepts(got) {
		return fmt.Errorf("physical type %v, want %v", got, c.Kind)
	}
	sink := newSink(c.Kind, f.Rows)
	for i, g := range pf.RowGroups() {
		if err := check.chunk(i, leaf.ColumnIndex, g.NumRows()); err != nil {
			return err
		}
		if err := readChunk(g.ColumnChunks()[leaf.ColumnIndex], sink, buf, f.Rows); err != nil {
			return err
		}
	}
	if sink.rows() != f.Rows {
		return fmt.Errorf("%d values in %d rows", sink.rows(), f.Rows)
	}
	switch c.Kind {
	case Text:
		f.texts[c.Name] = sink.text
	case Int:
		f.ints[c.Name] = sink.ints
	case Float:
		f.reals[c.Name] = sink.reals
	case Bool:
		f.bools[c.Name] = sink.bools
	}
	return nil
}

// readChunk feeds the values of one column chunk to the sink.
func readChunk(chunk parquet.ColumnChunk, sink *sink, buf []parquet.Value, limit int) error {
	pages := chunk.Pages()
	defer pages.Close() //nolint:errcheck // nothing to flush
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = readPage(page, sink, buf, limit)
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
}

func readPage(page parquet.Page, sink *sink, buf []parquet.Value, limit int) error {
	values := page.Values()
	for {
		n, err := values.ReadValues(buf)
		if sink.rows()+n > limit {
			return fmt.Errorf("more values than rows")
		}
		for i := range buf[:n] {
			if e := sink.add(&buf[i]); e != nil {
				return fmt.Errorf("row %d: %w", sink.rows(), e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("a page that never ends")
		}
	}
}

// finite refuses what no latency or coordinate can be.
func finite(v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("value %v is not a finite number", v)
	}
	return nil
}
