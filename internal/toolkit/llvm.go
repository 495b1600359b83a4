package toolkit

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
)

// An LLVM is an installed LLVM, of which a link with bitcode needs the library.
type LLVM struct {
	File
	Major int
	minor int
}

// oldestLLVM is the first whose library has all that a link calls.
const oldestLLVM = 19

// FindLLVM looks for libLLVM: what --warpld-llvm names, a file, a directory or a
// version, else in all places where distributions put it. Of several the newest is
// taken, because it reads the bitcode of all others.
func FindLLVM(wanted string, env func(string) string) (*LLVM, error) {
	version, err := strconv.Atoi(wanted)
	if wanted != "" && err != nil {
		return pickLLVM("--warpld-llvm", llvmIn(wanted), 0)
	}
	dirs := []string{"/usr/local/lib", "/usr/lib/llvm-*/lib", "/usr/lib/" + host.triple, "/usr/lib64",
		"/usr/lib64/llvm*/lib*", "/usr/lib/llvm/*/lib64", "/usr/lib"}
	if conda := env("CONDA_PREFIX"); conda != "" {
		dirs = append([]string{filepath.Join(quoteMeta.Replace(conda), "lib")}, dirs...)
	}
	var files []string
	for _, dir := range dirs {
		files = append(files, glob("/", filepath.Join(dir, llvmName))...)
	}
	return pickLLVM("system", files, version)
}

// Tool returns a program of the same LLVM: clang, opt, llvm-lto2.
func (l *LLVM) Tool(name string) (string, error) {
	version := strconv.Itoa(l.Major)
	m := &message.Message{Severity: message.Fatal, ID: "llvm-tool",
		Text: fmt.Sprintf("cannot find %s of LLVM %s", name, version),
		Hint: "ThinLTO needs LLVM's programs (Debian's packages llvm-" + version + " and clang-" + version +
			"); --warpld-lto=full does not"}
	prefix := filepath.Dir(filepath.Dir(l.Path))
	paths := []string{"/usr/lib/llvm-" + version + "/bin/" + name, filepath.Join(prefix, "bin", name+"-"+version),
		"/usr/bin/" + name + "-" + version}
	if prefix != "/usr" { // whose programs may be of any version
		paths = append(paths, filepath.Join(prefix, "bin", name))
	}
	for _, path := range paths {
		err := checkTool(path)
		if err == nil {
			return path, nil
		}
		m.Notes = append(m.Notes, trial{place: l.From, path: path, why: reason(err)}.String())
	}
	return "", m
}

// llvmName matches libLLVM.so.22.1, libLLVM-19.so and the like.
const llvmName = `libLLVM[.\-]*`

// llvmIn returns the files to try for a path that the user named.
func llvmIn(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}
	}
	var files []string
	for _, dir := range []string{".", "lib", "lib64"} {
		files = append(files, glob(filepath.Join(path, dir), llvmName)...)
	}
	if len(files) == 0 {
		return []string{filepath.Join(path, "lib", "libLLVM.so")} // for the message
	}
	return files
}

// pickLLVM returns the newest of the files, or the one of a version.
func pickLLVM(place string, files []string, version int) (*LLVM, error) {
	var best *LLVM
	m := &message.Message{Severity: message.Fatal, ID: "llvm-not-found",
		Text: "cannot find libLLVM, which compiles LLVM bitcode",
		Hint: fmt.Sprintf("install LLVM %d or later, as Debian's package libllvm22, or give --warpld-llvm=PATH", oldestLLVM)}
	refuse := func(path, why string) { m.Notes = append(m.Notes, trial{place: place, path: path, why: why}.String()) }
	for _, path := range files {
		switch llvm, err := openLLVM(resolve(path)); {
		case err != nil:
			refuse(path, reason(err))
		case llvm.Major < oldestLLVM:
			refuse(path, fmt.Sprintf("LLVM %d, which is too old", llvm.Major))
		case version != 0 && llvm.Major != version:
			refuse(path, fmt.Sprintf("LLVM %d, asked for is %d", llvm.Major, version))
		case best == nil || llvm.Major > best.Major || (llvm.Major == best.Major && llvm.minor > best.minor):
			best = llvm
			best.From = place
		}
	}
	if best == nil {
		return nil, m
	}
	return best, nil
}

var llvmSoname = pattern.Lazy(`^libLLVM(?:\.so\.|-)(\d+)(?:\.(\d+))?`)

// openLLVM asks a library for its own name, which has the version in it.
func openLLVM(path string) (*LLVM, error) {
	if err := checkLibrary(path); err != nil {
		return nil, err
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.DynString(elf.DT_SONAME)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if part := llvmSoname().FindStringSubmatch(name); part != nil {
			major, _ := strconv.Atoi(part[1])
			minor, _ := strconv.Atoi(part[2])
			return &LLVM{File: File{Path: path}, Major: major, minor: minor}, nil
		}
	}
	return nil, fmt.Errorf("not a libLLVM by its own name")
}

// NeedLibdevice returns NVIDIA's library of mathematics, which is bitcode.
func (t *Toolkit) NeedLibdevice() (string, error) {
	m := &message.Message{Severity: message.Fatal, ID: "toolkit-part",
		Text: "cannot find libdevice.10.bc of the CUDA toolkit",
		Hint: "set CUDA_HOME, or give --warpld-cuda=DIR; it comes with nvcc"}
	for _, dir := range []string{"nvvm/libdevice", "lib/nvidia-cuda-toolkit/libdevice", "lib/cuda/nvvm/libdevice",
		"share/cuda/nvvm/libdevice"} {
		path := filepath.Join(t.Root, dir, "libdevice.10.bc")
		err := checkFile(path)
		if err == nil && t.Root != "" {
			return path, nil
		}
		m.Notes = append(m.Notes, trial{place: t.From, path: path, why: reason(err)}.String())
	}
	return "", m
}
