package object

import (
	"errors"
	"fmt"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/offload"
)

// fatal returns a message with nvlink's text for a broken input; the notes have the details.
func fatal(id, text string, o message.Origin, cause error) *message.Message {
	m := &message.Message{Severity: message.Fatal, ID: id, Text: text, Origin: o, Cause: cause}
	if cause != nil {
		m.Notes = []string{cause.Error()}
	}
	return m
}

func couldNotOpen(o message.Origin, cause error) *message.Message {
	m := fatal("input-unreadable", fmt.Sprintf("Could not open input file '%s'", o), o, cause)
	if errors.Is(cause, ErrChanged) {
		m.Hint = "let the build finish writing its inputs before it links them"
	}
	return m
}

func couldNotExpand(o message.Origin, cause error) error {
	if errors.Is(cause, ErrObfuscated) {
		return fmt.Errorf("%s: %w", o, cause)
	}
	m := fatal("payload-corrupt", "Uncompress failed", o, cause)
	m.Notes = []string{fmt.Sprintf("in %s: %v", o, cause)}
	m.Hint = "the file is damaged; build it again"
	return m
}

// internalError adds what nvlink prints after the message proper.
func internalError(m *message.Message) message.List {
	return message.List{m, {Severity: message.Fatal, ID: "internal-error", Text: "elfLink internal error",
		Origin: m.Origin}}
}

func noFatbin(o message.Origin, cause error) message.List {
	m := fatal("no-fatbin", fmt.Sprintf("Could not find fatbin in '%s'", o), o, cause)
	m.Hint = "the file is damaged; build it again"
	return internalError(m)
}

func notElf(o message.Origin) *message.Message {
	m := fatal("cubin-not-elf", "cubin not an elf?", o, nil)
	m.Notes = []string{fmt.Sprintf("'%s' is called .cubin but does not hold device code", o)}
	return m
}

func notDeviceElf(o message.Origin) *message.Message {
	m := fatal("cubin-not-device", "cubin not a device elf?", o, nil)
	m.Notes = []string{fmt.Sprintf("'%s' is called .cubin but is an ELF file for a host", o)}
	m.Hint = "call a host object .o"
	return m
}

func wrongFatbin(o message.Origin, cause error) *message.Message {
	m := fatal("fatbin-format", "fatbin wrong format?", o, cause)
	m.Notes = append([]string{fmt.Sprintf("'%s' is not a fat binary", o)}, m.Notes...)
	return m
}

// notPTX returns the message in the words of the release's nvlink.
func notPTX(o message.Origin, release gpu.Release) message.List {
	text := "Binary format for key='0', ident='' is not recognized"
	if release.Rules().RefusesUnknownKind {
		text = "Can't load this binary kind, as it's not recognized"
	}
	return message.List{
		{Severity: message.Error, ID: "ptx-format", Text: text, Origin: o,
			Notes: []string{fmt.Sprintf("'%s' is called .ptx but does not begin with .version, as PTX does", o)}},
		{Severity: message.Fatal, ID: "ptx-format", Text: "elfLink fatbinary error", Origin: o},
	}
}

func needsLTO(o message.Origin) *message.Message {
	m := fatal("nvvm-needs-lto", "should only see nvvm files when -lto", o, nil)
	m.Notes = []string{fmt.Sprintf("'%s' is LTO-IR", o)}
	m.Hint = "link with -dlto"
	return m
}

func unexpectedBitcode(o message.Origin) *message.Message {
	m := fatal("bc-input", "should never see bc files", o, nil)
	m.Notes = []string{fmt.Sprintf("'%s' is LLVM bitcode by its name", o)}
	m.Hint = "bitcode is linked with -dlto"
	return m
}

func wrongBitcode(o message.Origin, cause error) *message.Message {
	m := fatal("bitcode-invalid", fmt.Sprintf("Could not read the bitcode in '%s'", o), o, cause)
	m.Hint = "the file is damaged; build it again"
	if errors.Is(cause, offload.ErrVersion) {
		m.Hint = "the object is of another clang than those that are known here"
	}
	return m
}

func foreignBitcode(o message.Origin, triple string) *message.Message {
	m := fatal("bitcode-triple", fmt.Sprintf("the bitcode in '%s' is for '%s', not for a GPU of NVIDIA's", o, triple), o,
		nil)
	m.Hint = "compile it for nvptx64-nvidia-cuda; host code is no input of a device link"
	return m
}

func wrongNVVM(o message.Origin, cause error) *message.Message {
	m := fatal("nvvm-invalid", "elfLink nvvm error", o, cause)
	m.Notes = []string{fmt.Sprintf("'%s': %v", o, cause)}
	m.Hint = "make LTO-IR with nvcc -ltoir"
	return m
}

func wrongArchive(o message.Origin, cause error) message.List {
	m := fatal("archive-format", "unexpected archive format", o, cause)
	m.Notes = []string{fmt.Sprintf("'%s': %v", o, cause)}
	m.Hint = "the archive is damaged; build it again"
	return internalError(m)
}

// cutArchive is for an archive that lacks its end. nvlink of some
// releases ignores the rest instead.
func cutArchive(o message.Origin, cause error) message.List {
	list := wrongArchive(o, cause)
	list[0].Text = "archive member size exceeds library bounds"
	return list
}

// noThinMember is about a file that a thin archive names.
func noThinMember(o message.Origin, path string, cause error) message.List {
	m := couldNotOpen(message.Origin{File: path}, cause)
	m.Origin = o
	m.Notes = append(m.Notes, fmt.Sprintf("the thin archive '%s' names it", o.File))
	return internalError(m)
}

func severalFatbins(o message.Origin, n int) *message.Message {
	return &message.Message{Severity: message.Info, Extra: true, ID: "several-fatbins", Origin: o,
		Text:  fmt.Sprintf("'%s' holds %d fat binaries, all of which are linked", o, n),
		Notes: []string{"nvlink itself takes only the first and drops the others"}}
}

// libraryMissing has the name of the library for its origin.
func libraryMissing(name string) *message.Message {
	return &message.Message{Severity: message.Warning, Extra: true, ID: "library-missing",
		Origin: message.Origin{File: name},
		Text:   fmt.Sprintf("no lib%s.a found for -l%s", name, name),
		Hint:   "if it has device code, name its folder with -L"}
}

func libraryShared(name, path string) *message.Message {
	return &message.Message{Severity: message.Info, ID: "library-shared", Origin: message.Origin{File: path},
		Text: fmt.Sprintf("-l%s is the shared library '%s', from which no device code is linked", name, path)}
}

func librarySkipped(name, path string, why error) *message.Message {
	return &message.Message{Severity: message.Warning, ID: "library-skipped", Origin: message.Origin{File: path},
		Text:  fmt.Sprintf("Skipping incompatible '%s' when searching for -l%s", path, name),
		Notes: []string{why.Error()}, Cause: why}
}
