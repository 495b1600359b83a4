package options

// A row describes one option.
type row struct {
	long  string // after two dashes
	short string // after one dash, or empty if there is no short form
	// field is where the value goes, and its type is the grammar of the value:
	//
	//	*bool           none: the option is a flag
	//	**bool          true or false
	//	*string         any text, or one of allowed
	//	*int, **int     a 32-bit number, or one of allowed
	//	*float64        a share, from 0 to 1
	//	*time.Duration  a number of seconds
	//	*[]string       a list with commas; every use of the option adds to it
	//	*Target         one of allowed
	field   func(*Options) any
	value   string   // what help calls the value
	allowed []string // nil: any value
	initial string   // the default, or empty for the zero value of the field
	bare    string   // the value if none follows, or empty if one must follow
	joined  bool     // the value may follow the short name without a space
	since   string   // the first nvlink that has the option, or empty if 13.0 has it
	group   group
	help    string
}

// A group is a part of the help text.
type group int

const (
	documented group = iota // by nvlink --help
	hidden                  // taken by nvlink, though --help is silent about it
	own                     // warpld's
)

// newOptions returns the defaults of the table.
func newOptions() *Options {
	o := &Options{given: map[string]bool{}}
	for i := range table {
		if r := &table[i]; r.initial != "" {
			if _, err := r.store(o, r.initial); err != nil {
				panic("default of option " + r.long + ": " + err.Error())
			}
		}
	}
	return o
}

// table holds all options, each group sorted by long name.
var table = []row{
	{long: "Ofast-compile", short: "Ofc", field: func(o *Options) any { return &o.FastCompile }, value: "0|min|mid|max",
		bare: "0",
		help: "How far to trade the speed of the device code for a faster compilation: 'min' gives up little, " +
			"'mid' the expensive optimizations, 'max' nearly all of them, '0' nothing. Needs -dlto."},
	{long: "Xnvvm", short: "Xnvvm", field: func(o *Options) any { return &o.xnvvm }, value: "options",
		help: "Options for libnvvm, when it compiles LTO-IR."},
	{long: "Xptxas", short: "Xptxas", field: func(o *Options) any { return &o.xptxas }, value: "options",
		help: "Options for ptxas, when it assembles what was compiled from LTO-IR."},
	{long: "arch", short: "arch", field: func(o *Options) any { return &o.Arch }, value: "gpu architecture name",
		allowed: targetNames(),
		help:    "The architecture to link for, by its 'sm_' name. The 107 family is known since 13.4."},
	{long: "cpu-arch", short: "cpu-arch", field: func(o *Options) any { return &o.CPUArch },
		value:   "cpu architecture name",
		allowed: []string{"AARCH64", "ARMv7", "PPC64LE", "RISCV64", "X86", "X86_64", "unknown"}, initial: "unknown",
		help: "The architecture of the host code. RISCV64 is known since 13.4."},
	{long: "debug", short: "g", field: func(o *Options) any { return &o.Debug },
		help: "The inputs were compiled for debugging."},
	{long: "device-stack-protector", short: "device-stack-protector",
		field: func(o *Options) any { return &o.DeviceStackProtector }, value: "true|false",
		help: "Whether device code checks its stack frames for overwriting. The value cannot be left out."},
	{long: "disable-infos", short: "disable-infos", field: func(o *Options) any { return &o.Messages.NoInfos },
		help: "Print no infos."},
	{long: "disable-warnings", short: "w", field: func(o *Options) any { return &o.Messages.NoWarnings },
		help: "Print no warnings."},
	{long: "dlto", short: "dlto", field: func(o *Options) any { return &o.LTO },
		help: "The same as --link-time-opt."},
	{long: "dump-callgraph", short: "dump-callgraph", field: func(o *Options) any { return &o.DumpCallgraph },
		help: "Print who calls whom."},
	{long: "dump-callgraph-no-demangle", short: "dump-callgraph-no-demangle",
		field: func(o *Options) any { return &o.DumpCallgraphNoDemangle },
		help:  "Print who calls whom, with mangled names."},
	{long: "emit-ptx", short: "emit-ptx", field: func(o *Options) any { return &o.EmitPTX },
		help: "Stop after the compilation of LTO-IR and write its PTX to the output file. Needs -dlto."},
	{long: "extra-warnings", short: "extrawarn", field: func(o *Options) any { return &o.ExtraWarnings },
		help: "Warn of more things that could be wrong."},
	{long: "gen-host-linker-script", short: "ghls", field: func(o *Options) any { return &o.GenHostLinkerScript },
		value:   "host linker script type",
		allowed: []string{"lcs-abs", "lcs-aug"}, bare: "lcs-abs",
		help: "Link nothing; write a script for the host linker, either a complete one (lcs-abs) or an addition to its " +
			"own (lcs-aug)."},
	{long: "help", short: "h", field: func(o *Options) any { return &o.Help },
		help: "Print this text."},
	{long: "ignore-host-info", short: "ignore-host-info", field: func(o *Options) any { return &o.IgnoreHostInfo },
		help: "Keep device code even if no host code in the link refers to it."},
	{long: "keep-system-libraries", short: "keep-system-libraries",
		field: func(o *Options) any { return &o.KeepSystemLibraries },
		help:  "Keep the code of system libraries, such as cudadevrt, even if it is not needed."},
	{long: "kernels-used", short: "kernels-used", field: func(o *Options) any { return &o.KernelsUsed }, value: "kernel",
		help: "The kernels that are needed, by names or parts of names. All others are removed."},
	{long: "library", short: "l", field: func(o *Options) any { return &o.Libraries }, value: "library", joined: true,
		help: "Libraries to link, without 'lib' and '.a'. They are looked for in the directories given by '-L'."},
	{long: "library-path", short: "L", field: func(o *Options) any { return &o.LibraryPaths }, value: "library-path",
		joined: true,
		help:   "Directories in which to look for libraries."},
	{long: "link-as-tools-patch", short: "astoolspatch", field: func(o *Options) any { return &o.ToolsPatch },
		since: "13.4",
		help:  "The inputs were compiled as patches for tools."},
	{long: "link-time-opt", short: "lto", field: func(o *Options) any { return &o.LTO },
		help: "Optimize at link time: compile the LTO-IR of all inputs as one program."},
	{long: "machine", short: "m", field: func(o *Options) any { return &o.Machine }, value: "bits",
		allowed: []string{"64"}, initial: "64", joined: true,
		help: "The size of an address in bits."},
	{long: "maxrregcount", short: "maxrregcount", field: func(o *Options) any { return &o.MaxRegCount }, value: "amount",
		help: "How many registers a thread may use. Only for code compiled from LTO-IR."},
	{long: "nvvmpath", short: "nvvmpath", field: func(o *Options) any { return &o.NVVMPath }, value: "directory",
		help: "The directory with lib64/libnvvm.so in it. Without it the libnvvm of the toolkit in use is taken."},
	{long: "options-file", short: "optf", field: func(o *Options) any { return &o.OptionsFiles }, value: "file",
		help: "Files with more options, read at this place. In them blanks and line ends separate words, double quotes " +
			"group, and a backslash takes the meaning from the next character."},
	{long: "output-file", short: "o", field: func(o *Options) any { return &o.Output }, value: "file name",
		help: "The file to write."},
	{long: "preserve-relocs", short: "preserve-relocs", field: func(o *Options) any { return &o.PreserveRelocs },
		help: "Keep the relocations that were resolved in the linked executable."},
	{long: "register-link-binaries", field: func(o *Options) any { return &o.RegisterLinkBinaries }, value: "file name",
		help: "Also write this file, with the name of the registration routine of each object in the link."},
	{long: "relocatable-link", short: "r", field: func(o *Options) any { return &o.Relocatable },
		help: "Make an object that can be linked again."},
	{long: "report-arch", short: "report-arch", field: func(o *Options) any { return &o.ReportArch },
		help: "Name the target architecture in messages."},
	{long: "split-compile", short: "split-compile", field: func(o *Options) any { return &o.SplitCompile },
		value: "amount", initial: "1",
		help: "How many threads may optimize LTO-IR at once; 0 for one per processor."},
	{long: "split-compile-extended", short: "split-compile-extended",
		field: func(o *Options) any { return &o.SplitCompileExtended }, value: "amount", initial: "1",
		help: "How many threads may compile and assemble LTO-IR at once, as a program cut into parts; 0 for one per " +
			"processor."},
	{long: "suppress-arch-warning", short: "suppress-arch-warning",
		field: func(o *Options) any { return &o.SuppressArchWarning },
		help:  "Do not warn of objects without code for the target architecture."},
	{long: "suppress-debug-info", short: "suppress-debug-info",
		field: func(o *Options) any { return &o.SuppressDebugInfo },
		help:  "Leave debug symbols out of the output. Needs --debug."},
	{long: "suppress-stack-size-warning", short: "suppress-stack-size-warning",
		field: func(o *Options) any { return &o.SuppressStackSizeWarning },
		help:  "Do not warn of kernels whose need of stack cannot be computed."},
	{long: "time", short: "time", field: func(o *Options) any { return &o.TimeFile }, value: "file name",
		help: "Add a table of the time taken by each phase, as comma separated values, to the end of this file; '-' is " +
			"standard output."},
	{long: "uidx-file", short: "uidx", field: func(o *Options) any { return &o.UIDXFile }, value: "file",
		help: "The uidx file."},
	{long: "use-host-info", short: "use-host-info", field: func(o *Options) any { return &o.UseHostInfo },
		help: "Remove device code that no host code in the link refers to. This is the default."},
	{long: "variables-used", short: "variables-used", field: func(o *Options) any { return &o.VariablesUsed },
		value: "variable",
		help: "The variables that are needed, by names or parts of names. Others may be removed unless device code uses " +
			"them."},
	{long: "verbose", short: "v", field: func(o *Options) any { return &o.Verbose },
		help: "Print what each kernel needs of registers and memory."},
	{long: "verbose2", short: "v2", field: func(o *Options) any { return &o.Verbose2 }, since: "13.4",
		help: "Print what --verbose prints, and which step is done on which module."},
	{long: "version", short: "V", field: func(o *Options) any { return &o.Version },
		help: "Print the version."},
	{long: "warning-as-error", short: "Werror", field: func(o *Options) any { return &o.Messages.WarningsAsErrors },
		help: "Treat warnings as errors."},

	{long: "allow-undefined-globals", short: "allow-undefined-globals", group: hidden,
		field: func(o *Options) any { return &o.AllowUndefinedGlobals },
		help:  "Accept variables that no input defines."},
	{long: "cuda-api-version", short: "cuda-api-version", group: hidden,
		field: func(o *Options) any { return &o.CUDAAPIVersion }, value: "major.minor",
		help: "The version of the CUDA interface that the inputs may rely on."},
	{long: "device-stack-protector-frame-size-threshold", short: "device-stack-protector-frame-size-threshold",
		group: hidden,
		field: func(o *Options) any { return &o.DeviceStackProtectorThreshold }, value: "bytes",
		help: "The size from which on stack frames are protected."},
	{long: "disable-smem-reservation", short: "disable-smem-reservation", group: hidden,
		field: func(o *Options) any { return &o.DisableSmemReservation }, value: "true|false",
		help: "Whether the shared memory that is otherwise reserved for the system is left to kernels."},
	{long: "dot-file", short: "dot", group: hidden, field: func(o *Options) any { return &o.DotFile }, value: "file name",
		help: "Also write the call graph, in the language of Graphviz, to this file."},
	{long: "enable-extended-smem", short: "enable-extended-smem", group: hidden,
		field: func(o *Options) any { return &o.EnableExtendedSmem }, value: "true|false",
		help: "Whether kernels may use extended shared memory."},
	{long: "force-partial-lto", short: "force-partial-lto", group: hidden,
		field: func(o *Options) any { return &o.ForcePartial },
		help:  "Compile LTO-IR as a part of a program. Needs -dlto."},
	{long: "force-rela", short: "force-rela", group: hidden, field: func(o *Options) any { return &o.ForceRela },
		help: "Write relocations with addends only."},
	{long: "force-whole-lto", short: "force-whole-lto", group: hidden,
		field: func(o *Options) any { return &o.ForceWhole },
		help:  "Compile LTO-IR as a whole program. Needs -dlto."},
	{long: "host-ccbin", short: "host-ccbin", group: hidden, field: func(o *Options) any { return &o.HostCCBin },
		value: "program",
		help:  "The host compiler that is asked for its linker script."},
	{long: "host-linker-options", short: "Xlinker", group: hidden,
		field: func(o *Options) any { return &o.HostLinkerOptions }, value: "options",
		help: "Options for the host linker that is asked for its linker script."},
	{long: "reserve-null-pointer", short: "reserve-null-pointer", group: hidden,
		field: func(o *Options) any { return &o.ReserveNullPointer },
		help:  "Place nothing at address 0."},
	{long: "shared", short: "shared", group: hidden, field: func(o *Options) any { return &o.Shared },
		help: "The host code becomes a shared library; ask the host linker for the script of one."},
	{long: "syscall-const-offset", short: "syscall-const-offset", group: hidden,
		field: func(o *Options) any { return &o.SyscallConstOffset }, value: "offset",
		help: "Where the constants of system calls begin."},
	{long: "tool-name", short: "tool-name", group: hidden, field: func(o *Options) any { return &o.ToolName },
		value: "name",
		help:  "The name that messages begin with, once the command line has been read."},
	{long: "uumn", short: "uumn", group: hidden, field: func(o *Options) any { return &o.UUMN },
		help: "No effect of it is known."},
	{long: "verbose-tkinfo", short: "verbose-tkinfo", group: hidden,
		field: func(o *Options) any { return &o.VerboseTkinfo }, value: "true|false",
		help: "Whether the tool record in the output names the input and output files."},

	{long: "verbose-keep", short: "vkeep", group: own, field: func(o *Options) any { return &o.Own.VerboseKeep },
		help: "Keep every intermediate file in a folder named after the output with '.keep' added, and print the commands " +
			"that make them. nvlink once had this option; today it refuses it."},
	{long: "warpld-assemble", short: "warpld-assemble", group: own,
		field: func(o *Options) any { return &o.Own.Assembly.How }, value: "auto|kernels|whole",
		allowed: []string{"auto", "kernels", "whole"}, initial: "whole",
		help: "How ptxas assembles a whole program: 'kernels' in parallel and kernel by kernel, with the same result, and " +
			"as a whole only what can't be composed; 'auto' so if that pays; 'whole' in one run."},
	{long: "warpld-cache", short: "warpld-cache", group: own, field: func(o *Options) any { return &o.Own.Cache },
		value:   "on|off",
		allowed: []string{"on", "off"}, initial: "on",
		help: "Whether results are kept and used again. They lie in WARPLD_CACHE_DIR, or in a folder 'warpld' of the " +
			"user's cache folder."},
	{long: "warpld-cache-limit", short: "warpld-cache-limit", group: own,
		field: func(o *Options) any { return &o.Own.CacheLimit }, value: "megabytes", initial: "10240",
		help: "How large the cache may grow before what was used longest ago is removed."},
	{long: "warpld-cuda", short: "warpld-cuda", group: own, field: func(o *Options) any { return &o.Own.CUDA },
		value: "directory",
		help:  "The CUDA toolkit whose libraries and tools are used."},
	{long: "warpld-dedup-data", short: "warpld-dedup-data", group: own,
		field: func(o *Options) any { return &o.Own.DedupData },
		help: "Let warpld's own merger leave out the copies of weak variables (inline ones, those of templates) that come " +
			"with every object and that nothing uses, except the first. nvlink keeps them."},
	{long: "warpld-engine", short: "warpld-engine", group: own, field: func(o *Options) any { return &o.Own.Engine },
		value:   "engine",
		allowed: []string{"auto", "nvvm", "jitlink", "vendor"}, initial: "auto",
		help: "What compiles LTO-IR: libnvvm, nvJitLink, the vendor's nvlink, or the best of them that is there."},
	{long: "warpld-exact-bytes", short: "warpld-exact-bytes", group: own,
		field: func(o *Options) any { return &o.Own.ExactBytes },
		help: "Make a result of warpld's own merger equal to nvlink's in every byte, also in the record of the tools that " +
			"took part in it, " +
			"which otherwise names warpld, and with --warpld-merge=own also where nvlink breaks the program. It has no " +
			"effect where nvlink merges, which by default is from sm_100 on: that result's record names the files that " +
			"warpld gave it."},
	{long: "warpld-jobs", short: "warpld-jobs", group: own, field: func(o *Options) any { return &o.Own.Jobs },
		value: "number", initial: "0",
		help: "How many tools may run at once; 0 for one per processor. A jobserver of GNU make, memory and other links " +
			"of this user may allow less."},
	{long: "warpld-keep", short: "warpld-keep", group: own, field: func(o *Options) any { return &o.Own.KeepWorkDirs },
		help: "Keep the working directories of the actions and print where they are."},
	{long: "warpld-llvm", short: "warpld-llvm", group: own, field: func(o *Options) any { return &o.Own.LLVM },
		value: "path or version",
		help: "The libLLVM that compiles LLVM bitcode: the file, the directory of an LLVM, or a version such as 22. " +
			"Without it the newest that is installed is taken."},
	{long: "warpld-llvm-options", short: "warpld-llvm-options", group: own,
		field: func(o *Options) any { return &o.Own.LLVMOptions }, value: "options",
		help: "Options for LLVM, when it compiles bitcode, in the form of its own tools: -inline-threshold=500."},
	{long: "warpld-lto", short: "warpld-lto", group: own, field: func(o *Options) any { return &o.Own.LTO },
		value:   "full|thin",
		allowed: []string{"full", "thin"}, initial: "full",
		help: "How LLVM bitcode is optimized: all of it as one module, or each module by itself with what it needs of " +
			"others (ThinLTO)."},
	{long: "warpld-map", short: "warpld-map", group: own, field: func(o *Options) any { return &o.Own.Map },
		value: "file or folder",
		help: "Write a map of the output: its sections, and in each the symbols, their sizes and the inputs that they are " +
			"from; " +
			"then what of the inputs was removed, and why. To know the symbols of LTO-IR each module is compiled once more " +
			"by itself; the cache keeps that."},
	{long: "warpld-memory-limit", short: "warpld-memory-limit", group: own,
		field: func(o *Options) any { return &o.Own.MemoryLimit }, value: "megabytes",
		help: "How much memory the library that compiles LTO-IR may take; 0 for as much as it likes. Without the option " +
			"it is 2 GB, 64 MB for each processor and a thousand times the size of the LTO-IR: much more than programs need."},
	{long: "warpld-merge", short: "warpld-merge", group: own, field: func(o *Options) any { return &o.Own.Merge },
		value:   "merger",
		allowed: []string{"auto", "own", "vendor"}, initial: "auto",
		help: "What merges relocatable device code: warpld's own merger, the vendor's nvlink, or the first wherever it is " +
			"proven to give what nvlink gives."},
	{long: "warpld-mode", short: "warpld-mode", group: own, field: func(o *Options) any { return &o.Own.Mode },
		value:   "exact|fast",
		allowed: []string{"exact", "fast"}, initial: "exact",
		help: "What is promised: 'exact' makes nvlink's code and data. 'fast' optimizes each kernel over the whole " +
			"program, too, but cuts the program " +
			"into slices that are compiled at once and, after an edit, only where something changed; kernels may need a few " +
			"more registers."},
	{long: "warpld-print-removed", short: "warpld-print-removed", group: own,
		field: func(o *Options) any { return &o.Own.PrintRemoved },
		help: "Print which kernels, variables and functions of the inputs are not in the output, and why. To know the " +
			"symbols of LTO-IR each module is compiled once more by itself; the cache keeps that."},
	{long: "warpld-progress", short: "warpld-progress", group: own,
		field: func(o *Options) any { return &o.Own.Progress }, value: "auto|off|plain|json",
		allowed: []string{"auto", "off", "plain", "json"}, initial: "auto",
		help: "How links that take more than a second show how far they are: 'auto' by a line on the terminal, and not at " +
			"all if there is none; 'plain' by lines of text, 'json' by events, both on the error stream."},
	{long: "warpld-record", short: "warpld-record", group: own, field: func(o *Options) any { return &o.Own.Record },
		value: "file or folder",
		help: "Write what went in, what was decided and why, what was run and what came out, as JSON. " +
			"In a folder that exists, each link gets a file of its own. 'warpld explain' and 'warpld diff' read it."},
	{long: "warpld-remarks", short: "warpld-remarks", group: own, field: func(o *Options) any { return &o.Own.Remarks },
		value: "file name",
		help: "Also write this file, with what LLVM says about the optimization of bitcode: which calls were inlined or " +
			"resolved, which were not, and why; and what ptxas spilled."},
	{long: "warpld-remote", short: "warpld-remote", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Execute }, value: "address",
		help: "A server of the Remote Execution API whose machines run what is worth it, beside this one, and whose cache " +
			"is used: grpc://HOST:PORT/INSTANCE, with TLS grpcs://HOST:PORT/INSTANCE, or unix:PATH. With " +
			"--warpld-remote-cache, that is the cache."},
	{long: "warpld-remote-ca", short: "warpld-remote-ca", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Authorities }, value: "file",
		help: "The certificates that the server's must be signed by, in place of the system's."},
	{long: "warpld-remote-cache", short: "warpld-remote-cache", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Cache }, value: "address",
		help: "A cache that is shared with others, behind the one of this machine: a server of the Remote Execution " +
			"API, as grpc://HOST:PORT/INSTANCE or, with TLS, grpcs://HOST:PORT/INSTANCE."},
	{long: "warpld-remote-cert", short: "warpld-remote-cert", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Certificate }, value: "file",
		help: "The certificate that tells the server who this is. Needs --warpld-remote-key."},
	{long: "warpld-remote-header", short: "warpld-remote-header", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Headers }, value: "name=value",
		help: "Headers that are sent to the server; 'name=@file' takes the value from a file, which others can't see."},
	{long: "warpld-remote-helper", short: "warpld-remote-helper", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Helper }, value: "program",
		help: "A credential helper like Bazel's, which is asked for the headers that tell the server who this is."},
	{long: "warpld-remote-keep", short: "warpld-remote-keep", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Keep }, value: "seconds", initial: "60",
		help: "How long the process that holds the connection to the server stays after the last link, for the next " +
			"one; 0 ends it with the link."},
	{long: "warpld-remote-key", short: "warpld-remote-key", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Key }, value: "file",
		help: "The key of --warpld-remote-cert."},
	{long: "warpld-remote-platform", short: "warpld-remote-platform", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Platform }, value: "name=value",
		help: "Properties that the server's machines must have."},
	{long: "warpld-remote-token", short: "warpld-remote-token", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Token }, value: "file",
		help: "A file that holds a bearer token for the server."},
	{long: "warpld-remote-tool", short: "warpld-remote-tool", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Tools }, value: "name=path",
		help: "Tools (warpld, ptxas, nvlink) that the server's machines have, so that they are not sent there. Only " +
			"machines are asked whose property 'tool-NAME' is the SHA-256 of the tool of this machine."},
	{long: "warpld-remote-upload", short: "warpld-remote-upload", group: own,
		field: func(o *Options) any { return &o.Own.Remote.Upload },
		help:  "Store results that are made here in the shared cache."},
	{long: "warpld-reproduce", short: "warpld-reproduce", group: own,
		field: func(o *Options) any { return &o.Own.Reproduce }, value: "file or folder",
		help: "Also pack the link into this file: inputs, options and the versions of the tools, but not the toolkit. " +
			"'warpld replay' runs it again, anywhere. In a folder that exists, each link gets a file of its own."},
	{long: "warpld-slice-size", short: "warpld-slice-size", group: own,
		field: func(o *Options) any { return &o.Own.SliceSize }, value: "kilobytes", initial: "128",
		help: "How much code a slice of --warpld-mode=fast has, roughly; 0 for one kernel in each, whatever that costs."},
	{long: "warpld-slow-kernel", short: "warpld-slow-kernel", group: own,
		field: func(o *Options) any { return &o.Own.Assembly.Slow }, value: "seconds", initial: "0",
		help: "Name the kernels for which ptxas takes so long, and their share of its time, if the program is assembled " +
			"kernel by kernel; 0 for none."},
	{long: "warpld-strict", short: "warpld-strict", group: own, field: func(o *Options) any { return &o.Own.Strict },
		help: "Make errors of the warnings that nvlink does not have: about inputs that take no part in the link, " +
			"about code that is removed because the host does not name it, and about a result without code."},
	{long: "warpld-temp-dir", short: "warpld-temp-dir", group: own, field: func(o *Options) any { return &o.Own.TempDir },
		value: "directory",
		help:  "Where the working directories of the actions are made."},
	{long: "warpld-time-limit", short: "warpld-time-limit", group: own,
		field: func(o *Options) any { return &o.Own.TimeLimit }, value: "seconds", initial: "0",
		help: "How long one run of a tool may take; 0 for as long as it likes."},
	{long: "warpld-trace", short: "warpld-trace", group: own, field: func(o *Options) any { return &o.Own.Trace },
		value: "file or folder",
		help:  "Write a time line of the link that Perfetto and Chrome can show."},
	{long: "warpld-verbose", short: "warpld-verbose", group: own, field: func(o *Options) any { return &o.Own.Verbose },
		help: "Print what is done, and why."},
	{long: "warpld-verify", short: "warpld-verify", group: own,
		field: func(o *Options) any { return &o.Own.Assembly.Verify }, value: "share", initial: "0",
		help: "The share of programs, from 0 to 1, that are assembled as a whole as well if they are assembled kernel by " +
			"kernel. A difference is reported and packed into a file beside the output, and ptxas's result is used."},
	{long: "warpld-version", short: "warpld-version", group: own, field: func(o *Options) any { return &o.Own.Version },
		help: "Print the version of warpld. --version prints that of the toolkit's nvlink, on which build systems rely."},
	{long: "warpld-why-live", short: "warpld-why-live", group: own, field: func(o *Options) any { return &o.Own.WhyLive },
		value: "symbol",
		help: "Print why symbols are in the output: who uses each, and so on up to the host code or the option that names " +
			"the first one. " +
			"A symbol is given by its name, mangled or not, or by a pattern in which '*' stands for any text, as for commas."},
}
