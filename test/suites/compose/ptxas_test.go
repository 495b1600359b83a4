//go:build realtools

package compose

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// An assembler is a toolkit's ptxas with its options.
type assembler struct {
	toolkit kit.Toolkit
	arch    string
	options []string
}

// assemble returns the file that ptxas makes of a text, and what it prints. The file is nil if
// ptxas fails. Answers are kept for the next run.
func (a *assembler) assemble(tb testing.TB, text []byte) (file []byte, printed string) {
	tb.Helper()
	cache, err := kit.CacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	key := sha256.New()
	fmt.Fprintf(key, "%s %s %q\n%s", a.toolkit.Version, a.arch, a.options, text)
	kept := filepath.Join(cache, "composed", fmt.Sprintf("%x", key.Sum(nil)[:16]))
	if file, err := os.ReadFile(kept); err == nil {
		return file, ""
	}
	dir, err := os.MkdirTemp("", "compose")
	if err != nil {
		tb.Fatal(err)
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "out.cubin")
	if err := os.WriteFile(in, text, 0o644); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(a.toolkit.Tool("ptxas"), append([]string{"-arch=" + a.arch, "-m64", in, "-o", out},
		a.options...)...)
	said, err := cmd.CombinedOutput()
	said = bytes.ReplaceAll(said, []byte(dir), nil)
	if err != nil {
		return nil, string(said)
	}
	if file, err = os.ReadFile(out); err != nil {
		tb.Fatal(err)
	}
	if len(said) == 0 {
		tb.Helper()
		keep(tb, kept, file)
	}
	return file, string(said)
}

// keep writes a file that no reader sees half-written.
func keep(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		tb.Fatal(err)
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		tb.Fatal(err)
	}
}
