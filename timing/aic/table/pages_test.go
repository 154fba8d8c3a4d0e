package table

import (
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// TestPageBombs refuses pages that unfold to more than their header says, whatever the codec.
func TestPageBombs(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := enc.EncodeAll(make([]byte, 64<<20), nil)
	fine := enc.EncodeAll(make([]byte, 100), nil)
	h := &format.PageHeader{UncompressedPageSize: 100}
	rows := []struct {
		why   string
		codec format.CompressionCodec
		body  []byte
		ok    bool
	}{
		{"zstd as said", format.Zstd, fine, true},
		{"zstd bomb", format.Zstd, bomb, false},
		{"zstd that is none", format.Zstd, []byte("nonsense"), false},
		{"snappy that says 4 GiB", format.Snappy, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}, false},
		{"snappy as said", format.Snappy, []byte{100, 0}, true},
		{"another codec", format.Gzip, fine, false},
	}
	for _, r := range rows {
		c := &pageChecker{}
		err := c.unfolds(r.codec, r.body, h)
		c.close()
		if (err == nil) != r.ok {
			t.Errorf("%s: %v", r.why, err)
		}
	}
	if len(bomb) > 1<<16 || !strings.HasPrefix(string(bomb), "\x28\xb5\x2f\xfd") {
		t.Errorf("the bomb has %d bytes", len(bomb))
	}
}
