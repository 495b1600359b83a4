//go:build realtools

package compose

import (
	"os"
	"regexp"
	"testing"

	"github.com/warpld/warpld/test/kit/mutate"
)

// rulesPerRun is how many rules a run in CI takes away. WARPLD_TEST_COMPOSE_RULES=all takes away
// each of them, any other value those whose text it matches as a regular expression.
const rulesPerRun = 4

// caught returns the name of a test that fails without the rule.
func caught(t *testing.T, r *mutate.Rule) string {
	t.Helper()
	for _, suite := range []struct{ folder, run string }{{rulesFolder, "."}, {".", "^TestPrograms$"}} {
		by, err := r.FailedTest(t.TempDir(), mutate.Trial{Folder: suite.folder, Tags: "realtools",
			Arguments: []string{"-test.timeout=5m", "-test.run=" + suite.run}, Env: []string{"WARPLD_TEST_COMPOSE_STRICT=1"}})
		if err != nil {
			t.Fatal(err)
		}
		if by != "" {
			return by
		}
	}
	return ""
}

// TestRules takes away one rule at a time: a test must fail.
func TestRules(t *testing.T) {
	rules, wanted := readRules(t), os.Getenv("WARPLD_TEST_COMPOSE_RULES")
	step := max(1, len(rules)/rulesPerRun)
	if wanted != "" {
		step = 1
	}
	if wanted == "all" {
		wanted = ""
	}
	text := regexp.MustCompile(wanted)
	if by := caught(t, mutate.Unchanged(&rules[0])); by != "" {
		t.Fatalf("with all rules: %s", by)
	}
	for i := range rules {
		r := &rules[i]
		if i%step != 0 || !text.MatchString(r.Text) {
			continue
		}
		if by := caught(t, r); by == "" {
			t.Errorf("no test fails without this rule: %s", r.Text)
		} else {
			t.Logf("without %q: %s", r.Text, by)
		}
	}
}
