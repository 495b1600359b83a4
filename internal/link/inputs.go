package link

import (
	"fmt"
	"path/filepath"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/elf64"
)

// machines are the values of -cpu-arch.
var machines = map[string]elf64.Machine{
	"AARCH64": elf64.AArch64, "ARMv7": elf64.ARM, "PPC64LE": elf64.PPC64,
	"RISCV64": elf64.RISCV, "X86": elf64.I386, "X86_64": elf64.X8664,
}

// inputs returns what the command line names.
func (l *linker) inputs() object.Inputs {
	o := l.options
	return object.Inputs{Files: o.Inputs, Libraries: o.Libraries, LibraryPath: o.LibraryPaths, LTO: o.LTO,
		Machine: machines[o.CPUArch], Release: l.release()}
}

// readInputs reads what the command line names. Every input that is not linked is
// reported: the usual ones (host code, shared libraries) only with --warpld-verbose,
// those that somebody may have expected to be linked always.
func (l *linker) readInputs() ([]*object.Object, error) {
	o, refused := l.options, false
	objects, err := object.ReadAll(l.inputs(), func(m *message.Message) {
		severity, _ := policy(o).Apply(m)
		refused = refused || (severity == message.Error && !m.Extra)
		l.reportReader(m)
	})
	if refused {
		return nil, &message.Message{Severity: message.Fatal, ID: "after-error", Text: "elfLink internal error",
			Notes: []string{"-Werror made an error of a warning, so the link ends here"}}
	}
	for _, obj := range objects {
		if obj.Ignored == "" {
			continue
		}
		text := fmt.Sprintf("'%s' is not linked: %s", obj.Origin, obj.Ignored)
		if obj.Expected {
			l.journal.Verbosef("%s", text)
		} else {
			l.journal.Report(&message.Message{Severity: message.Warning, Extra: true, ID: "input-ignored",
				Origin: obj.Origin, Text: text})
		}
	}
	return objects, err
}

// reportReader reports a message of the reader. A library without device code is the
// rule, because nvcc passes on all that the host needs; one that is nowhere to be
// found is not.
func (l *linker) reportReader(m *message.Message) {
	if m.ID == "library-shared" || (m.ID == "library-missing" && inSystem(m.Origin.File)) {
		l.journal.Verbosef("%s", m.Text)
		return
	}
	l.journal.Report(m)
}

// inSystem reports whether the host's own directories have a library.
func inSystem(name string) bool {
	for _, pattern := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib",
		"/lib/*-linux-*", "/usr/lib/*-linux-*", "/usr/lib/gcc/*/*"} {
		if found, _ := filepath.Glob(pattern + "/lib" + name + ".*"); len(found) > 0 {
			return true
		}
	}
	return false
}
