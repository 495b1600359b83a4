//go:build realtools

package modes

import (
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/message"
)

// TestStrict wants every additional warning to be an error under
// --warpld-strict, and no output then.
func TestStrict(t *testing.T) {
	s := settings(t)[0]
	for _, i := range improvements {
		if i.warning == nil {
			continue
		}
		t.Run(i.id, func(t *testing.T) {
			t.Parallel()
			got := s.warpld(t, s.job(t, standard(i.example)), "--warpld-strict")
			if got.Exit != message.ExitErrors || len(got.Files) > 0 {
				t.Errorf("exit code %d and %d files, want %d and none", got.Exit, len(got.Files), message.ExitErrors)
			}
			asWarning := strings.ReplaceAll(got.Stderr, "nvlink error   : ", "nvlink warning : ")
			if _, said := withoutWarnings("", asWarning); len(said) != 1 || said[0] != i.id || asWarning == got.Stderr {
				t.Errorf("not the error that it should be:\n%s", got.Stderr)
			}
		})
	}
}

// TestNvlinksWay wants --warpld-engine=vendor to give back all that nvlink does,
// where that is the same every time and comes to an end.
func TestNvlinksWay(t *testing.T) {
	s := settings(t)[0]
	for _, i := range improvements {
		// a missing -nvvmpath is added, and -vkeep left out
		if slices.Contains([]string{"endless-loop", "split-order", "split-crash", "nvvmpath", "verbose-keep"}, i.id) {
			continue
		}
		t.Run(i.id, func(t *testing.T) {
			t.Parallel()
			job := s.job(t, standard(i.example))
			want := s.reference(t, job)
			got := s.warpld(t, job, "--warpld-engine=vendor")
			if want.Exit != 0 && want.Files[output] != nil {
				delete(want.Files, output)
				delete(got.Files, output)
			}
			if v := compare(want, got); v.outcome == different {
				t.Errorf("nvlink %s\n%s", strings.Join(job.Args, " "), strings.Join(v.differences, "\n"))
			}
		})
	}
}
