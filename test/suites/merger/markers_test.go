package merger

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/test/kit/mutate"
)

// rulesFolder is the package whose rules these are.
const rulesFolder = "../../../internal/merge/device"

// sharedFolder is the package of what the merger and the composer write alike.
const sharedFolder = "../../../internal/object/cubin/layout"

// readRules returns the rules that are marked in the source of the merger.
func readRules(t *testing.T) []mutate.Rule {
	t.Helper()
	return append(rulesOf(t, rulesFolder), rulesOf(t, sharedFolder)...)
}

func rulesOf(t *testing.T, folder string) []mutate.Rule {
	t.Helper()
	rules, err := mutate.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) == 0 {
		t.Fatalf("%s: no rules", folder)
	}
	return rules
}

// Every rule can be taken away, and the merger compiles without it.
func TestMarkers(t *testing.T) {
	for _, folder := range []string{rulesFolder, sharedFolder} {
		if err := mutate.Check(folder, rulesOf(t, folder)); err != nil {
			t.Error(err)
		}
	}
}

// notYet is what the page says of a rule that is newer than the last run of TestRules.
const notYet = "nothing yet"

// rulesPage lists the rules and what caught each.
const rulesPage = "../../../docs/merger-rules.md"

const rulesHead = `# Rules of the merger

What our merger has learnt of nvlink. Each rule is a comment in ` + "`internal/merge/device`" + ` or, if
the composer follows it too, in ` + "`internal/object/cubin/layout`" + `, beside the code that follows it,
together with the mutation of that code that removes the rule (` + "`test/kit/mutate`" + ` documents the
form). TestRules makes each mutant and runs the tests of the package, then those of
` + "`test/suites/merger`" + ` against nvlink's outputs; one of them must fail. The last column names the
first that did, when all rules were removed one after the other.

Written by ` + "`WARPLD_UPDATE_DOCS=1 go test -tags realtools ./test/suites/merger -run TestRules`" + `.

| rule | where | caught by |
|---|---|---|
`

// readRulesPage returns what caught the rules when the page was written.
func readRulesPage(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	caught := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) == 3 {
			caught[cells[0]] = strings.TrimSpace(cells[2])
		}
	}
	return caught
}

func rulesText(rules []mutate.Rule, caught map[string]string) string {
	var b strings.Builder
	b.WriteString(rulesHead)
	for _, r := range rules {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", r.Text, r.File, cmp.Or(caught[r.Text], notYet))
	}
	return b.String()
}

// The page lists the rules that are in the source, and a test for each.
func TestRulesPage(t *testing.T) {
	want := rulesText(readRules(t), readRulesPage(t))
	page, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("WARPLD_UPDATE_DOCS") != "" {
		page = []byte(want)
		if err := os.WriteFile(rulesPage, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff(want, string(page)); diff != "" {
		t.Errorf("%s (-rules +page; WARPLD_UPDATE_DOCS=1 writes it):\n%s", rulesPage, diff)
	}
	if n := strings.Count(want, notYet); n > 0 {
		t.Errorf("%s: %d rules that no test is known to catch", rulesPage, n)
	}
}
