package options

import (
	"slices"
	"strings"
)

// A given is an option with its value as it was given, or an input, which has no row.
type given struct {
	row   *row
	value string
}

// Places are the names that files have elsewhere.
type Places struct {
	Input  func(path string) string
	Folder func(place int) string // of Options.LibraryPaths
	Output func(option string) string
}

// What Portable does with options that are not the same everywhere. Of warpld's own it keeps
// only those that the result depends on.
var (
	portableOwn = []string{"warpld-assemble", "warpld-dedup-data", "warpld-engine", "warpld-exact-bytes",
		"warpld-llvm-options", "warpld-lto", "warpld-memory-limit", "warpld-merge",
		"warpld-mode", "warpld-slice-size", "warpld-strict", "warpld-time-limit", "warpld-verbose"}
	leftOut     = []string{"host-ccbin", "host-linker-options", "nvvmpath", "options-file", "output-file"}
	outputs     = []string{"dot-file", "register-link-binaries", "time", "uidx-file"}
	makesNoLink = []string{"gen-host-linker-script", "help", "version"}
	forTools    = []string{"Xnvvm", "Xptxas", "warpld-llvm-options"}
)

// Portable returns the words of a command line that means the same with the files at other
// paths: with the words of @files and options files instead of these, without -o, and without
// what belongs to this machine. If the paths are the same, it returns its own result again.
func (o *Options) Portable(p Places) ([]string, error) {
	var words []string
	folders := 0
	for i, w := range o.words {
		switch {
		case w.row == nil:
			words = append(words, p.Input(w.value))
		case slices.Contains(makesNoLink, w.row.long):
			return nil, notPortable("'--%s' makes no link that could be run elsewhere", w.row.long)
		case slices.Contains(forTools, w.row.long) && strings.Contains(w.value, "/"):
			return nil, notPortable("'--%s=%s' may name a file, which could not be found elsewhere", w.row.long, w.value)
		case w.row.long == "library-path":
			items, _ := splitList(w.value) // it was read without error before
			for range items {
				words = append(words, "--library-path="+p.Folder(folders))
				folders++
			}
		case slices.Contains(outputs, w.row.long) && w.value != "-":
			words = append(words, "--"+w.row.long+"="+p.Output(w.row.long))
		case slices.Contains(leftOut, w.row.long), w.row.group == own && !slices.Contains(portableOwn, w.row.long),
			w.overridden(o.words[i+1:]):
		default:
			words = append(words, w.text())
		}
	}
	return words, nil
}

// overridden reports whether a later word overrides one of warpld's own options, which are
// read from the environment and from the command line.
func (w given) overridden(later []given) bool {
	if _, isList := w.row.field(&Options{}).(*[]string); isList || w.row.group != own {
		return false
	}
	return slices.ContainsFunc(later, func(l given) bool { return l.row == w.row })
}

func (w given) text() string {
	if _, isFlag := w.row.field(&Options{}).(*bool); isFlag {
		return "--" + w.row.long
	}
	return "--" + w.row.long + "=" + w.value
}

func notPortable(format string, args ...any) error {
	m := fatal("not-portable", format, args...)
	m.Hint = "leave that option or --warpld-reproduce out"
	return m
}
