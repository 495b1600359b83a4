package toolkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ShimRecord is the name of the file that marks a directory as a shim (see package shim) and
// names its toolkit.
const ShimRecord = "warpld-shim.json"

// A Shim is the content of that file.
type Shim struct {
	Toolkit string `json:"toolkit"` // the root of the real toolkit
}

// ErrBadShim is for a record that cannot be understood.
var ErrBadShim = errors.New("broken " + ShimRecord)

// ReadShim reads the record in dir. Without one the error is os.ErrNotExist.
func ReadShim(dir string) (Shim, error) {
	path := filepath.Join(dir, ShimRecord)
	if err := checkFile(path); err != nil {
		return Shim{}, err
	}
	return parseShim(readHead(path, 64<<10))
}

func parseShim(data []byte) (Shim, error) {
	var s Shim
	if err := json.Unmarshal(data, &s); err != nil {
		return Shim{}, fmt.Errorf("%w: %v", ErrBadShim, err)
	}
	if !filepath.IsAbs(s.Toolkit) {
		return Shim{}, fmt.Errorf("%w: the toolkit %q is not an absolute path", ErrBadShim, s.Toolkit)
	}
	return s, nil
}

// isShim reports whether dir has a record, even a broken one.
func isShim(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ShimRecord))
	return err == nil
}
