//go:build realtools

package modes

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// file is the path of an input, by its name in command lines: KIND/FILE. It is
// made by a recipe, or else one of the built corpus; RELEASE:KIND/FILE is that
// of another toolkit.
func (s setting) file(tb testing.TB, name string) string {
	tb.Helper()
	if release, rest, ok := strings.Cut(name, ":"); ok {
		for _, tk := range kit.Toolkits(tb) {
			if tk.Release() == release {
				s.tk, name = tk, rest
			}
		}
	}
	name = strings.ReplaceAll(name, "FORM", s.form())
	if script, ok := recipes[name]; ok {
		return s.made(tb, filepath.Base(name), script)
	}
	kind, file, _ := strings.Cut(name, "/")
	return s.tk.Object(tb, kind, file)
}

var (
	ingredient = regexp.MustCompile(`\{[\w:-]+/[^ {}]+\}`)
	making     sync.Map // *sync.Mutex by path
)

// made runs a recipe, once for all runs of the tests: the file is kept under a
// name that stands for everything it is made from.
func (s setting) made(tb testing.TB, base, script string) string {
	tb.Helper()
	h := sha256.New()
	script = os.Expand(script, s.variable)
	script = ingredient.ReplaceAllStringFunc(script, func(word string) string {
		name := strings.Trim(word, "{}")
		path := filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), "..", "sources", strings.TrimPrefix(name, "src/"))
		if !strings.HasPrefix(name, "src/") {
			path = s.file(tb, name)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(data))
		return path
	})
	fmt.Fprintf(h, "%s %s %s\n", s.tk.Version, base, script)
	out := filepath.Join(cacheDir(tb), "made", fmt.Sprintf("%x", h.Sum(nil)[:12]), base)
	one, _ := making.LoadOrStore(out, &sync.Mutex{})
	one.(*sync.Mutex).Lock()
	defer one.(*sync.Mutex).Unlock()
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		return out
	}
	if err := cook(s.tk, out, script); err != nil {
		tb.Fatal(err)
	}
	return out
}

// cook runs a script in a folder of its own, where it leaves the file.
func cook(tk kit.Toolkit, out, script string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "recipe")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OUT="+filepath.Base(out), "PATH="+filepath.Join(tk.Root, "bin")+":"+os.Getenv("PATH"))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("making %s: %w\n%s\n%s", filepath.Base(out), err, script, text)
	}
	data, err := os.ReadFile(filepath.Join(dir, filepath.Base(out)))
	if err != nil {
		return err
	}
	temporary := out + ".new"
	return errors.Join(os.WriteFile(temporary, data, 0o644), os.Rename(temporary, out))
}

// cacheDir is this suite's part of what is kept from one run to the next.
func cacheDir(tb testing.TB) string {
	tb.Helper()
	dir, err := kit.CacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "modes")
}
