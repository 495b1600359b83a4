//go:build realtools

package edits

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shrink makes a failing list of states shorter and plainer as long as it fails. The
// last state is the one whose link is wrong; those before fill the cache.
func shrink(states []state, fails func([]state) bool) []state {
	for size := len(states) / 2; size > 0; size /= 2 {
		for from := 0; from+size < len(states); {
			without := slices.Delete(slices.Clone(states), from, from+size)
			if fails(without) {
				states = without
			} else {
				from += size
			}
		}
	}
	for i := range states[0] {
		plain := make([]state, len(states))
		for n, s := range states {
			plain[n] = slices.Clone(s)
			plain[n][i] = 0
		}
		if !cmp.Equal(plain, states) && fails(plain) {
			states = plain
		}
	}
	return states
}

func TestShrink(t *testing.T) {
	// A link is wrong after dial 1 went from 2 to 3.
	fails := func(states []state) bool {
		seen := false
		for _, s := range states {
			seen = seen || s[1] == 2
		}
		return seen && states[len(states)-1][1] == 3
	}
	states := []state{{0, 0, 0}, {4, 0, 0}, {4, 2, 0}, {4, 2, 1}, {4, 1, 1}, {4, 0, 1}, {4, 3, 1}}
	if diff := cmp.Diff([]state{{0, 2, 0}, {0, 3, 0}}, shrink(states, fails)); diff != "" {
		t.Error(diff)
	}
}
