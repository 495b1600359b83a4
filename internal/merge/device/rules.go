package device

import (
	"github.com/warpld/warpld/internal/gpu"
)

// A ruleSet is all that depends on the architecture, the release and the options. It is
// computed once; nothing else in the package compares numbers of architectures or
// releases.
type ruleSet struct {
	options Options
	merge   gpu.MergeRules // what differs between releases

	mercury     bool // the program is there twice, see mercury_read.go
	compat      bool // there is a section .nv.compat
	accelerated bool // code for this architecture alone
	// headerFlags is the lowest byte of the flags of a file.
	headerFlags uint32
	// reservedShared is how much shared memory the system takes. Variables don't move.
	reservedShared uint64
	// sharedLimit is how much memory a kernel may have, without what it asks for at launch.
	sharedLimit uint64
	// features are the bits of the first byte that occur for the architecture. A function
	// may lack some, and then its input does.
	features byte
	// asNvlink: the output is to be nvlink's also where that is wrong or larger than it
	// need be.
	asNvlink bool
}

// newRules returns the rules for a link, or an Unsupported error.
func newRules(options Options) (*ruleSet, error) {
	target := options.Arch
	generation := target.Generation()
	switch {
	case !options.Release.MergerCovers():
		return nil, unsupported("", "the toolkit %s", options.Release)
	case options.Verbose && options.Relocatable:
		return nil, unsupported("", "what -v says of this kind of link for %s", target)
	case options.Debug && generation.Mercury:
		return nil, unsupported("", "the option -g for %s", target)
	case options.Relocatable && generation.Mercury:
		return nil, unsupported("", "the option -r for %s", target)
	case !target.MergerCovers():
		return nil, unsupported("", "the architecture %s", target)
	}
	r := &ruleSet{
		options:        options,
		merge:          options.Release.Rules().Merge,
		mercury:        generation.Mercury,
		compat:         generation.Compat,
		accelerated:    target.IsAccelerated(),
		headerFlags:    generation.HeaderFlags,
		reservedShared: generation.ReservedShared,
		//rule: A kernel may have more shared memory for sm_90a.
		//mutate: target -> (gpu.Arch{Number: target.Number})
		sharedLimit: target.SharedLimit(),
		asNvlink:    !options.FixNvlinkBugs && !options.DedupWeakData && !options.Relocatable,
	}
	if row, known := gpu.Find(target.Number); known {
		r.features = row.Features
	}
	return r, nil
}

// DefaultFor reports whether a link uses this merger without being asked to: its
// outputs for the architecture were equal to nvlink's on the whole corpus.
func DefaultFor(a gpu.Arch) bool { return a.MergerIsDefault() }
