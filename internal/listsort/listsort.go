// Package listsort sorts as the linked lists of NVIDIA's tools do. The sort is not stable, so
// the order of equal elements, which is part of the outputs, follows from exactly this
// algorithm.
package listsort

// Sort returns the list in order. Elements are dealt to two stacks in turn, from the last one;
// both stacks are sorted and merged. before decides which of two elements the merge takes
// first.
func Sort[T any](list []T, before func(p, q T) bool) []T {
	if len(list) < 2 {
		return list
	}
	var p, q []T
	for i := len(list) - 1; i >= 0; i-- {
		if (len(list)-i)%2 == 1 {
			q = append(q, list[i])
		} else {
			p = append(p, list[i])
		}
	}
	p, q = Sort(p, before), Sort(q, before)
	out := make([]T, 0, len(list))
	for len(p) > 0 && len(q) > 0 {
		if before(p[0], q[0]) {
			out, p = append(out, p[0]), p[1:]
		} else {
			out, q = append(out, q[0]), q[1:]
		}
	}
	return append(append(out, p...), q...)
}
