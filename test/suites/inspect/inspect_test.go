//go:build realtools

// Package inspect checks what warpld reads out of its own results against what
// the toolkit's tools say of them.
package inspect

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/test/kit"
)

var programs = [][]string{
	{"a.o", "b.o"}, {"cdp.o"}, {"ind.o", "ind2.o"}, {"lay1.o", "lay2.o"}, {"many1.o", "many2.o"},
	{"r1_calls.o", "r2_def.o"}, {"r4_virt.o"}, {"r5_shared.o"}, {"r6_tex.o"}, {"r7_cg.o"}, {"r8_math.o"},
}

// The resources of each kernel are those that cuobjdump -res-usage shows.
func TestResources(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		for _, arch := range kit.Archs {
			t.Run(tk.Release()+"/"+arch, func(t *testing.T) {
				t.Parallel()
				checked := 0
				for _, program := range programs {
					checked += checkResources(t, tk, arch, link(t, tk, arch, program))
				}
				if checked == 0 {
					t.Fatal("no kernel was checked")
				}
				t.Logf("%d kernels have the resources that cuobjdump says", checked)
			})
		}
	}
}

func link(t *testing.T, tk kit.Toolkit, arch string, program []string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.Join(program, "+")+".cubin")
	args := []string{"-arch=" + arch, "-dlto", "-nvvmpath=" + tk.NVVM(), "-o", out}
	for _, name := range program {
		args = append(args, tk.Object(t, "stored", name))
	}
	args = append(args, "-L"+tk.Lib(), "-lcudadevrt")
	if text, err := exec.Command(kit.Binary(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return out
}

func checkResources(t *testing.T, tk kit.Toolkit, arch, file string) int {
	t.Helper()
	said := resUsage(t, tk, file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := f.Resources()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kernels {
		if got := usageLine(k); got != said[k.Kernel] {
			t.Errorf("%s %s %s, kernel %s\n  warpld:    %s\n  cuobjdump: %s",
				tk.Release(), arch, filepath.Base(file), k.Kernel, got, said[k.Kernel])
		}
	}
	return len(kernels)
}

var function = regexp.MustCompile(`(?m)^ Function (\S+):\n +(.*)$`)

// resUsage gives cuobjdump's line for each function.
func resUsage(t *testing.T, tk kit.Toolkit, file string) map[string]string {
	t.Helper()
	out, err := exec.Command(tk.Tool("cuobjdump"), "-res-usage", file).CombinedOutput()
	if err != nil {
		t.Fatalf("cuobjdump: %v\n%s", err, out)
	}
	lines := map[string]string{}
	for _, m := range function.FindAllSubmatch(out, -1) {
		lines[string(m[1])] = string(m[2])
	}
	return lines
}

// usageLine is the line that cuobjdump would write. It lists the banks from the
// last; local memory, textures and samplers are of architectures that are gone.
func usageLine(k cubin.Resources) string {
	banks := ""
	for _, b := range slices.Backward(k.Constant) {
		banks += fmt.Sprintf(" CONSTANT[%d]:%d", b.Bank, b.Bytes)
	}
	return fmt.Sprintf("REG:%d STACK:%d SHARED:%d LOCAL:0%s TEXTURE:0 SURFACE:0 SAMPLER:0", k.Registers, k.Stack,
		k.Shared, banks)
}
