// Package options parses nvlink's command line.
//
// One table (table.go) lists the options. The parser, the help text, the manual page and the
// suggestions for mistyped names all read it.
package options

import (
	"time"

	"github.com/warpld/warpld/internal/message"
)

// Options is a parsed command line. Where it specifies nothing and nvlink has no default,
// pointers are nil, strings and lists empty.
type Options struct {
	// Raw is the command line without warpld's own options and with response files expanded:
	// NVIDIA's nvlink would parse it in the same way.
	Raw []string

	Help    bool
	Version bool

	// What is linked, and into what.
	Inputs               []string // in order
	Libraries            []string // names, as after -l
	LibraryPaths         []string
	Output               string
	RegisterLinkBinaries string
	DotFile              string
	TimeFile             string
	UIDXFile             string
	OptionsFiles         []string // already read, their contents are in the other fields

	// The target.
	Arch    Target
	CPUArch string
	Machine int

	// Link-time optimization.
	LTO                           bool // -lto or -dlto
	EmitPTX                       bool
	ForceWhole                    bool
	ForcePartial                  bool
	NVVMPath                      string
	Xnvvm                         []string // final tokens
	Xptxas                        []string // final tokens
	MaxRegCount                   *int
	FastCompile                   string // "0", "min", "mid", "max", or empty if not given
	SplitCompile                  int
	SplitCompileExtended          int
	DeviceStackProtector          *bool
	DeviceStackProtectorThreshold *int
	CUDAAPIVersion                string

	// The link itself.
	Relocatable            bool
	Debug                  bool
	SuppressDebugInfo      bool
	UseHostInfo            bool
	IgnoreHostInfo         bool
	KernelsUsed            []string
	VariablesUsed          []string
	KeepSystemLibraries    bool
	PreserveRelocs         bool
	ForceRela              bool
	ReserveNullPointer     bool
	AllowUndefinedGlobals  bool
	SyscallConstOffset     *int
	EnableExtendedSmem     *bool
	DisableSmemReservation *bool
	VerboseTkinfo          *bool
	UUMN                   bool
	ToolsPatch             bool

	// The script for the host linker, made instead of a link.
	GenHostLinkerScript string // "lcs-abs" or "lcs-aug", or empty if not wanted
	HostCCBin           string
	HostLinkerOptions   []string
	Shared              bool

	// What is printed.
	Messages                 message.Policy
	ExtraWarnings            bool
	SuppressArchWarning      bool
	SuppressStackSizeWarning bool
	ReportArch               bool
	Verbose                  bool
	Verbose2                 bool
	DumpCallgraph            bool
	DumpCallgraphNoDemangle  bool
	ToolName                 string // the name in messages, or empty for nvlink

	Own Own

	// -Xnvvm and -Xptxas before they are cut into tokens.
	xnvvm, xptxas []string
	// strayXnvvm is what is wrong with -Xnvvm, which nvlink finds out only when
	// it compiles.
	strayXnvvm error
	// words are all that was given, whether in the environment, on the command line
	// or in a file.
	words []given
	// given holds the long names that were seen, for checks that distinguish an empty value
	// from none.
	given map[string]bool
}

// Own are warpld's own options.
type Own struct {
	Engine     string // "auto", "nvvm", "jitlink" or "vendor"
	Merge      string // "auto", "own" or "vendor"
	ExactBytes bool   // the tool record is nvlink's too
	DedupData  bool   // weak variables that inputs have in common are in the result once
	Mode       string // "exact" or "fast"
	Assembly   Assembly
	Verbose    bool
	Version    bool          // print warpld's
	Progress   string        // "auto", "off", "plain" or "json"
	Cache      string        // "on" or "off"
	CacheLimit int           // in megabytes
	Jobs       int           // how many tools at once, or 0 for as many as there are processors
	SliceSize  int           // in kilobytes, or 0 for a slice of each kernel
	CUDA       string        // root of the toolkit to use, or empty to search for one
	TimeLimit  time.Duration // for one run of a tool, or 0 for none
	// MemoryLimit is for the library that compiles, in megabytes. 0 is no limit, and nil a
	// limit that is ample for the size of the program.
	MemoryLimit  *int
	TempDir      string
	KeepWorkDirs bool // keep the working directories of the actions
	Strict       bool // warnings that nvlink doesn't have are errors
	// Record and Trace are the files, or directories for the files, that describe the link.
	// They are empty if not wanted.
	Record, Trace string
	Reproduce     string // the file that the link is packed into, or empty
	// PrintRemoved, WhyLive and Map report the fate of the symbols: a list of those that were
	// removed, the chains that keep some, and a file.
	PrintRemoved bool
	WhyLive      []string
	Map          string
	LLVM         string // libLLVM's file, directory or version, or empty to search for one
	LTO          string // "full" or "thin", for bitcode
	Remarks      string // the file for LLVM's remarks, or empty if none are wanted
	// LLVMOptions are for LLVM itself, in the form of its tools.
	LLVMOptions []string
	// VerboseKeep keeps the intermediate files and prints the commands for them.
	VerboseKeep bool
	Remote      Remote
}

// Assembly are the options for the assembly of whole programs.
type Assembly struct {
	How    string        // "auto", "kernels" or "whole"
	Slow   time.Duration // how long a kernel may take until it is named, or 0
	Verify float64       // the share of programs that are assembled as a whole as well
}

// Remote are the options for a server of the Remote Execution API.
type Remote struct {
	Execute     string   // the address of a server that runs actions, or empty
	Platform    []string // NAME=VALUE
	Tools       []string // NAME=PATH
	Cache       string   // the address of a cache, or empty
	Upload      bool     // store results there
	Authorities string   // the files of certificates
	Certificate string
	Key         string
	Token       string   // a file
	Helper      string   // a program
	Headers     []string // NAME=VALUE or NAME=@FILE
	Keep        int      // seconds that warpld-remote stays after the last link
}

// Given reports whether an option was given, by its long name, also with an empty value.
func (o *Options) Given(long string) bool { return o.given[long] }
