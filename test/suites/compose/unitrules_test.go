//go:build realtools

package compose

import (
	"os"
	"regexp"
	"testing"

	"github.com/warpld/warpld/test/kit"
	"github.com/warpld/warpld/test/kit/mutate"
)

// TestUnitRules takes away one rule at a time: a test of the package must fail.
// WARPLD_TEST_COMPOSE_RULES is a regular expression for texts of rules; without it a run
// takes one rule in five, others with another WARPLD_TEST_SEED.
func TestUnitRules(t *testing.T) {
	wanted, given := os.LookupEnv("WARPLD_TEST_COMPOSE_RULES")
	text := regexp.MustCompile(wanted)
	seed := kit.Number(t, "WARPLD_TEST_SEED", 0)
	for i, r := range unitRules(t) {
		if !text.MatchString(r.Text) || (!given && (i+seed)%5 != 0) {
			continue
		}
		t.Run(r.Text, func(t *testing.T) {
			by, err := r.FailedTest(t.TempDir(), mutate.Trial{Folder: unitsFolder,
				Arguments: []string{"-test.failfast", "-test.timeout=1m"}})
			if err != nil {
				t.Fatal(err)
			}
			if by == "" {
				t.Error("no test fails without this rule")
			}
		})
	}
}
