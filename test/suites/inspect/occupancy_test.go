//go:build realtools

package inspect

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/report"
	"github.com/warpld/warpld/test/kit"
)

// Occupancy is what the toolkit's header cuda_occupancy.h computes.
func TestOccupancy(t *testing.T) {
	toolkits := kit.Toolkits(t)
	tk := toolkits[len(toolkits)-1]
	oracle := filepath.Join(t.TempDir(), "occupancy")
	if out, err := exec.Command("gcc", "-I"+filepath.Join(tk.Root, "include"), "testdata/occupancy.c",
		"-o", oracle).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var questions strings.Builder
	var mine, asked []string
	for _, target := range []struct{ major, minor, shared int }{
		{7, 5, 64}, {8, 0, 164}, {8, 6, 100}, {8, 7, 164}, {8, 9, 100}, {9, 0, 228}, {10, 0, 228}, {10, 3, 228},
		{11, 0, 228}, {12, 0, 100}, {12, 1, 100},
	} {
		for _, threads := range []int{32, 96, 128, 256, 512, 1024} {
			for _, registers := range []int{0, 8, 24, 32, 33, 40, 64, 96, 128, 168, 255} {
				for _, shared := range []int{0, 1, 400, 4096, 20000, 40000, 49152} {
					name := fmt.Sprintf("sm_%d%d", target.major, target.minor)
					o, ok := report.OccupancyOf(name, threads, registers, uint64(shared))
					if !ok {
						t.Fatalf("the limits of %s are not known", name)
					}
					line := fmt.Sprintf("%d %d %d %d %d %d %d", target.major, target.minor, o.Most*32, target.shared<<10, threads,
						registers, shared)
					fmt.Fprintln(&questions, line)
					asked = append(asked, line)
					mine = append(mine, fmt.Sprint(o.Warps/((threads+31)/32)))
				}
			}
		}
	}
	cmd := exec.Command(oracle)
	cmd.Stdin = strings.NewReader(questions.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Fields(string(out))
	if len(answers) != len(mine) {
		t.Fatalf("%d answers to %d questions", len(answers), len(mine))
	}
	wrong := 0
	for i := range mine {
		if mine[i] != answers[i] {
			if wrong++; wrong <= 10 {
				t.Errorf("%s: %s blocks, the header says %s", asked[i], mine[i], answers[i])
			}
		}
	}
	t.Logf("%d of %d are equal", len(mine)-wrong, len(mine))
}
