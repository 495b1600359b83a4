package gate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/warpld/warpld/internal/message"
)

// A Verdict is what a difference means.
type Verdict uint8

// The verdicts.
const (
	Same   Verdict = iota // not beyond the tolerance
	Better                // the baseline should be lowered
	Worse
)

// The differences that are not about a resource.
const (
	Lost = "lost" // the kernel is in the baseline only
	Came = "new"  // the kernel is not in the baseline
)

// A Finding is a difference between a baseline and now.
type Finding struct {
	Kernel, Arch string
	What         string // a resource, Lost or Came
	Before, Now  int
	Detail       string // threads of a block, for occupancy
	Verdict      Verdict
	Line         int // of the kernel in the baseline; 0 for a new one
}

// String returns the finding for people.
func (f Finding) String() string {
	name := message.Demangle(f.Kernel) + " for " + f.Arch
	switch f.What {
	case Lost:
		return name + ": the kernel is gone"
	case Came:
		return name + ": a new kernel, which the baseline does not have"
	case Occupancy:
		return fmt.Sprintf("%s: occupancy with blocks of %s threads: %d %%, before %d %%", name, f.Detail, f.Now, f.Before)
	}
	return fmt.Sprintf("%s: %s: %d, before %d", name, f.What, f.Now, f.Before)
}

// Compare returns the differences between a baseline and what is there now, in the order of
// the kernels. A new kernel is not worse, but should be added to the baseline.
func Compare(baseline, now *Baseline) (list []Finding) {
	have := map[key]*Kernel{}
	for i := range now.Kernels {
		have[key{now.Kernels[i].Name, now.Kernels[i].Arch}] = &now.Kernels[i]
	}
	for i := range baseline.Kernels {
		before := &baseline.Kernels[i]
		at := key{before.Name, before.Arch}
		line := firstKernelLine + i
		k := have[at]
		if k == nil {
			list = append(list, Finding{Kernel: before.Name, Arch: before.Arch, What: Lost, Verdict: Worse, Line: line})
			continue
		}
		delete(have, at)
		for _, f := range baseline.compare(before, k) {
			f.Line = line
			list = append(list, f)
		}
	}
	for i := range now.Kernels {
		if k := &now.Kernels[i]; have[key{k.Name, k.Arch}] != nil {
			list = append(list, Finding{Kernel: k.Name, Arch: k.Arch, What: Came, Verdict: Better})
		}
	}
	return list
}

// compare compares one kernel.
func (b *Baseline) compare(before, now *Kernel) (list []Finding) {
	add := func(what, detail string, old, current int, smallerIsBetter bool) {
		f := Finding{Kernel: now.Name, Arch: now.Arch, What: what, Detail: detail, Before: old, Now: current}
		more := current - old
		if !smallerIsBetter {
			more = -more
		}
		switch tolerance := b.tolerance(what, old); {
		case more > tolerance:
			f.Verdict = Worse
		case more < -tolerance:
			f.Verdict = Better
		default:
			return
		}
		list = append(list, f)
	}
	for _, resource := range Resources {
		if resource != Occupancy {
			add(resource, "", *before.field(resource), *now.field(resource), true)
		}
	}
	for _, threads := range slices.Sorted(maps.Keys(before.Occupancy)) {
		if current, known := now.Occupancy[threads]; known {
			add(Occupancy, threads, before.Occupancy[threads], current, false)
		}
	}
	return list
}

// tolerance returns how much more of a resource is accepted.
func (b *Baseline) tolerance(resource string, old int) int {
	n := b.Tolerances[resource]
	if resource == Code {
		return old / 100 * n
	}
	return n
}

// Count returns how many findings have a verdict.
func Count(list []Finding, v Verdict) (n int) {
	for _, f := range list {
		if f.Verdict == v {
			n++
		}
	}
	return n
}
