// Package pattern has regular expressions that are compiled when they are first used:
// a link needs few of them, and to compile all takes a tenth of a small one.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy is regexp.MustCompile at the first call of what it gives.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
