//go:build realtools

package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestUnitRules takes away one rule at a time: a test of the package must fail.
// WARPLD_TEST_COMPOSE_RULES is a regular expression for texts of rules; without it a run
// takes one rule in five, others with another WARPLD_TEST_SEED.
func TestUnitRules(t *testing.T) {
	wanted, given := os.LookupEnv("WARPLD_TEST_COMPOSE_RULES")
	text := regexp.MustCompile(wanted)
	seed, _ := strconv.Atoi(os.Getenv("WARPLD_TEST_SEED"))
	for i, r := range unitRules(t) {
		if !text.MatchString(r.Text) || (!given && (i+seed)%5 != 0) {
			continue
		}
		t.Run(r.Text, func(t *testing.T) {
			dir := t.TempDir()
			overlay, err := r.Overlay(dir)
			if err != nil {
				t.Fatal(err)
			}
			binary := filepath.Join(dir, "mutant")
			build := exec.Command("go", "test", "-c", "-vet=off", "-overlay="+overlay, "-o", binary, ".")
			build.Dir = unitsFolder
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			run := exec.Command(binary, "-test.failfast", "-test.timeout=1m")
			run.Dir = unitsFolder
			if out, err := run.CombinedOutput(); err == nil {
				t.Errorf("no test fails without this rule: %s", out)
			}
		})
	}
}
