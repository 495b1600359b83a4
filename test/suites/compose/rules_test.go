//go:build realtools

package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/warpld/warpld/test/kit/mutate"
)

// rulesPerRun is how many rules a run in CI takes away. WARPLD_TEST_COMPOSE_RULES=all takes away
// each of them, any other value those whose text it matches as a regular expression.
const rulesPerRun = 4

var failedTest = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// caught returns the name of a test that fails without the rule.
func caught(t *testing.T, r *mutate.Rule) string {
	t.Helper()
	overlay, err := r.Overlay(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, suite := range []struct{ folder, run string }{{rulesFolder, "."}, {".", "^TestPrograms$"}} {
		binary := filepath.Join(t.TempDir(), "mutant")
		build := exec.Command("go", "test", "-c", "-vet=off", "-tags=realtools", "-overlay="+overlay, "-o", binary,
			suite.folder)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("without %q: %v\n%s", r.Text, err, out)
		}
		run := exec.Command(binary, "-test.timeout=5m", "-test.run="+suite.run)
		run.Dir = suite.folder
		run.Env = append(os.Environ(), "WARPLD_TEST_COMPOSE_STRICT=1")
		if out, err := run.CombinedOutput(); err != nil {
			names := failedTest.FindAllStringSubmatch(string(out), -1)
			if len(names) == 0 {
				return "a crash"
			}
			return names[len(names)-1][1]
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
