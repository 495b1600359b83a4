package gpu

import (
	"cmp"
	"fmt"
	"strings"
)

// ToolkitMajor is the major version of the toolkits whose nvlink warpld replaces.
const ToolkitMajor = 13

// A Release is a version of the CUDA toolkit without its patch number: 13.0. The zero
// Release is unknown.
type Release struct{ Major, Minor int }

// ReleaseNumbered returns the release of a number as cubins record it: 130 is 13.0.
func ReleaseNumbered(number int) Release { return Release{number / 10, number % 10} }

// Number is the form in which cubins record the release: 130 for 13.0.
func (r Release) Number() int { return r.Major*10 + r.Minor }

// String returns the release as people write it: "13.0".
func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// Known reports whether the release is known.
func (r Release) Known() bool { return r.Major != 0 }

// CompareReleases orders releases by age, the oldest first.
func CompareReleases(r, s Release) int {
	return cmp.Or(cmp.Compare(r.Major, s.Major), cmp.Compare(r.Minor, s.Minor))
}

// Before reports whether the release is older than another one.
func (r Release) Before(s Release) bool { return CompareReleases(r, s) < 0 }

// Measured reports whether the rules were measured with the tools of this release. Those
// of another release may behave in ways that the table doesn't know.
func (r Release) Measured() bool { return r.row() != nil && r.row().measured }

// MergerCovers reports whether the rules of warpld's own merger hold for the release.
// They hold only for releases that have a row of their own.
func (r Release) MergerCovers() bool { return r.row() != nil && r.row().merger }

// row returns the row of the release itself, or nil.
func (r Release) row() *releaseRow {
	for i := range releases {
		if releases[i].since == r {
			return &releases[i]
		}
	}
	return nil
}

// Rules returns how the tools of the release behave. A release without a row behaves as
// the last one before it that has a row.
func (r Release) Rules() Rules {
	rules := releases[0].rules
	for i := range releases {
		if !r.Before(releases[i].since) {
			rules = releases[i].rules
		}
	}
	return rules
}

// Rules is how the tools of a release behave, where releases differ.
type Rules struct {
	// DeviceLTO: nvcc can make LTO-IR.
	DeviceLTO bool

	// IgnoresSuffixOfCode: code for the number of the target is linked whatever its suffix.
	IgnoresSuffixOfCode bool
	// CompiledSuffixes and AssembledSuffixes are the suffixes of targets that nvlink passes
	// to libnvvm and to ptxas. It drops others.
	CompiledSuffixes, AssembledSuffixes string

	// RefusesUnknownKind: nvlink's message about a .ptx file that is not PTX says that the
	// kind of the binary is not recognized. Before, it quoted an empty key.
	RefusesUnknownKind bool
	// RefusesCutArchives: an archive that lacks its end is an error. Otherwise the rest is
	// ignored.
	RefusesCutArchives bool
	// ReportsMissingHostCode: nvlink reports device code without a host object in a link
	// that registers its objects.
	ReportsMissingHostCode bool
	// ReadsCompatFirst: nvlink fails on an input without .nv.compat before it compares
	// architectures.
	ReadsCompatFirst bool
	// SplitOptionVotes: -split-compile on the command line must agree with the objects.
	// Otherwise the objects override it.
	SplitOptionVotes bool

	Merge MergeRules
}

// MergeRules are the differences in how cubins are merged.
type MergeRules struct {
	// WeakIsGlobal: weak symbols stand among the global ones of the symbol table.
	// Otherwise they stand among the local ones.
	WeakIsGlobal bool
	// ReversesExternals: the externals of a program with one kernel are listed with the
	// last one first.
	ReversesExternals bool
	// KeepsFeatures: the row of features is in the output also without Mercury.
	KeepsFeatures bool
	// AllFeaturesWithoutCode: a program without code has all features of the architecture.
	AllFeaturesWithoutCode bool
	// MercuryCallGraph: the sections of the call graph exist for Mercury as well.
	MercuryCallGraph bool
	// CountsBarriers: what -v prints for a kernel without a row of barriers is not known.
	CountsBarriers bool
	// AlignsCommonFirst: the common section of shared memory is aligned for dynamic memory
	// before kernels are aligned to it.
	AlignsCommonFirst bool
	// LocalKernelShared: with -g, shared variables of one kernel are local symbols.
	LocalKernelShared bool
	// EmitsOnlyReferencedShared: only shared variables that some code references, live or
	// not, are emitted and visible to others.
	EmitsOnlyReferencedShared bool
	// CountsReplacedReferences: a reference in code that was replaced also makes a shared
	// variable common to kernels.
	CountsReplacedReferences bool
}

// Compiled returns the target as nvlink names it to libnvvm.
func (r Rules) Compiled(target Arch) Arch { return withSuffixes(target, r.CompiledSuffixes) }

// Assembled returns the target as nvlink names it to ptxas.
func (r Rules) Assembled(target Arch) Arch { return withSuffixes(target, r.AssembledSuffixes) }

// withSuffixes returns an architecture without its suffix, unless that is one of a list.
func withSuffixes(a Arch, suffixes string) Arch {
	if !strings.Contains(suffixes, a.Suffix) {
		a.Suffix = ""
	}
	return a
}

// A releaseRow holds from a release on.
type releaseRow struct {
	since    Release
	measured bool // with the tools of exactly this release
	merger   bool // the merger's rules were measured for exactly this release
	rules    Rules
}

const (
	noSuffixes  = ""
	accelerated = AcceleratedSuffix
	allSuffixes = AcceleratedSuffix + FamilySuffix
)

// releases has a row for each release that differs from the one before, in ascending
// order. The first row is for an unknown release.
//
// 13.0 drops suffixes, and later releases pass more and more of them; before 13.0 nothing
// was measured. For no release before 13.4 a program is known that depends on
// EmitsOnlyReferencedShared or CountsReplacedReferences.
var releases = []releaseRow{
	{since: Release{}, rules: Rules{DeviceLTO: true, IgnoresSuffixOfCode: true, CompiledSuffixes: allSuffixes,
		AssembledSuffixes: allSuffixes, Merge: merge130}},
	{since: Release{1, 0}, rules: Rules{IgnoresSuffixOfCode: true, CompiledSuffixes: allSuffixes,
		AssembledSuffixes: allSuffixes, Merge: merge130}},
	{since: Release{11, 2}, rules: Rules{DeviceLTO: true, IgnoresSuffixOfCode: true, CompiledSuffixes: allSuffixes,
		AssembledSuffixes: allSuffixes, Merge: merge130}},
	{since: Release{13, 0}, measured: true, merger: true, rules: Rules{DeviceLTO: true, IgnoresSuffixOfCode: true,
		CompiledSuffixes: noSuffixes, AssembledSuffixes: accelerated, Merge: merge130}},
	{since: Release{13, 1}, measured: true, merger: true, rules: Rules{DeviceLTO: true, RefusesUnknownKind: true,
		CompiledSuffixes: noSuffixes, AssembledSuffixes: accelerated, ReadsCompatFirst: true, SplitOptionVotes: true,
		Merge: merge131}},
	{since: Release{13, 2}, measured: true, merger: true, rules: Rules{DeviceLTO: true, RefusesUnknownKind: true,
		CompiledSuffixes: accelerated, AssembledSuffixes: accelerated, ReadsCompatFirst: true, SplitOptionVotes: true,
		Merge: merge132}},
	{since: Release{13, 3}, measured: true, merger: true, rules: Rules{DeviceLTO: true, RefusesUnknownKind: true,
		CompiledSuffixes: allSuffixes, AssembledSuffixes: allSuffixes, ReportsMissingHostCode: true,
		ReadsCompatFirst: true, SplitOptionVotes: true, Merge: merge133}},
	{since: Release{13, 4}, measured: true, merger: true, rules: Rules{DeviceLTO: true, RefusesUnknownKind: true,
		CompiledSuffixes: allSuffixes, AssembledSuffixes: allSuffixes, RefusesCutArchives: true,
		ReportsMissingHostCode: true, ReadsCompatFirst: true, SplitOptionVotes: true, Merge: merge134}},
}

// The ways to merge that were measured, by the first release that has them.
var (
	merge130 = MergeRules{ReversesExternals: true, CountsReplacedReferences: true}
	merge131 = MergeRules{ReversesExternals: true, CountsReplacedReferences: true, CountsBarriers: true,
		AlignsCommonFirst: true}
	merge132 = MergeRules{KeepsFeatures: true, CountsReplacedReferences: true, CountsBarriers: true,
		AlignsCommonFirst: true}
	merge133 = MergeRules{KeepsFeatures: true, CountsReplacedReferences: true, CountsBarriers: true,
		AlignsCommonFirst: true, AllFeaturesWithoutCode: true}
	merge134 = MergeRules{WeakIsGlobal: true, KeepsFeatures: true, AllFeaturesWithoutCode: true, MercuryCallGraph: true,
		CountsBarriers: true, AlignsCommonFirst: true, LocalKernelShared: true, EmitsOnlyReferencedShared: true}
)
