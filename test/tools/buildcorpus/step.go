package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// A step makes one file with one command.
type step struct {
	out    string
	inputs []string // files whose contents decide, with args, whether out is up to date
	args   []string // OUT stands for the output
	dir    string   // where the command runs; empty: anywhere
}

// key identifies what the output is made from.
func (s step) key() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", s.args)
	for _, name := range s.inputs {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %x\n", filepath.Base(name), sha256.Sum256(data))
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// A builder runs steps; it keeps the keys of what it made in a folder.
type builder struct{ keys string }

func (b builder) keyFile(s step) string {
	return filepath.Join(b.keys, fmt.Sprintf("%x", sha256.Sum256([]byte(s.out))))
}

func (b builder) upToDate(s step) (bool, error) {
	key, err := s.key()
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(s.out); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	kept, err := os.ReadFile(b.keyFile(s))
	return err == nil && string(kept) == key, nil
}

// run makes the output. The key is written last: an interrupted step is run again.
func (b builder) run(s step) error {
	if err := os.MkdirAll(filepath.Dir(s.out), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(s.out); err != nil { // ar would add to an old archive
		return err
	}
	args := append([]string(nil), s.args...)
	for i, a := range args {
		if a == "OUT" {
			args[i] = s.out
		}
	}
	if err := command(s.dir, args); err != nil {
		return err
	}
	key, err := s.key()
	if err != nil {
		return err
	}
	return os.WriteFile(b.keyFile(s), []byte(key), 0o644)
}

func command(dir string, args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %w\n%s", args, err, out)
	}
	return nil
}
