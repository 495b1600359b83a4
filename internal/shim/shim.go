// Package shim makes the switch for nvcc builds: a directory that can be used in place of a
// CUDA toolkit, in which nvlink and ptxas are warpld and everything else is the real toolkit. The
// toolkit itself is not changed.
//
// How it works: nvcc runs a bare "nvlink" or "ptxas" through sh after it has put the directories of
// nvcc.profile at the front of PATH. It reads the profile, and sets its own directory _HERE_,
// from the path by which it was started, without following links. So a link to nvcc beside a
// profile of our own is enough to be found first:
//
//	DIR/warpld-shim.json       the toolkit that this stands for
//	DIR/bin/nvcc            -> the real one
//	DIR/bin/nvlink, ptxas   -> warpld
//	DIR/bin/nvcc.profile       the real one's text, see profile
//	DIR/bin/crt, ...        -> the real ones
//	DIR/include, lib64, ... -> the real ones
//
// The last two lines are for tools that search by directories: nvcc itself reads crt/link.stub
// beside it, sets _TARGET_DIR_ only if ../targets exists, and looks for __nvcc_device_query
// (-arch=native) before it applies the profile; many builds use the parent of nvcc's directory
// as the toolkit.
package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/toolkit"
)

// What a toolkit's bin has for builds, and what its root has. Each is linked
// if it is there. Whole directories are not, because the root may be /usr.
var (
	binLinks = []string{
		"__nvcc_device_query", "bin2c", "crt", "cu++filt", "cudafe++", "cuobjdump",
		"fatbinary", "nvdisasm", "nvprune", "tileiras",
	}
	rootLinks = []string{
		"cccl", "extras", "include", "lib", "lib64", "nvml", "nvvm", "targets", "version.json",
	}
)

// ErrNotShim is for a directory that holds something else.
var ErrNotShim = errors.New("not a shim")

// Make makes dir a shim of the toolkit whose nvlink and ptxas are the program self. An existing shim is
// updated. Every entry is written by a rename, so that builds and a second Make may run at the
// same time.
func Make(dir string, tk *toolkit.Toolkit, self string) error {
	nvcc, err := tk.NeedNVCC()
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if self, err = program(dir, self); err != nil {
		return err
	}
	text, err := profile(filepath.Dir(nvcc))
	if err != nil {
		return err
	}
	record, err := json.Marshal(toolkit.Shim{Toolkit: tk.Root})
	if err != nil {
		return err
	}
	s, err := claim(dir)
	if err != nil {
		return err
	}

	// The record goes first: it marks this directory as a shim.
	s.file(toolkit.ShimRecord, append(record, '\n'))
	s.directory("bin")
	s.file("bin/nvcc.profile", text)
	s.link("bin/nvcc", nvcc)
	s.link("bin/nvlink", self)
	if tk.PTXAS.Found() {
		s.link("bin/ptxas", self)
	} else {
		s.linkFirst("bin/ptxas")
	}
	for _, name := range binLinks {
		s.linkFirst("bin/"+name, filepath.Join(filepath.Dir(nvcc), name), filepath.Join(tk.Root, "bin", name))
	}
	for _, name := range rootLinks {
		s.linkFirst(name, filepath.Join(tk.Root, name))
	}
	return s.close()
}

// NVCC is the path of the compiler in a shim, for CUDACXX and
// CMAKE_CUDA_COMPILER.
func NVCC(dir string) string { return filepath.Join(dir, "bin", "nvcc") }

// program checks the path of our own executable. Inside the shim it would be
// a link to itself.
func program(dir, self string) (string, error) {
	self, err := filepath.Abs(self)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(self, dir+string(filepath.Separator)) {
		return "", failure(nil, "the shim cannot run '%s', which is in the shim itself", self)
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", failure(err, "cannot make '%s' the nvlink of a shim: %v", self, err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", failure(nil, "cannot make '%s' the nvlink of a shim: it is not a program", self)
	}
	return self, nil
}

// profile returns the nvcc.profile for the shim of the nvcc in the directory bin: the real
// one, with the names for nvcc's own directory replaced by their values, and a last line that
// puts the shim first. In this file += prepends the text. Keeping the rest keeps the command
// lines that nvcc makes, and with them the hits of compiler caches.
func profile(bin string) ([]byte, error) {
	path := filepath.Join(bin, "nvcc.profile")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, failure(err, "cannot read the profile of nvcc: %v", err)
	}
	if strings.ContainsAny(bin, "$\n") {
		return nil, failure(nil, "'%s' cannot be written in an nvcc.profile", bin)
	}
	text = []byte(strings.NewReplacer(
		"$(_HERE_)", bin,
		"$(_THERE_)", bin,
		"$(CUDA_ROOT)", filepath.Dir(bin),
	).Replace(string(text)))
	return append(bytes.TrimRight(text, "\n"), "\nPATH += $(_HERE_):\n"...), nil
}

// stagingPrefix begins the names of the directories in which entries are made.
const stagingPrefix = ".warpld-shim-"

// A site is a shim at work. Its methods do nothing after an error.
type site struct {
	dir, staging string
	err          error
}

// claim makes the directory, or checks that an existing one is ours.
func claim(dir string) (*site, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, failure(err, "cannot make the shim '%s': %v", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, failure(err, "cannot read '%s': %v", dir, err)
	}
	foreign := false
	for _, e := range entries {
		foreign = foreign || !strings.HasPrefix(e.Name(), stagingPrefix)
	}
	// Asked after the listing: another Make writes its record before the rest.
	if _, err := os.Stat(filepath.Join(dir, toolkit.ShimRecord)); foreign && err != nil {
		m := failure(ErrNotShim, "'%s' is neither empty nor a shim of warpld", dir)
		m.Hint = "choose a directory of its own for the shim"
		return nil, m
	}
	staging, err := os.MkdirTemp(dir, stagingPrefix)
	if err != nil {
		return nil, failure(err, "cannot write to the shim: %v", err)
	}
	return &site{dir: dir, staging: staging}, nil
}

// close ends the work and returns its first error.
func (s *site) close() error {
	s.fail(os.RemoveAll(s.staging))
	return s.err
}

func (s *site) directory(name string) {
	if s.err == nil {
		s.fail(os.MkdirAll(filepath.Join(s.dir, name), 0o755))
	}
}

func (s *site) file(name string, content []byte) {
	path := filepath.Join(s.dir, name)
	if old, err := os.ReadFile(path); s.err != nil || (err == nil && bytes.Equal(old, content)) {
		return
	}
	s.put(path, func(temp string) error { return os.WriteFile(temp, content, 0o644) })
}

func (s *site) link(name, target string) {
	path := filepath.Join(s.dir, name)
	if old, err := os.Readlink(path); s.err != nil || (err == nil && old == target) {
		return
	}
	s.put(path, func(temp string) error { return os.Symlink(target, temp) })
}

// linkFirst links to the first target that exists. With none, a link that the
// shim of another toolkit left there goes away.
func (s *site) linkFirst(name string, targets ...string) {
	for _, target := range targets {
		if _, err := os.Stat(target); err == nil {
			s.link(name, target)
			return
		}
	}
	path := filepath.Join(s.dir, name)
	if _, err := os.Readlink(path); s.err == nil && err == nil {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			s.fail(err)
		}
	}
}

func (s *site) put(path string, create func(temp string) error) {
	temp := filepath.Join(s.staging, filepath.Base(path))
	if err := create(temp); err != nil {
		s.fail(err)
		return
	}
	s.fail(os.Rename(temp, path))
}

func (s *site) fail(err error) {
	if err != nil && s.err == nil {
		s.err = failure(err, "cannot make the shim '%s': %v", s.dir, err)
	}
}

func failure(cause error, format string, args ...any) *message.Message {
	return &message.Message{
		Severity: message.Fatal,
		ID:       "shim",
		Text:     fmt.Sprintf(format, args...),
		Cause:    cause,
	}
}
