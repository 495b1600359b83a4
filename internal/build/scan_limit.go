package build

import (
	"fmt"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// What the scan of a sliced link may cost, as processor time of the process that compiles
// some modules. The scan is worth its time if it takes a small part of the link's: usually
// 10 ms for a module and 0.5 s for a megabyte of LTO-IR, a third of what its optimization
// takes. Code that shrinks much when it is optimized takes far more, because the scan
// compiles it unoptimized.
const (
	scanProcess  = time.Second
	scanModule   = 50 * time.Millisecond
	scanMegabyte = time.Second
)

// cpuLimit returns the limit for the scan of some modules. Zero is no limit.
func (s *scanner[T]) cpuLimit(batch []int) time.Duration {
	if !s.limited {
		return 0
	}
	limit := scanProcess + time.Duration(len(batch))*scanModule
	for _, i := range batch {
		limit += time.Duration(float64(s.in.Plan.IR[i].Module.Size) / (1 << 20) * float64(scanMegabyte))
	}
	return limit
}

// tooSlow returns the refusal of a link whose scan has reached the limit, or nil. It is a
// result to keep: the next link of the same program need not try again.
func (s *scanner[T]) tooSlow(batch []int, r *action.Result) error {
	limit := s.cpuLimit(batch)
	if limit == 0 || !r.TimedOut || r.Usage.CPU < limit.Truncate(time.Second)*9/10 {
		return nil // --warpld-time-limit may have ended it
	}
	var names []string
	for _, i := range batch {
		names = append(names, s.modules[i].Origin)
	}
	for _, call := range engine.Calls(r.Stdout) { // the last one that names a module
		if call.Module >= 0 && call.Module < len(batch) {
			names = []string{s.modules[batch[call.Module]].Origin}
		}
	}
	return &message.Message{Severity: message.Info, ID: "not-sliced", Notes: []string{"in " + message.FirstFew(names)},
		Text: fmt.Sprintf("linked without slices: finding the symbols of the program took more than %v of processor time",
			limit.Truncate(time.Second))}
}
