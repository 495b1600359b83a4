package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// A step makes one file with one command.
type step struct {
	out    string
	inputs []string // files whose contents decide, with args, whether out is up to date
	args   []string // OUT stands for the output
	dir    string   // where the command runs; empty means anywhere
	nvcc   bool     // the command is nvcc, which can list the commands that it runs
}

// A group is one or more steps. Several are compilations of one source that differ only in
// their last commands.
type group []step

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

// stale returns the steps of a group whose outputs are not up to date.
func (b builder) stale(g group) (group, error) {
	var list group
	for _, s := range g {
		current, err := b.upToDate(s)
		if err != nil {
			return nil, err
		}
		if !current {
			list = append(list, s)
		}
	}
	return list, nil
}

// run makes the outputs of a group. A key is written after its output: an interrupted step is
// run again.
func (b builder) run(g group) error {
	for _, s := range g {
		if err := os.MkdirAll(filepath.Dir(s.out), 0o755); err != nil {
			return err
		}
		if err := os.RemoveAll(s.out); err != nil { // ar would add to an old archive
			return err
		}
	}
	if err := g.make(); err != nil {
		return err
	}
	for _, s := range g {
		key, err := s.key()
		if err != nil {
			return err
		}
		if err := os.WriteFile(b.keyFile(s), []byte(key), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (g group) make() error {
	if len(g) > 1 && g[0].nvcc {
		return g.compile()
	}
	for _, s := range g {
		if err := command(s.dir, nil, s.command()); err != nil {
			return err
		}
	}
	return nil
}

// command returns the arguments with the name of the output.
func (s step) command() []string {
	args := slices.Clone(s.args)
	for i, a := range args {
		if a == "OUT" {
			args[i] = s.out
		}
	}
	return args
}

func command(dir string, env, args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if env != nil {
		cmd.Env = append(os.Environ(), env...)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %w\n%s", args, err, out)
	}
	return nil
}
