package kit

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// LTO are nvcc's options for objects whose LTO-IR links for every target since
// sm_80; Stored adds that libnvvm can read it.
var (
	LTO    = []string{"-dc", "-gencode", "arch=compute_80,code=lto_80"}
	Stored = append(LTO[:len(LTO):len(LTO)], "-no-compress")
)

// Compile compiles sources, two at a time, and gives the objects. An object is kept
// for the next run, by the toolkit, the options, the source and the headers beside it.
func (t Toolkit) Compile(options []string, sources ...string) ([]string, error) {
	dir, err := CacheDir()
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.SetLimit(2)
	objects := make([]string, len(sources))
	for i, source := range sources {
		h := sha256.New()
		fmt.Fprintf(h, "%s %q\n", t.Version, options)
		headers, _ := filepath.Glob(filepath.Join(filepath.Dir(source), "*.h"))
		for _, file := range append(headers, source) {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(h, "%s %x\n", filepath.Base(file), sha256.Sum256(text))
		}
		name := strings.TrimSuffix(filepath.Base(source), ".cu") + ".o"
		objects[i] = filepath.Join(dir, "compiled", fmt.Sprintf("%x", h.Sum(nil)[:12]), name)
		group.Go(func() error { return t.compile(options, source, objects[i]) })
	}
	return objects, group.Wait()
}

func (t Toolkit) compile(options []string, source, object string) error {
	if _, err := os.Stat(object); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(object), 0o755); err != nil {
		return err
	}
	fresh := fmt.Sprintf("%s.%d", object, os.Getpid())
	defer os.Remove(fresh)
	// nvcc puts the path into names, so it must be the same wherever this runs.
	cmd := exec.Command(t.Tool("nvcc"), append(options[:len(options):len(options)], filepath.Base(source), "-o", fresh)...)
	cmd.Dir = filepath.Dir(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", source, err, out)
	}
	return os.Rename(fresh, object)
}
