package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/warpld/warpld/test/kit"
)

// A compiler makes objects, and keeps them with the digests of all files that took part.
type compiler struct {
	dir     string // of the kept objects
	root    string // of the programs
	limit   time.Duration
	slots   chan struct{} // one for each process that may run at the same time
	mu      sync.Mutex
	digests map[string]string // by path
	ran     int
}

// object returns an object that is compiled from the unit with additional options. One that
// is kept is used if no file that took part has changed.
func (c *compiler) object(ctx context.Context, tk kit.Toolkit, u unit, options []string) (string, error) {
	words := append(append([]string{}, u.Flags...), options...)
	key := sha256.Sum256(fmt.Appendf(nil, "%s %q %q %q", tk.Version, u.Dir, u.Source, words))
	dir := filepath.Join(c.dir, fmt.Sprintf("%x", key[:12]))
	object := filepath.Join(dir, "object.o")
	unlock, err := kit.Lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if c.isCurrent(dir) {
		return object, nil
	}
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	depends := filepath.Join(dir, "depends")
	words = append(words, "-MD", "-MF", depends, u.Source, "-o", object)
	if err := c.run(ctx, tk, u.Dir, words); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return object, c.remember(u.Dir, dir, depends)
}

// run runs nvcc in a process group of its own, so that all of it ends at the limit, or if the
// trial is stopped.
func (c *compiler) run(stop context.Context, tk kit.Toolkit, dir string, words []string) error {
	c.mu.Lock()
	c.ran++
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(stop, c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, tk.Tool("nvcc"), words...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case stop.Err() != nil:
		return stop.Err()
	case ctx.Err() != nil:
		return fmt.Errorf("did not compile within %s", c.limit)
	case err != nil:
		places := strings.NewReplacer(dir+"/", "", tk.Root+"/", "", c.root+"/", "")
		return fmt.Errorf("%w: %s", err, places.Replace(firstError(string(out))))
	}
	return nil
}

// firstError returns the line of a compiler's output that explains the failure.
func firstError(text string) string {
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "error") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// remember writes the digests of the files that took part.
func (c *compiler) remember(workDir, dir, depends string) error {
	text, err := os.ReadFile(depends)
	if err != nil {
		return err
	}
	files := map[string]string{}
	for _, path := range dependencies(string(text)) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(workDir, path)
		}
		if files[path], err = c.digest(path); err != nil {
			return err
		}
	}
	data, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "files.json"), data, 0o644)
}

// dependencies returns the prerequisites of a rule as compilers write it.
func dependencies(rule string) []string {
	_, list, _ := strings.Cut(strings.ReplaceAll(rule, "\\\n", " "), ": ")
	words := splitWords(strings.ReplaceAll(list, "\n", " "))
	if len(words) == 0 {
		return nil
	}
	return words[0]
}

// isCurrent reports whether the folder has an object of files that are as they were.
func (c *compiler) isCurrent(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "files.json"))
	if err != nil {
		return false
	}
	var files map[string]string
	if json.Unmarshal(data, &files) != nil || len(files) == 0 {
		return false
	}
	for path, want := range files {
		if got, err := c.digest(path); err != nil || got != want {
			return false
		}
	}
	return true
}

// digest reads a file once in a trial.
func (c *compiler) digest(path string) (string, error) {
	c.mu.Lock()
	known, ok := c.digests[path]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	sum := fmt.Sprintf("%x", h.Sum(nil))
	c.mu.Lock()
	c.digests[path] = sum
	c.mu.Unlock()
	return sum, nil
}
