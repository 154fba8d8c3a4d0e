package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fakellm/timing/aic/fault"
)

// lfsMagic begins the small text file that stands in for a large one in a clone without git-lfs.
var lfsMagic = []byte("version https://git-lfs")

// ReadBounded reads a whole file of at most limit bytes. An absent file is fs.ErrNotExist, anything else BadData.
func ReadBounded(fsys fs.FS, file string, limit int64) ([]byte, error) {
	f, err := fsys.Open(file)
	if err != nil {
		if isAbsent(err) {
			return nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
		}
		return nil, fault.New(fault.BadData, "%s: %v", file, err)
	}
	defer f.Close() //nolint:errcheck // read only: nothing is lost
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fault.New(fault.BadData, "%s: %v", file, err)
	}
	if int64(len(data)) > limit {
		return nil, fault.New(fault.BadData, "%s: more than %d bytes", file, limit)
	}
	if bytes.HasPrefix(data, lfsMagic) {
		return nil, fault.New(fault.BadData, "%s: a git-lfs pointer, not the file itself; fetch it with git lfs pull", file)
	}
	return data, nil
}

// isAbsent reports whether err says that there is no such file or directory.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
