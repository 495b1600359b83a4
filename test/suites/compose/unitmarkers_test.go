package compose

import (
	"testing"

	"github.com/warpld/warpld/test/kit/mutate"
)

// unitsFolder is the package whose rules these are.
const unitsFolder = "../../../internal/compose/units"

// unitRules returns the rules that are marked in the source of the package.
func unitRules(t *testing.T) []mutate.Rule {
	t.Helper()
	rules, err := mutate.Read(unitsFolder)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) == 0 {
		t.Fatalf("%s: no rules", unitsFolder)
	}
	return rules
}

// TestUnitMarkers: every rule can be taken away, and the package compiles without it.
func TestUnitMarkers(t *testing.T) {
	if err := mutate.Check(unitsFolder, unitRules(t)); err != nil {
		t.Error(err)
	}
}
