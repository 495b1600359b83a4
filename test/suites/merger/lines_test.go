//go:build realtools

package merger

import (
	"strings"
	"testing"
)

// TestLinesOfDiscarded links a weak function with debug information that loses against one
// without: its lines have no relocations, as if its input had none for it.
func TestLinesOfDiscarded(t *testing.T) {
	forEachSetting(t, func(t *testing.T, s setting) {
		built := s.buildAll(t, strings.Fields("equal_constants2 w1 barriers2 weak1 g.weak4"))
		for _, line := range []string{"weak1 g.weak4", "equal_constants2 w1 barriers2 weak1 g.weak4"} {
			names := strings.Fields(line)
			for _, p := range []program{{names: names}, {names: names, options: []string{"-kernels-used=wk1"}},
				{names: names, launched: map[string][]string{"weak1": {"wk1*"}}}} {
				t.Run(p.String(), func(t *testing.T) { s.compare(t, p, built) })
			}
		}
	})
}
