//go:build realtools

package inspect

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/test/kit"
)

// Whatever compiles the host code and however, its object tells all kernels and variables
// of its source, but where it calls by pointers.
func TestRegistered(t *testing.T) {
	want := []string{
		"k_devuse(int*)", "k_ext_unused(int*)", "k_ext_used(int*)", "k_int_unused(int*) (static)",
		"k_int_used(int*) (static)",
		"c_ext_devused", "c_ext_unused", "c_ext_used", "c_int_unused (static)", "c_int_used (static)",
		"d_ext_devused", "d_ext_unused", "d_ext_used", "d_int_unused (static)", "d_int_used (static)",
	}
	tk := kit.Toolkits(t)[0]
	for _, options := range []string{"-O0", "-O2", "-O3 -Xcompiler -fPIC",
		"-O2 -Xcompiler -ffunction-sections,-fdata-sections",
		"-O0 -ccbin aarch64-linux-gnu-g++", "-O2 -ccbin aarch64-linux-gnu-g++",
		"-O2 -ccbin clang++-19 -allow-unsupported-compiler"} {
		object := filepath.Join(t.TempDir(), "hostref.o")
		args := append(strings.Fields(options), "-w", "-gencode=arch=compute_80,code=lto_80", "-dc",
			"../../programs/corpus/hostref.cu", "-o", object)
		if out, err := exec.Command(tk.Tool("nvcc"), args...).CombinedOutput(); err != nil {
			t.Fatalf("nvcc %s: %v\n%s", options, err, out)
		}
		data, err := os.ReadFile(object)
		if err != nil {
			t.Fatal(err)
		}
		r, err := hostelf.ReadRegistered(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("nvcc %s: %v", options, err)
		}
		var got []string
		for _, list := range [][]string{r.Kernels, r.Variables} {
			names := make([]string, len(list))
			for i, name := range list {
				names[i] = message.Demangle(name)
			}
			slices.Sort(names)
			got = append(got, names...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("nvcc %s: %q, want %q", options, got, want)
		}
	}
}

// The host code of a constant refers to its value as well as to its name.
func TestRegisteredConstants(t *testing.T) {
	const source = `static const __device__ unsigned char kmask[8] = {1, 2, 4, 8, 16, 32, 64, 128};
static const __device__ char ktext[8] = "text";
extern const __device__ char kvisible[8] = "visible";
__constant__ const int kconstant = 0x41424344;
__global__ void k(int *p) { *p = kmask[*p & 7] + ktext[1] + kvisible[1] + kconstant; }
int main() { k<<<1, 1>>>(nullptr); }
`
	want := []string{"kconstant (static)", "kmask (static)", "ktext (static)", "kvisible"}
	dir := t.TempDir()
	path := filepath.Join(dir, "table.cu")
	if err := os.WriteFile(path, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, options := range []string{"-O0", "-O0 -Xcompiler -fno-pie", "-O0 -Xcompiler -fPIC", "-O2",
		"-O0 -ccbin aarch64-linux-gnu-g++", "-O0 -ccbin clang++-19 -allow-unsupported-compiler"} {
		object := filepath.Join(dir, "table.o")
		args := append(strings.Fields(options), "-w", "-gencode=arch=compute_80,code=lto_80", "-dc", path, "-o", object)
		if out, err := exec.Command(kit.Toolkits(t)[0].Tool("nvcc"), args...).CombinedOutput(); err != nil {
			t.Fatalf("nvcc %s: %v\n%s", options, err, out)
		}
		data, err := os.ReadFile(object)
		if err != nil {
			t.Fatal(err)
		}
		r, err := hostelf.ReadRegistered(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("nvcc %s: %v", options, err)
		}
		names := make([]string, len(r.Variables))
		for i, name := range r.Variables {
			names[i] = message.Demangle(name)
		}
		slices.Sort(names)
		if !slices.Equal(names, want) || !slices.Equal(r.Kernels, []string{"_Z1kPi"}) {
			t.Errorf("nvcc %s: %q and %q, want %q", options, names, r.Kernels, want)
		}
	}
}
