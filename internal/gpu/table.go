package gpu

// A Row is what is known about one architecture.
type Row struct {
	Number int
	// Suffixes are the letters that nvlink's -arch takes after the number.
	Suffixes string

	// Family is the number of the first architecture of the family. Code for a member
	// can be linked into code for a later member.
	Family int
	// FamilySince is the first release whose nvlink treats the architecture as a member;
	// before, it links with no other. The zero Release: every release does.
	FamilySince Release

	Generation Generation

	// SharedLimit is how many bytes of shared memory the variables of a kernel may take.
	// AcceleratedSharedLimit holds for the suffix "a", where it is not zero.
	SharedLimit            uint64
	AcceleratedSharedLimit uint64
	// Features are the bits of the first byte of the row of features in .nv.compat that
	// occur in code for the architecture.
	Features byte

	Merger Merger
	// Multiprocessor is nil where the limits are not known.
	Multiprocessor *Multiprocessor
}

// A Generation is what architectures have in common from one number on.
type Generation struct {
	// Mercury: a cubin holds the program twice, as instructions and as Mercury code for
	// the driver's finalizer.
	Mercury bool
	// Compat: a cubin has a section .nv.compat.
	Compat bool
	// HeaderFlags is the lowest byte of e_flags.
	HeaderFlags uint32
	// ReservedShared is how many bytes the system reserves at the start of the shared
	// memory of a block.
	ReservedShared uint64
}

// Merger is how far warpld's own merger goes for an architecture.
type Merger struct {
	Covers  bool   // its rules hold
	Suffix  string // its rules hold for code with this suffix as well
	Default bool   // a link uses it without being asked to
}

// A Multiprocessor has these limits, from the tables of the CUDA C++ Programming Guide
// ("technical specifications per compute capability").
type Multiprocessor struct {
	Warps, Blocks int
	Shared        int // bytes of shared memory
	// SharedUnit is the unit in which blocks get shared memory, and SharedPerBlock what
	// the system takes of it for each block.
	SharedUnit, SharedPerBlock int
}

const (
	kb          = 1024
	sharedLimit = 48 * kb
)

// The generations of architectures.
var (
	turing    = Generation{HeaderFlags: 4}
	hopper    = Generation{HeaderFlags: 4, Compat: true, ReservedShared: kb}
	blackwell = Generation{HeaderFlags: 2, Compat: true, ReservedShared: kb, Mercury: true}
)

// since131 is when nvlink began to treat some architectures as members of a family.
// Between 13.0 and 13.4 no release was measured.
var since131 = Release{13, 1}

// proven is for architectures for which every output of the merger was equal to
// nvlink's, covered for those whose rules are known but which a user must ask for.
var (
	proven  = Merger{Covers: true, Default: true}
	covered = Merger{Covers: true}
)

// multiprocessor returns the limits of architectures since sm_80.
func multiprocessor(warps, blocks, sharedKB int) *Multiprocessor {
	return &Multiprocessor{Warps: warps, Blocks: blocks, Shared: sharedKB * kb, SharedUnit: 128, SharedPerBlock: kb}
}

// table has a row for each architecture, in ascending order.
//
// Some columns have gaps, which were there before the columns stood side by side:
//
//   - sm_107 (known to nvlink since 13.4) is accepted as a target, but the merger does
//     not cover it and its multiprocessor is not documented.
//   - sm_88 has no documented multiprocessor.
//   - Features are measured for sm_100 and sm_120 only; the merger takes the others for
//     architectures without any.
var table = []Row{
	{Number: 75, Family: 75, Generation: turing, SharedLimit: sharedLimit, Merger: proven,
		Multiprocessor: &Multiprocessor{Warps: 32, Blocks: 16, Shared: 64 * kb, SharedUnit: 256}},
	{Number: 80, Family: 80, Generation: turing, SharedLimit: sharedLimit, Merger: proven,
		Multiprocessor: multiprocessor(64, 32, 164)},
	{Number: 86, Family: 80, Generation: turing, SharedLimit: sharedLimit, Merger: proven,
		Multiprocessor: multiprocessor(48, 16, 100)},
	{Number: 87, Family: 80, FamilySince: since131, Generation: turing, SharedLimit: sharedLimit, Merger: proven,
		Multiprocessor: multiprocessor(48, 16, 164)},
	{Number: 88, Family: 80, FamilySince: since131, Generation: turing, SharedLimit: sharedLimit, Merger: proven},
	{Number: 89, Family: 80, Generation: turing, SharedLimit: sharedLimit, Merger: proven,
		Multiprocessor: multiprocessor(48, 24, 100)},
	{Number: 90, Suffixes: "a", Family: 90, Generation: hopper,
		SharedLimit: sharedLimit, AcceleratedSharedLimit: 227 * kb,
		Merger:         Merger{Covers: true, Suffix: AcceleratedSuffix, Default: true},
		Multiprocessor: multiprocessor(64, 32, 228)},
	{Number: 100, Suffixes: "af", Family: 100, Generation: blackwell, SharedLimit: sharedLimit, Features: 0x09,
		Merger: covered, Multiprocessor: multiprocessor(64, 32, 228)},
	{Number: 103, Suffixes: "af", Family: 100, Generation: blackwell, SharedLimit: sharedLimit,
		Merger: covered, Multiprocessor: multiprocessor(64, 32, 228)},
	{Number: 107, Suffixes: "af", Family: 100, FamilySince: since131, Generation: blackwell, SharedLimit: sharedLimit},
	{Number: 110, Suffixes: "af", Family: 110, Generation: blackwell, SharedLimit: sharedLimit,
		Merger: covered, Multiprocessor: multiprocessor(48, 24, 228)},
	{Number: 120, Suffixes: "af", Family: 120, Generation: blackwell, SharedLimit: sharedLimit, Features: 0x50,
		Merger: covered, Multiprocessor: multiprocessor(48, 24, 100)},
	{Number: 121, Suffixes: "af", Family: 120, Generation: blackwell, SharedLimit: sharedLimit,
		Merger: covered, Multiprocessor: multiprocessor(48, 24, 100)},
}
