package main

import "slices"

// minimize drops items while the rest has what is looked for. First halves are dropped, then
// smaller parts, at last single items, until none can be dropped any more.
func minimize(items []string, persists func([]string) bool) []string {
	for size := max(1, len(items)/2); ; {
		dropped := false
		for at := 0; at < len(items) && len(items) > 1; {
			end := min(at+size, len(items))
			rest := slices.Delete(slices.Clone(items), at, end)
			if len(rest) > 0 && persists(rest) {
				items, dropped = rest, true
			} else {
				at = end
			}
		}
		switch {
		case size > 1:
			size /= 2
		case !dropped:
			return items
		}
	}
}
