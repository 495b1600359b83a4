//go:build realtools

package modes

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const (
	// splitRuns is how often a program is split: the order in which its parts are
	// done is another one nearly every time.
	splitRuns = 20
	// libnvvm's threads get in each other's way about once in forty times, also
	// under nvlink: it crashes, or never ends. Twice in a row, the program is
	// compiled in one piece. That must come out as a message, and may not happen
	// often.
	splitFailures = 3
)

// libraryFailed matches what such a run prints. Once, on a busy machine, the parts of nvJitLink
// 13.4 lacked two functions that other parts call, and the link failed.
var libraryFailed = regexp.MustCompile(
	`(?m)^nvlink fatal   : lib\w+\.so did not finish within the time limit|^warpld info    : .*; the program is ` +
		`compiled without it$|^nvlink error   : Undefined reference to '_Z10helper\w+' in 'lto.cubin'$`)

// TestSplitIsDeterministic wants one result of all runs.
func TestSplitIsDeterministic(t *testing.T) {
	for _, s := range settings(t) {
		if s.arch != "sm_80" { // stored IR with one toolkit, compressed with the other
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			job := s.job(t, standard("LTO FORM/many1.o FORM/many2.o DEVRT -split-compile-extended=2"))
			var first []byte
			failures := 0
			for runs := 0; runs < splitRuns; {
				got := s.warpld(t, job, "--warpld-time-limit=60")
				if libraryFailed.MatchString(got.Stderr) && failures < splitFailures {
					failures++
					continue
				}
				if got.Exit != 0 {
					t.Fatalf("exit code %d\n%s", got.Exit, got.Stderr)
				}
				if runs++; runs == 1 {
					first = got.Files[output]
				}
				if !bytes.Equal(got.Files[output], first) {
					t.Fatalf("run %d gives another result than the first", runs)
				}
			}
			fmt.Printf("%s, %s: %d runs, one result; the library failed in %d more\n", s, s.form(), splitRuns, failures)
			if shards := strings.Count(string(first), "ptxas\x00"); shards < 10 {
				t.Errorf("only %d parts: the program was not split", shards)
			}
		})
	}
}
