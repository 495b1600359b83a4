//go:build realtools

package merger

import "testing"

// TestStarted links a program whose host code launches kernels of which one starts
// another: that one stays, and nvlink is not needed to know it.
func TestStarted(t *testing.T) {
	forEachSetting(t, func(t *testing.T, s setting) {
		p := program{names: []string{"cdp", "eq5", "runtime"}, launched: map[string][]string{"cdp": {"_Z6parent*"}, "eq5": {"_Z4eqk6*"}}}
		built := s.buildAll(t, p.names[:2])
		built["runtime"] = s.runtime(t)
		if got := s.own(t, p, built); got.reason != "" {
			t.Fatalf("the merger does not know %s", got.reason)
		}
		s.compare(t, p, built)
	})
}
