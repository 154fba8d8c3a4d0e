package timing

import (
	"errors"
	"fmt"
	"time"

	"fakellm/engine"
)

// model is the step model over one source. It is not safe for concurrent use.
type model struct {
	src      Source
	coverage Coverage  // nil: the source covers everything
	keyed    Keyed     // nil: cheap enough to ask every time
	rows     RowSource // nil: passes are priced one by one
	row      []float64 // rows: a chunk of prices
	memo     *memo
	// prefillRatio and decodeRatio divide rounded durations; 0 means unscaled.
	prefillRatio, decodeRatio float64
	outside                   uint64
}

// checkingModel adds the source's opinion on the parts of a prefill batch.
type checkingModel struct {
	*model
	engine.PrefillChecker
}

// New returns the step model of src with durations divided by speedup, and those of decode by speedup·decodeSpeedup; a
// ratio of 0 means unscaled. The model also implements [Extrapolator], and engine.PrefillChecker if src does. Errors
// name the offending ratio.
//
// Asking the model allocates nothing; it costs what the source costs plus about 10 ns, and about 10 ns alone for a
// shape that a [Keyed] source has priced before.
func New(src Source, speedup, decodeSpeedup float64) (engine.StepModel, error) {
	if src == nil {
		return nil, errors.New("timing source: missing")
	}
	if err := checkNumber("speedup_ratio", speedup); err != nil {
		return nil, err
	}
	if err := checkNumber("decode_speedup_ratio", decodeSpeedup); err != nil {
		return nil, err
	}
	decodeRatio := speedup * decodeSpeedup
	if err := checkNumber("speedup_ratio times decode_speedup_ratio", decodeRatio); err != nil {
		return nil, err
	}
	m := &model{src: src, prefillRatio: speedup, decodeRatio: decodeRatio}
	m.coverage, _ = src.(Coverage)
	if keyed, ok := src.(Keyed); ok {
		m.keyed, m.memo = keyed, newMemo()
	}
	if rows, ok := src.(RowSource); ok {
		m.rows, m.row = rows, make([]float64, rowChunk)
	}
	if checker, ok := src.(engine.PrefillChecker); ok {
		return &checkingModel{m, checker}, nil
	}
	return m, nil
}

// Prefill implements engine.StepModel. An empty batch, or one without new tokens, takes no time.
func (m *model) Prefill(b engine.PrefillBatch) (time.Duration, error) {
	if b.Requests <= 0 || b.New() == 0 {
		return 0, nil
	}
	if m.coverage != nil && !m.coverage.CoversPrefill(b) {
		m.outside++
	}
	if m.keyed == nil {
		return m.pricePrefill(b)
	}
	slot := m.memo.prefillSlot(m.keyed.PrefillKey(b))
	if !slot.hit {
		d, err := m.pricePrefill(b)
		if err != nil {
			return 0, err
		}
		slot.entry.set(slot.key, d)
	}
	return slot.entry.d, nil
}

// Decode implements engine.StepModel. An empty batch takes no time.
func (m *model) Decode(b engine.DecodeBatch) (time.Duration, error) {
	if b.Requests <= 0 {
		return 0, nil
	}
	if m.coverage != nil && !m.coverage.CoversDecode(b) {
		m.outside++
	}
	if m.keyed == nil {
		return m.priceDecode(b)
	}
	slot := m.memo.decodeSlot(m.keyed.DecodeKey(b))
	if !slot.hit {
		d, err := m.priceDecode(b)
		if err != nil {
			return 0, err
		}
		slot.entry.set(slot.key, d)
	}
	return slot.entry.d, nil
}

// Extrapolations implements [Extrapolator].
func (m *model) Extrapolations() uint64 { return m.outside }

func (m *model) pricePrefill(b engine.PrefillBatch) (time.Duration, error) {
	raw, err := m.src.PrefillMS(b)
	if err == nil {
		var d time.Duration
		if d, err = finish(raw, m.prefillRatio); err == nil {
			return d, nil
		}
	}
	return 0, fmt.Errorf("prefill of %d requests, mean length %d, mean prefix %d: %w",
		b.Requests, b.MeanISL, b.MeanPrefix, err)
}

func (m *model) priceDecode(b engine.DecodeBatch) (time.Duration, error) {
	raw, err := m.src.DecodeMS(b)
	if err == nil {
		var d time.Duration
		if d, err = finish(raw, m.decodeRatio); err == nil {
			return d, nil
		}
	}
	return 0, decodeError(b, err)
}

func decodeError(b engine.DecodeBatch, err error) error {
	return fmt.Errorf("decode of %d requests, mean context %d: %w", b.Requests, b.MeanContext, err)
}

// finish rounds raw milliseconds and scales them, rounding twice (spec engine-core §6.5).
func finish(raw, ratio float64) (time.Duration, error) {
	d, err := roundMS(raw)
	if err != nil {
		return 0, err
	}
	return scale(d, ratio)
}
