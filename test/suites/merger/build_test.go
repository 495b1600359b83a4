//go:build realtools

package merger

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// A setting is a toolkit and a target.
type setting struct {
	tk   kit.Toolkit
	arch string
}

// sources are the CUDA sources by the names that programs use: those here, and
// those of the corpus that all suites share. Random programs are not drawn from features:
// each source that is added there would change all of them.
func sources(tb testing.TB) map[string]string {
	tb.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"src/*.cu", "features/*.cu", "../../programs/corpus/*.cu"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			tb.Fatalf("no sources %s: %v", pattern, err)
		}
		for _, path := range paths {
			found[strings.TrimSuffix(filepath.Base(path), ".cu")] = path
		}
	}
	return found
}

// variants are ways to compile a source, by the prefix that its name gets.
var variants = map[string][]string{
	"":   nil,
	"li": {"-lineinfo"},
	"g":  {"-G"},
	"r":  {"-maxrregcount=40"},
}

// cubin gives the path of a source's relocatable code. A name such as li.a is
// the source a, compiled as the variant li says.
func (s setting) cubin(name string, all map[string]string) (string, error) {
	variant, source, found := strings.Cut(name, ".")
	if !found {
		variant, source = "", name
	}
	path, ok := all[source]
	if !ok {
		return "", fmt.Errorf("no source %q", source)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	compiler, err := s.tk.Compiler()
	if err != nil {
		return "", err
	}
	if compiler.Root != s.tk.Root {
		virtual := "-arch=" + strings.Replace(s.arch, "sm_", "compute_", 1)
		options := append([]string{"-w", virtual, "-rdc=true", "-ptx"}, variants[variant]...)
		if path, err = (setting{compiler, s.arch}).compileOnce(path, name+".ptx", text, options); err != nil {
			return "", err
		}
		if text, err = os.ReadFile(path); err != nil {
			return "", err
		}
	}
	options := append([]string{"-w", "-arch=" + s.arch, "-rdc=true", "-cubin"}, variants[variant]...)
	return s.compileOnce(path, name+".cubin", text, options)
}

// compileOnce compiles a source to a file of this name, unless an earlier run has
// done so.
func (s setting) compileOnce(source, name string, text []byte, options []string) (string, error) {
	cache, err := kit.CacheDir()
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %q %s", s.tk.Version, options, text))
	out := filepath.Join(cache, "merger", s.tk.Release(), s.arch, fmt.Sprintf("%x-%s", key[:6], name))
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	return out, s.compile(source, out, options)
}

func (s setting) compile(source, out string, options []string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	partial := out + ".new"
	args := append(options, "-I", filepath.Dir(source), source, "-o", partial)
	if text, err := exec.Command(s.tk.Tool("nvcc"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("nvcc %q: %w\n%s", args, err, text)
	}
	return os.Rename(partial, out)
}

// buildAll compiles the sources of all names, two at a time, and gives their
// paths by name.
func (s setting) buildAll(tb testing.TB, names []string) map[string]string {
	tb.Helper()
	all := sources(tb)
	built := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for _, name := range names {
		wg.Add(1)
		go func() {
			defer wg.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			path, err := s.cubin(name, all)
			if err != nil {
				tb.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			built[name] = path
		}()
	}
	wg.Wait()
	if tb.Failed() {
		tb.FailNow()
	}
	return built
}
