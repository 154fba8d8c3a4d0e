// Package datadir opens the tables of AIConfigurator where they lie: a systems directory, an installed package, or a
// downloaded wheel. It is the only part of the timing source that knows the operating system.
package datadir

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fakellm/timing/aic"
)

// Opened is a data source and the files behind it.
type Opened struct {
	*aic.Data
	closers []func() error
}

// Close releases the files. Models that were loaded before stay usable.
func (o *Opened) Close() error {
	var errs []error
	for _, c := range o.closers {
		errs = append(errs, c())
	}
	o.closers = nil
	return errors.Join(errs...)
}

// Open opens path: a directory with <system>.yaml files or with systems/ or aisimulate_core/ in it, or a wheel (a zip).
// Model configurations are taken from the package, else from model_configs beside or inside the directory, else from
// the further directories. Loading a model reads files; asking it does not.
func Open(path string, modelDirs ...string) (*Opened, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("aic systems directory: %w", err)
	}
	o := &Opened{}
	var root fs.FS
	var models []fs.FS
	if info.IsDir() {
		root = os.DirFS(path)
		for _, dir := range []string{
			filepath.Join(path, "model_configs"), filepath.Join(path, "..", "model_configs"),
		} {
			if st, err := os.Stat(dir); err == nil && st.IsDir() {
				models = append(models, os.DirFS(dir))
			}
		}
	} else {
		wheel, err := zip.OpenReader(path)
		if err != nil {
			return nil, fmt.Errorf("aic systems directory %s: neither a directory nor a wheel: %w", path, err)
		}
		root, o.closers = wheel, append(o.closers, wheel.Close)
	}
	for _, dir := range modelDirs {
		models = append(models, os.DirFS(dir))
	}
	if o.Data, err = aic.Open(root, models...); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), o.Close())
	}
	return o, nil
}
