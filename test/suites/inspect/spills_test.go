//go:build realtools

package inspect

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/test/kit"
)

var spilled = regexp.MustCompile(`(\d+) bytes spill stores, (\d+) bytes spill loads`)

// The instructions that spill are as many as ptxas says: each moves one register of four
// bytes.
func TestSpills(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		for _, arch := range kit.Archs {
			for _, registers := range []int{24, 128} {
				file := filepath.Join(t.TempDir(), "spills.cubin")
				out, err := exec.Command(tk.Tool("nvcc"), "-cubin", "-arch="+arch, "-Xptxas=-v",
					fmt.Sprintf("-maxrregcount=%d", registers), "testdata/spills.cu", "-o", file).CombinedOutput()
				said := spilled.FindSubmatch(out)
				if err != nil || said == nil {
					t.Fatalf("%v\n%s", err, out)
				}
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				f, err := cubin.Parse(data)
				if err != nil {
					t.Fatal(err)
				}
				kernels, err := f.Resources()
				if err != nil || len(kernels) != 1 {
					t.Fatalf("%d kernels, %v", len(kernels), err)
				}
				stores, _ := strconv.Atoi(string(said[1]))
				loads, _ := strconv.Atoi(string(said[2]))
				if kernels[0].Spills != (stores+loads)/4 || (registers == 24 && stores == 0) {
					t.Errorf("%s %s %d registers: %d spills, ptxas says %s", tk.Release(), arch, registers, kernels[0].Spills, said[0])
				}
			}
		}
	}
}
