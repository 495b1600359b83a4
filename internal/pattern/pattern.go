// Package pattern has regular expressions that are compiled when they are first used: a link
// needs few of them, and compiling all takes a tenth of the time of a small link.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles the expression when it is first called.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
