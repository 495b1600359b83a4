package compose

import (
	"testing"

	"github.com/warpld/warpld/test/kit/mutate"
)

// rulesFolder is the package whose rules these are.
const rulesFolder = "../../../internal/compose"

// readRules returns the rules that are marked in the source of the composer.
func readRules(t *testing.T) []mutate.Rule {
	t.Helper()
	rules, err := mutate.Read(rulesFolder)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) == 0 {
		t.Fatalf("%s: no rules", rulesFolder)
	}
	return rules
}

// Every rule can be taken away, and the composer compiles without it.
func TestMarkers(t *testing.T) {
	if err := mutate.Check(rulesFolder, readRules(t)); err != nil {
		t.Error(err)
	}
}
