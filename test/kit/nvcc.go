package kit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
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
		files, err := withHeaders(source)
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		fmt.Fprintf(h, "in place, %s %q\n", t.Version, options)
		for _, f := range files {
			fmt.Fprintf(h, "%s %x\n", f.name, sha256.Sum256(f.text))
		}
		object := filepath.Base(strings.TrimSuffix(source, ".cu")) + ".o"
		objects[i] = filepath.Join(dir, "compiled", fmt.Sprintf("%x", h.Sum(nil)[:12]), object)
		group.Go(func() error {
			return t.compile(options, files, filepath.Join(dir, "compiled", "in", filepath.Base(source)), objects[i])
		})
	}
	return objects, group.Wait()
}

// A file is one that takes part in a compilation.
type file struct {
	name string
	text []byte
}

// withHeaders reads a source and the headers beside it; the source is the last.
func withHeaders(source string) (files []file, err error) {
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(source), "*.h"))
	for _, path := range append(paths, source) {
		if err == nil {
			f := file{name: filepath.Base(path)}
			f.text, err = os.ReadFile(path)
			files = append(files, f)
		}
	}
	return files, err
}

// compile compiles in the given folder. nvcc puts the source's path into names and
// into the IR, so files of one name are all compiled in the same place, as they are
// when somebody edits them.
func (t Toolkit) compile(options []string, files []file, place, object string) error {
	if _, err := os.Stat(object); err == nil {
		return nil
	}
	unlock, err := Lock(place + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(place, f.name)
		if err := errors.Join(os.MkdirAll(place, 0o755), os.WriteFile(path, f.text, 0o644)); err != nil {
			return err
		}
	}
	source := files[len(files)-1].name
	cmd := exec.Command(t.Tool("nvcc"), append(options[:len(options):len(options)], source, "-o", "compiled.o")...)
	cmd.Dir = place
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", source, err, out)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(object), 0o755), os.Rename(filepath.Join(place, "compiled.o"), object))
}

// Lock waits until no other process holds the lock that is a file of that name.
func Lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, unix.Flock(int(f.Fd()), unix.LOCK_EX)
}
