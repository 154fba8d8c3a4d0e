package table

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxPage bounds the decoded size of one page; writers use a megabyte.
const maxPage = 16 << 20

// checkFooter refuses a footer length that the file cannot hold, before anything is allocated for it.
func checkFooter(data []byte) error {
	tail := data[len(data)-8:]
	if string(tail[4:]) != "PAR1" {
		return fmt.Errorf("truncated or encrypted: it does not end with PAR1")
	}
	if n := int64(binary.LittleEndian.Uint32(tail)); n > int64(len(data)-12) {
		return fmt.Errorf("a footer of %d bytes in a file of %d", n, len(data))
	}
	return nil
}

// pageChecker holds what checking the pages of one file needs; the decoder is made for the first zstd page.
type pageChecker struct {
	data    []byte
	file    *parquet.File
	zstd    *zstd.Decoder
	scratch []byte
}

func (c *pageChecker) close() {
	if c.zstd != nil {
		c.zstd.Close()
	}
}

// chunk walks the page headers of one column chunk and refuses sizes that decoding would believe: counts beyond the
// row group, and compressed pages that unfold to more than they say (a zip bomb).
func (c *pageChecker) chunk(group, column int, rows int64) error {
	data, groups := c.data, c.file.Metadata().RowGroups
	if group >= len(groups) || column >= len(groups[group].Columns) {
		return fmt.Errorf("row group %d lacks the column", group)
	}
	meta := &groups[group].Columns[column].MetaData
	start := meta.DataPageOffset
	if meta.DictionaryPageOffset > 0 && meta.DictionaryPageOffset < start {
		start = meta.DictionaryPageOffset
	}
	end := start + meta.TotalCompressedSize
	if start < 4 || meta.TotalCompressedSize < 0 || end > int64(len(data)) || end < start {
		return fmt.Errorf("its chunk lies outside the file")
	}
	var protocol thrift.CompactProtocol
	values := int64(0)
	for at := start; at < end; {
		var h format.PageHeader
		reader := protocol.NewReaderFromBytes(data[at:end])
		if err := thrift.NewDecoder(reader).Decode(&h); err != nil {
			return fmt.Errorf("page header: %w", err)
		}
		at += int64(reader.BytesRead())
		size := int64(h.CompressedPageSize)
		if size < 0 || at+size > end || h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage {
			return fmt.Errorf("a page of %d bytes that unfolds to %d", size, h.UncompressedPageSize)
		}
		n := pageValues(&h)
		if n < 0 || n > rows && h.Type != format.DictionaryPage || n > maxRows {
			return fmt.Errorf("a page of %d values in a row group of %d", n, rows)
		}
		if h.Type != format.DictionaryPage {
			if values += n; values > rows {
				return fmt.Errorf("%d values in a row group of %d", values, rows)
			}
		}
		if err := c.unfolds(meta.Codec, data[at:at+size], &h); err != nil {
			return err
		}
		at += size
	}
	return nil
}

func pageValues(h *format.PageHeader) int64 {
	switch h.Type {
	case format.DictionaryPage:
		return int64(h.DictionaryPageHeader.V.NumValues)
	case format.DataPageV2:
		return int64(h.DataPageHeaderV2.V.NumValues)
	case format.DataPage, format.IndexPage:
	}
	return int64(h.DataPageHeader.V.NumValues)
}

// unfolds makes sure that a compressed page does not decode to more than its header says.
func (c *pageChecker) unfolds(codec format.CompressionCodec, body []byte, h *format.PageHeader) error {
	if h.Type == format.DataPageV2 {
		v2 := &h.DataPageHeaderV2.V
		levels := int64(v2.RepetitionLevelsByteLength) + int64(v2.DefinitionLevelsByteLength)
		if v2.RepetitionLevelsByteLength < 0 || v2.DefinitionLevelsByteLength < 0 || levels > int64(len(body)) {
			return fmt.Errorf("page levels of %d bytes in a page of %d", levels, len(body))
		}
		if v2.IsCompressed.Valid && !v2.IsCompressed.V {
			return nil
		}
		body = body[levels:]
	}
	limit := int(h.UncompressedPageSize)
	switch codec {
	case format.Uncompressed:
		return nil
	case format.Snappy:
		n, used := binary.Uvarint(body)
		if len(body) > 0 && (used <= 0 || n > uint64(limit)) {
			return fmt.Errorf("a snappy page of %d bytes that should have %d", n, limit)
		}
		return nil
	case format.Zstd:
		return c.unfoldsZstd(body, limit)
	default: // no table is written with another one
	}
	return fmt.Errorf("compression %v, want none, snappy or zstd", codec)
}

func (c *pageChecker) unfoldsZstd(body []byte, limit int) error {
	if c.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
		if err != nil {
			return err
		}
		c.zstd = d
	}
	out, err := c.zstd.DecodeAll(body, c.scratch[:0])
	if err != nil {
		return fmt.Errorf("a zstd page: %w", err)
	}
	c.scratch = out
	if len(out) > limit {
		return fmt.Errorf("a zstd page of %d bytes that should have %d", len(out), limit)
	}
	return nil
}
