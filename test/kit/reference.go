package kit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Reference is what the toolkit's nvlink makes of a job. It is deterministic
// in all that the suites compare, so its answer is kept for the next run.
func (t Toolkit) Reference(tb testing.TB, job Job) Result {
	tb.Helper()
	kept, err := t.keptAt(job)
	if err != nil {
		tb.Fatal(err)
	}
	var result Result
	if data, err := os.ReadFile(kept); err == nil && json.Unmarshal(data, &result) == nil {
		return result
	}
	if result, err = t.Nvlink().Run(job); err != nil {
		tb.Fatal(err)
	}
	data, err := json.Marshal(result)
	if err != nil {
		tb.Fatal(err)
	}
	if err := writeWhole(kept, data); err != nil {
		tb.Fatal(err)
	}
	return result
}

// keptAt names the file for nvlink's answer, by all that decides it: version,
// arguments and inputs. nvlink derives the registration name of a bare cubin
// from its whole path, so the working folder counts too where one is registered.
func (t Toolkit) keptAt(job Job) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q\n", t.Version, job.Args)
	entries, err := os.ReadDir(job.Dir)
	if err != nil {
		return "", err
	}
	registers := slices.ContainsFunc(job.Args,
		func(a string) bool { return strings.Contains(a, "-register-link-binaries") })
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(job.Dir, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %x\n", e.Name(), sha256.Sum256(data))
		if registers && slices.Contains([]string{".cubin", ".fatbin", ".ptx"}, filepath.Ext(e.Name())) {
			fmt.Fprintln(h, job.Dir)
		}
	}
	dir, err := CacheDir()
	return filepath.Join(dir, "reference", fmt.Sprintf("%x", h.Sum(nil)[:16])), err
}

// writeWhole writes a file that no reader sees half-written.
func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
