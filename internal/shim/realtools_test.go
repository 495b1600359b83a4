//go:build realtools

package shim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/warpld/warpld/internal/toolkit"
)

// logVariable names the file to which this program, started as nvlink by nvcc,
// writes what it was asked to do.
const logVariable = "WARPLD_TEST_NVLINK_LOG"

// A call is one line of that file.
type call struct {
	Args   []string
	Root   string // of the toolkit that was found
	From   string
	NVLink string
}

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "nvlink":
		fmt.Fprintln(os.Stderr, standIn())
		os.Exit(1)
	case "ptxas":
		fmt.Fprintln(os.Stderr, standInForPTXAS())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// standIn is what warpld does first when nvcc starts it: it finds the toolkit.
// Then it becomes the real nvlink.
func standIn() error {
	tk, err := toolkit.Find(toolkit.Query{Origin: os.Args[0]})
	if err != nil {
		return err
	}
	nvlink, err := tk.NeedNVLink()
	if err != nil {
		return err
	}
	line, err := json.Marshal(call{os.Args[1:], tk.Root, tk.From, nvlink})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(os.Getenv(logVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := log.Write(append(line, '\n')); err != nil {
		return err
	}
	return syscall.Exec(nvlink, append([]string{nvlink}, os.Args[1:]...), os.Environ())
}

// standInForPTXAS becomes the real ptxas of the toolkit that warpld would find.
func standInForPTXAS() error {
	tk, err := toolkit.Find(toolkit.Query{Origin: os.Args[0]})
	if err != nil {
		return err
	}
	ptxas, err := tk.NeedPTXAS()
	if err != nil {
		return err
	}
	return syscall.Exec(ptxas, append([]string{ptxas}, os.Args[1:]...), os.Environ())
}

// A bench is a shim of one toolkit and a directory to work in.
type bench struct {
	tk        *toolkit.Toolkit
	shim, dir string
	env       []string
}

func eachToolkit(t *testing.T, test func(t *testing.T, b *bench)) {
	roots := os.Getenv("WARPLD_TEST_CUDA")
	if roots == "" {
		t.Fatal("WARPLD_TEST_CUDA must list the roots of the toolkits to test, separated by colons")
	}
	for _, root := range filepath.SplitList(roots) {
		t.Run(filepath.Base(root), func(t *testing.T) {
			tk, err := toolkit.Find(toolkit.Query{CUDA: root})
			if err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			b := &bench{tk: tk, shim: filepath.Join(t.TempDir(), "shim"), dir: t.TempDir()}
			mustMake(t, b.shim, tk, self)
			b.env = append(Environment(b.shim, tk, os.Environ()), logVariable+"="+b.log())
			for name, text := range sources {
				write(t, filepath.Join(b.dir, name), text, 0o644)
			}
			test(t, b)
		})
	}
}

func (b *bench) log() string { return filepath.Join(b.dir, "nvlink.log") }

// run runs a command, which PATH finds, and gives its output.
func (b *bench) run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	line := []string{"-c", `exec "$0" "$@"`, name}
	cmd := exec.Command("/bin/sh", append(line, args...)...)
	cmd.Dir, cmd.Env = b.dir, b.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (b *bench) mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := b.run(t, name, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return out
}

// calls gives what nvlink was asked since the last time.
func (b *bench) calls(t *testing.T) []call {
	t.Helper()
	data, err := os.ReadFile(b.log())
	if err != nil {
		t.Fatalf("our nvlink was not called: %v", err)
	}
	if err := os.Remove(b.log()); err != nil {
		t.Fatal(err)
	}
	var out []call
	for line := range bytes.Lines(data) {
		var c call
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %q", c.From, c.Args)
		if c.Root != b.tk.Root || c.From != "shim" || c.NVLink != b.tk.NVLink.Path {
			t.Errorf("our nvlink found %s in %s (%s), want that of %s", c.NVLink, c.Root, c.From, b.tk.Root)
		}
		out = append(out, c)
	}
	return out
}

func (b *bench) exists(t *testing.T, name string) {
	t.Helper()
	if info, err := os.Stat(filepath.Join(b.dir, name)); err != nil || info.Size() == 0 {
		t.Errorf("no %s was made", name)
	}
}

var sources = map[string]string{
	"a.cu": `__device__ float g(float);
__global__ void k(float *p) { *p = g(*p); }
int main() { k<<<1, 1>>>(0); return 0; }
`,
	// Large enough not to be stored anyway.
	"b.cu": `__device__ float g(float x) {
	for (int i = 0; i < 30; i++) x = sinf(x) * powf(x, 1.5f) + expf(x) + cosf(x * i) + tanf(x);
	return x;
}
`,
	"CMakeLists.txt": `cmake_minimum_required(VERSION 3.24)
project(two LANGUAGES CXX CUDA)
find_package(CUDAToolkit REQUIRED)
file(WRITE ${CMAKE_BINARY_DIR}/found "${CUDAToolkit_BIN_DIR} ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_VERSION} ${CMAKE_CUDA_COMPILER}")
add_library(b STATIC b.cu)
add_executable(a a.cu)
target_link_libraries(a PRIVATE b)
set_target_properties(a b PROPERTIES CUDA_SEPARABLE_COMPILATION ON INTERPROCEDURAL_OPTIMIZATION ${IPO})
`,
	"plain/CMakeLists.txt": `cmake_minimum_required(VERSION 3.24)
project(plain LANGUAGES CXX)
find_package(CUDAToolkit REQUIRED)
file(WRITE ${CMAKE_BINARY_DIR}/found "${CUDAToolkit_BIN_DIR} ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_VERSION}")
`,
}

func TestCompileAndLink(t *testing.T) {
	eachToolkit(t, func(t *testing.T, b *bench) {
		b.mustRun(t, "nvcc", "-arch=sm_80", "-dlto", "-rdc=true", "a.cu", "b.cu", "-o", "whole")
		calls := b.calls(t)
		if len(calls) != 1 || !slices.Contains(calls[0].Args, "-dlto") {
			t.Errorf("nvlink was called %d times, want once with -dlto", len(calls))
		}
		b.exists(t, "whole")

		b.mustRun(t, NVCC(b.shim), "-arch=sm_80", "-rdc=true", "a.cu", "b.cu", "-o", "plain-rdc")
		if calls := b.calls(t); len(calls) != 1 || slices.Contains(calls[0].Args, "-dlto") {
			t.Errorf("nvlink was called %d times, want once without -dlto", len(calls))
		}
		b.exists(t, "plain-rdc")
	})
}

// The shim must not change what nvcc does otherwise: the steps of a build are
// those of the real nvcc, but for its own directory.
func TestSameSteps(t *testing.T) {
	eachToolkit(t, func(t *testing.T, b *bench) {
		steps := func(nvcc string) string {
			var lines []string
			for _, l := range strings.Split(b.mustRun(t, nvcc, "--dryrun", "--keep", "-arch=sm_80", "-dlto", "-rdc=true",
				"a.cu", "b.cu", "-o", "x"), "\n") {
				if !strings.HasPrefix(l, "#$ PATH=") {
					lines = append(lines, strings.ReplaceAll(l, b.shim, b.tk.Root))
				}
			}
			return strings.Join(lines, "\n")
		}
		if diff := cmp.Diff(steps(b.tk.NVCC.Path), steps(NVCC(b.shim))); diff != "" {
			t.Errorf("-real +shim:\n%s", diff)
		}
	})
}

// -arch=native runs a program that nvcc looks for before it reads its profile.
// Without a GPU it fails, and then in the same way.
func TestNative(t *testing.T) {
	eachToolkit(t, func(t *testing.T, b *bench) {
		want, wantErr := b.run(t, b.tk.NVCC.Path, "-arch=native", "-c", "b.cu", "-o", "b.o")
		got, gotErr := b.run(t, NVCC(b.shim), "-arch=native", "-c", "b.cu", "-o", "b.o")
		if got != want || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Errorf("got %v %s, want %v %s", gotErr, got, wantErr, want)
		}
	})
}

// The option in NVCC_APPEND_FLAGS must be silent wherever nvcc is used, and
// LTO-IR must be readable for it.
func TestStoredIR(t *testing.T) {
	eachToolkit(t, func(t *testing.T, b *bench) {
		uses := []string{
			"-E b.cu -o b.ii", "-M b.cu -o b.d", "-MD -MF b.d -dc b.cu -o b.o", "-cubin -dc b.cu -o b.cubin",
			"-ptx b.cu -o b.ptx",
			"-fatbin -dc b.cu -o b.fatbin", "-dlto -ltoir -dc b.cu -o b.ltoir", "-c -x c++ empty.cc -o e.o", "-lib b.o -o b.a",
			"-dlto -dc a.cu -o a.o", "-dlto -dc b.cu -o b.o", "-dlto -dlink a.o b.o -o d.o", "-dlto a.o b.o -o x",
			"-compress-mode=size -dlto -dc b.cu -o b2.o", "-no-compress -dlto -dc b.cu -o b2.o", "--cuda b.cu -o b.cpp",
		}
		write(t, filepath.Join(b.dir, "empty.cc"), "", 0o644)
		for _, use := range uses {
			if out := b.mustRun(t, "nvcc", append(strings.Fields("-arch=sm_80 -Werror all-warnings"),
				strings.Fields(use)...)...); out != "" {
				t.Errorf("nvcc %s says %s", use, out)
			}
		}
		for _, use := range []string{"--version", "--help", "--list-gpu-arch"} {
			b.mustRun(t, "nvcc", use)
		}
		container := []byte("\xed\x43\x4e\x7f") // begins readable LTO-IR
		if data, err := os.ReadFile(filepath.Join(b.dir, "b.o")); err != nil || !bytes.Contains(data, container) {
			t.Errorf("b.o has no readable LTO-IR (%v)", err)
		}
		b.env = set(b.env, "NVCC_APPEND_FLAGS", "")
		b.mustRun(t, "nvcc", "-arch=sm_80", "-dlto", "-dc", "b.cu", "-o", "b.o")
		if data, err := os.ReadFile(filepath.Join(b.dir, "b.o")); err != nil || bytes.Contains(data, container) {
			t.Errorf("LTO-IR is readable without the option (%v)", err)
		}
	})
}

func TestCMake(t *testing.T) {
	eachToolkit(t, func(t *testing.T, b *bench) {
		switched := b.env
		for _, way := range []struct {
			name, ipo string
			env, args []string
		}{
			{"environment", "ON", switched, nil},
			{"environment-plain", "OFF", switched, nil},
			{"compiler", "ON", append(os.Environ(), logVariable+"="+b.log()), []string{"-DCMAKE_CUDA_COMPILER=" + NVCC(b.shim)}},
		} {
			b.env = way.env
			b.mustRun(t, "cmake", append(way.args, "-G", "Ninja", "-S", ".", "-B", way.name, "-DIPO="+way.ipo,
				"-DCMAKE_CUDA_ARCHITECTURES=80;90")...)
			b.calls(t) // of the test whether the compiler works
			b.mustRun(t, "cmake", "--build", way.name)
			calls := b.calls(t)
			if len(calls) != 2 {
				t.Errorf("%s: nvlink was called %d times, want once for each architecture", way.name, len(calls))
			}
			for _, c := range calls {
				if slices.Contains(c.Args, "-dlto") != (way.ipo == "ON") {
					t.Errorf("%s: nvlink %q", way.name, c.Args)
				}
			}
			b.exists(t, way.name+"/a")
			b.found(t, way.name, NVCC(b.shim))
		}
	})
}

// Without the language CUDA, CMake finds the toolkit by the nvcc in PATH.
func TestCMakeWithoutLanguage(t *testing.T) {
	eachToolkit(t, func(t *testing.T, b *bench) {
		b.mustRun(t, "cmake", "-G", "Ninja", "-S", "plain", "-B", "build")
		b.found(t, "build")
	})
}

// found checks that find_package(CUDAToolkit) led to the real toolkit.
func (b *bench) found(t *testing.T, build string, more ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, build, "found"))
	if err != nil {
		t.Fatal(err)
	}
	want := append([]string{filepath.Join(b.tk.Root, "bin"), filepath.Join(b.tk.Root, "include"), b.tk.Version.String()},
		more...)
	if got := string(data); got != strings.Join(want, " ") {
		t.Errorf("CMake found %s, want %s", got, strings.Join(want, " "))
	}
}
