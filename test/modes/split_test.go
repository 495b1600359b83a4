//go:build realtools

package modes

import (
	"bytes"
	"strings"
	"testing"
)

// splitRuns is how often a program is split: the order in which its parts are
// done is another one nearly every time.
const splitRuns = 20

// TestSplitIsDeterministic wants one result of all runs.
func TestSplitIsDeterministic(t *testing.T) {
	for _, s := range settings(t) {
		if s.arch != "sm_80" {
			continue
		}
		for _, form := range []string{"stored", "default"} {
			t.Run(s.tk.Release()+"/"+form, func(t *testing.T) {
				line := standard(strings.ReplaceAll("LTO FORM/many1.o FORM/many2.o DEVRT -split-compile-extended=2", "FORM", form))
				job := s.job(t, line)
				var first []byte
				for i := range splitRuns {
					got := s.warpld(t, job, "")
					if got.Exit != 0 {
						t.Fatalf("exit code %d\n%s", got.Exit, got.Stderr)
					}
					if i == 0 {
						first = got.Files[output]
					}
					if !bytes.Equal(got.Files[output], first) {
						t.Fatalf("run %d gives another result than the first", i+1)
					}
				}
				if shards := bytes.Count(first, []byte("\x00ptxas\x00")); shards < 10 {
					t.Errorf("only %d parts: the program was not split", shards)
				}
			})
		}
	}
}
