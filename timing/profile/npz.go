package profile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxFile bounds the size of a container or JSON file in bytes; real profiles are below a megabyte.
const maxFile = 16 << 20

var (
	lfsMagic = []byte("version https://git-lfs")
	zipMagic = []byte("PK")
)

// readNPZ reads the named arrays of an .npz container and leaves the others alone. Errors name the array.
func readNPZ(r io.ReaderAt, size int64, names ...string) (map[string]*array, error) {
	if size > maxFile {
		return nil, fmt.Errorf("%d bytes: a profile has at most %d", size, maxFile)
	}
	if err := sniff(r); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not a readable .npz (zip) container: %w", err)
	}
	arrays, present := map[string]*array{}, []string{}
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if len(present) < 20 {
			present = append(present, name)
		}
		if !slices.Contains(names, name) {
			continue
		}
		if arrays[name] != nil {
			return nil, fmt.Errorf("array %s: stored twice", name)
		}
		if arrays[name], err = readEntry(f); err != nil {
			return nil, fmt.Errorf("array %s: %w", name, err)
		}
	}
	for _, name := range names {
		if arrays[name] == nil {
			return nil, fmt.Errorf("array %s: missing; the file holds %s", name, strings.Join(present, ", "))
		}
	}
	return arrays, nil
}

// sniff recognises what is certainly no zip file, for the sake of a better message.
func sniff(r io.ReaderAt) error {
	start := make([]byte, len(lfsMagic))
	n, err := r.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return err
	}
	switch start = start[:n]; {
	case bytes.Equal(start, lfsMagic):
		return fmt.Errorf("a git-lfs pointer, not the file itself: fetch it with git lfs pull")
	case bytes.HasPrefix(start, npyMagic):
		return fmt.Errorf("a single .npy array: an .npz container is expected")
	case !bytes.HasPrefix(start, zipMagic):
		return fmt.Errorf("not an .npz (zip) container")
	}
	return nil
}

// readEntry reads one array of the container. The decompressor hands out no more than the header of the array
// announces, so a bomb cannot expand.
func readEntry(f *zip.File) (*array, error) {
	if f.Method != zip.Store && f.Method != zip.Deflate {
		return nil, fmt.Errorf("compression method %d: known are stored and deflated", f.Method)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	return readNPY(r)
}
