//go:build realtools

package merger

import (
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/warpld/warpld/test/kit"
	"github.com/warpld/warpld/test/kit/mutate"
)

// mutantVariable marks a run of the tests with a mutant of the merger.
const mutantVariable = "WARPLD_TEST_MERGER_MUTANT"

// notForMutants are tests that don't compare outputs with nvlink's, or take too long.
const notForMutants = "^(TestMutatedInputs|TestRules|TestMarkers|TestRulesPage|TestHostile|" +
	"TestGenerated|TestRandomPrograms|TestLinks)$"

// Targets for which programs are linked without a rule.
const (
	plainTargets   = "sm_80,sm_90"
	mercuryTargets = "sm_100,sm_110"
)

// suites are the tests that a mutant is held against, the quick ones first.
var suites = []struct{ folder, run, skip, targets string }{
	{rulesFolder, ".", "^$", plainTargets},
	{".", ".", notForMutants, plainTargets},
	{".", "^(TestGenerated|TestRandomPrograms)$", "^$", plainTargets},
	{".", ".", notForMutants + "|" + leftToNVLink, mercuryTargets},
}

// leftToNVLink matches tests of programs that the merger leaves to nvlink for Mercury code.
const leftToNVLink = "^(TestStarted|TestRelinkedLayout)$"

// ofMercury matches the files of rules that only programs of Mercury code follow.
var ofMercury = regexp.MustCompile(`^mercury_`)

// caught returns the name of the test that fails without the rule: the most exact
// of those that failed first.
func caught(t *testing.T, r *mutate.Rule) string {
	t.Helper()
	for _, suite := range suites {
		if suite.folder == "." && ofMercury.MatchString(r.File) && suite.targets == plainTargets {
			continue
		}
		by, err := r.FailedTest(t.TempDir(), mutate.Trial{Folder: suite.folder, Tags: "realtools",
			Arguments: []string{"-test.failfast", "-test.timeout=5m", "-test.run=" + suite.run, "-test.skip=" + suite.skip},
			Env: []string{mutantVariable + "=1", "WARPLD_TEST_MERGER_ARCHS=" + suite.targets,
				"WARPLD_TEST_MERGER_RANDOM=20"}})
		if err != nil {
			t.Fatal(err)
		}
		if by != "" {
			return by
		}
	}
	return ""
}

// rulesPerRun is how many rules a run in CI takes away; WARPLD_TEST_MERGER_RULES=all
// takes away each of them, and WARPLD_UPDATE_DOCS=1 does and writes down what caught it.
// Any other value of WARPLD_TEST_MERGER_RULES is a regular expression for texts of rules.
const rulesPerRun = 12

// TestRules takes away one rule at a time: a test must fail.
func TestRules(t *testing.T) {
	rules := readRules(t)
	update, wanted := os.Getenv("WARPLD_UPDATE_DOCS") != "", os.Getenv("WARPLD_TEST_MERGER_RULES")
	step := len(rules) / rulesPerRun
	if update || wanted != "" {
		step = 1
	}
	if wanted == "all" {
		wanted = ""
	}
	text, first := regexp.MustCompile(wanted), kit.Number(t, "WARPLD_TEST_MERGER_SEED", 0)%step
	page, mu := readRulesPage(t), sync.Mutex{}
	if by := caught(t, mutate.Unchanged(&rules[0])); by != "" {
		t.Fatalf("with all rules: %s", by)
	}
	t.Run("each", func(t *testing.T) {
		for i := range rules {
			r := &rules[i]
			if i%step != first || !text.MatchString(r.Text) {
				continue
			}
			t.Run(r.Text, func(t *testing.T) {
				t.Parallel()
				by := caught(t, r)
				if by == "" {
					t.Errorf("no test fails without this rule: %s", r.Text)
					return
				}
				t.Logf("without %q: %s", r.Text, by)
				mu.Lock()
				defer mu.Unlock()
				page[r.Text] = "`" + by + "`"
			})
		}
	})
	if update {
		if err := os.WriteFile(rulesPage, []byte(rulesText(rules, page)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
