package listsort

import (
	"slices"
	"testing"
)

// The order of equal elements is part of the format of outputs.
func TestSort(t *testing.T) {
	never := func(p, q int) bool { return false }
	for _, want := range [][]int{{}, {0}, {0, 2, 1}, {1, 3, 0, 2}, {4, 0, 2, 1, 3}} {
		list := make([]int, len(want))
		for i := range list {
			list[i] = i
		}
		if got := Sort(list, never); !slices.Equal(got, want) {
			t.Errorf("%d elements become %v, want %v", len(want), got, want)
		}
	}
	less := func(p, q int) bool { return p < q }
	if got := Sort([]int{5, 1, 4, 2, 3}, less); !slices.IsSorted(got) {
		t.Errorf("%v is not sorted", got)
	}
}
