package toolkit

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
)

// vendorLibrary matches NVIDIA's names. Where the root is /usr, other libraries lie
// below it, too.
var vendorLibrary = pattern.Lazy(`^lib(cu|nv|npp)[^/]*\.a$`)

// HasLibrary reports whether a static library is part of this toolkit.
func (t *Toolkit) HasLibrary(path string) bool {
	return t.Root != "" && vendorLibrary().MatchString(filepath.Base(path)) &&
		strings.HasPrefix(resolve(path), resolve(t.Root)+"/")
}

// Library finds a library of this toolkit by the name of its file.
func (t *Toolkit) Library(file string) (string, error) {
	m := &message.Message{Severity: message.Fatal, ID: "toolkit-library",
		Text: fmt.Sprintf("cannot find %s of the CUDA toolkit", file),
		Hint: "install the development files of the toolkit, or give --warpld-cuda=DIR"}
	for _, dir := range libDirs {
		path := filepath.Join(t.Root, dir, file)
		if t.Root != "" && checkFile(path) == nil {
			return path, nil
		}
		m.Notes = append(m.Notes, path+": not there")
	}
	return "", m
}
