package toolkit

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A part is one file of a toolkit: its names, and the directories below a root
// where the known layouts keep it, best first.
type part struct {
	name     string
	packages string // the packages that contain it, for hints
	also     string // a pattern of names to take where there is no such name
	dirs     []string
	check    func(path string) error
	slot     func(*Toolkit) *File
}

// host is how file names and file headers call this machine.
var host = map[string]struct {
	machine elf.Machine
	triple  string   // Debian's name
	targets []string // NVIDIA's and conda's names
}{
	"amd64": {elf.EM_X86_64, "x86_64-linux-gnu", []string{"x86_64-linux"}},
	"arm64": {elf.EM_AARCH64, "aarch64-linux-gnu", []string{"sbsa-linux", "aarch64-linux"}},
}[runtime.GOARCH]

// The directories of all layouts. NVIDIA: bin, lib64 (a link into targets),
// nvvm/lib64. Debian, with /usr as the root: bin for most tools, while nvcc
// there is a script and the program is in lib/nvidia-cuda-toolkit/bin;
// lib/<triple> for all libraries. conda: bin, nvvm/lib64, targets/*/lib. pip:
// bin, and lib for all libraries, libnvvm included.
var (
	binDirs = []string{"bin", "lib/nvidia-cuda-toolkit/bin"}
	libDirs = slices.Concat([]string{"lib64", "lib"}, below("targets", host.targets, "lib"),
		[]string{"lib/" + host.triple})
	nvvmDirs = slices.Concat([]string{"nvvm/lib64"}, libDirs)
)

func below(dir string, names []string, sub string) []string {
	var out []string
	for _, n := range names {
		out = append(out, filepath.Join(dir, n, sub))
	}
	return out
}

var (
	nvvmPart = &part{"libnvvm.so", "cuda-nvcc (conda), nvidia-nvvm (pip) or nvidia-cuda-toolkit (Debian)",
		"libnvvm.so.*", nvvmDirs, checkLibrary, func(t *Toolkit) *File { return &t.NVVM }}
	jitLinkPart = &part{"libnvJitLink.so", "libnvjitlink (conda) or nvidia-nvjitlink (pip)",
		"libnvJitLink.so.*", libDirs, checkLibrary, func(t *Toolkit) *File { return &t.JitLink }}
	ptxasPart  = tool("ptxas", checkTool, func(t *Toolkit) *File { return &t.PTXAS })
	nvlinkPart = tool("nvlink", checkTool, func(t *Toolkit) *File { return &t.NVLink })
	nvccPart   = tool("nvcc", checkProgram, func(t *Toolkit) *File { return &t.NVCC })
	devRTPart  = &part{"libcudadevrt.a", "cuda-cudart-dev (conda) or nvidia-cuda-runtime (pip)",
		"", libDirs, checkFile, func(t *Toolkit) *File { return &t.DevRT }}

	// linkParts has nvcc because the toolkit is where that is.
	linkParts = []*part{nvvmPart, jitLinkPart, ptxasPart, nvlinkPart, nvccPart}

	parts = append(slices.Clone(linkParts),
		tool("fatbinary", checkTool, func(t *Toolkit) *File { return &t.Fatbinary }),
		tool("cuobjdump", checkTool, func(t *Toolkit) *File { return &t.Cuobjdump }),
		devRTPart)
)

// tool is a program in bin. An installation that replaces a toolkit's program by warpld keeps
// the original beside it as NAME.real.
func tool(name string, check func(string) error, slot func(*Toolkit) *File) *part {
	return &part{name, "cuda-nvcc (conda), nvidia-cuda-nvcc (pip) or nvidia-cuda-toolkit (Debian)",
		name + ".real", binDirs, check, slot}
}

// paths returns the names that the part may have below a root, in order. For a pattern it
// returns the names that exist, the newest first.
func (p *part) paths(root string) []string {
	var out []string
	for _, dir := range p.dirs {
		out = append(out, filepath.Join(root, dir, p.name))
		if p.also != "" {
			found := glob(filepath.Join(root, dir), p.also)
			slices.SortFunc(found, func(a, b string) int { return compareNumbers(b, a) })
			out = append(out, found...)
		}
	}
	return out
}

var quoteMeta = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)

// glob returns what matches the pattern below dir, whatever the name of dir. It cannot fail:
// the patterns are constants, and unreadable directories match nothing.
func glob(dir, pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(quoteMeta.Replace(dir), pattern))
	return found
}

var (
	errDirectory     = errors.New("a directory")
	errNotExecutable = errors.New("not executable")
	errEmpty         = errors.New("empty")
	errNotELF        = errors.New("not an ELF file")
	errNotLibrary    = errors.New("not a shared library")
	errOtherMachine  = errors.New("for another machine")
)

func checkFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return os.ErrNotExist
	case err != nil:
		return err
	case info.IsDir():
		return errDirectory
	}
	return nil
}

// checkTool accepts scripts too: people put wrappers around ptxas.
func checkTool(path string) error {
	if err := checkFile(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&0o111 == 0 {
		return errNotExecutable
	}
	return nil
}

// checkProgram is for nvcc. Debian's /usr/bin/nvcc and wrappers of compiler caches are
// scripts, but nvcc's profile is beside the program itself.
func checkProgram(path string) error {
	if err := checkTool(path); err != nil {
		return err
	}
	_, err := elfType(path)
	return err
}

// checkLibrary refuses what the dynamic loader would refuse by the header.
func checkLibrary(path string) error {
	if err := checkFile(path); err != nil {
		return err
	}
	kind, err := elfType(path)
	if err == nil && kind != elf.ET_DYN {
		err = errNotLibrary
	}
	return err
}

// elfType reads the first 20 bytes: magic, class and byte order in the first
// six, the type at 16 and the machine at 18, two bytes each.
func elfType(path string) (elf.Type, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var head [20]byte
	switch n, err := io.ReadFull(f, head[:]); {
	case n == 0:
		return 0, errEmpty
	case err != nil, string(head[:4]) != elf.ELFMAG:
		return 0, errNotELF
	}
	if elf.Class(head[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return 0, errOtherMachine
	}
	if m := elf.Machine(binary.LittleEndian.Uint16(head[18:])); m != host.machine {
		return 0, fmt.Errorf("%w (%v)", errOtherMachine, m)
	}
	return elf.Type(binary.LittleEndian.Uint16(head[16:])), nil
}

// reason is the outcome of a check in the few words that lists have room for.
func reason(err error) string {
	var pathErr *os.PathError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, os.ErrNotExist):
		return "not found"
	case errors.As(err, &pathErr):
		return pathErr.Err.Error()
	}
	return err.Error()
}
