package options

import (
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/message"
)

// A Translation translates the command line of another linker to nvlink's.
type Translation func(args []string) ([]string, error)

// StandIn returns the translation for a linker that warpld can be started in place of, by the
// linker's name, or nil for another name.
func StandIn(name string) Translation {
	return map[string]Translation{clangName: FromClang, rustName: FromRust}[name]
}

// clangName is the program that clang runs to link device code. It is part of LLVM, but clang
// runs any program of that name.
const clangName = "clang-nvlink-wrapper"

// FromClang translates a command line of clang-nvlink-wrapper to nvlink's. Options for LLVM
// either have an equivalent here or are determined by the bitcode itself.
func FromClang(args []string) ([]string, error) {
	out := []string{"-dlto"}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, value, joined := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		name = strings.TrimPrefix(name, "-")
		if takesValue[name] && !joined {
			if i++; i == len(args) {
				return nil, clangUsage(arg + " without a value")
			}
			value = args[i]
		}
		switch {
		case !strings.HasPrefix(arg, "-"), strings.HasPrefix(arg, "-L"), strings.HasPrefix(arg, "-l"):
			out = append(out, arg)
		case name == "o", name == "arch":
			out = append(out, "-"+name, value)
		case name == "cuda-path":
			out = append(out, "--warpld-cuda="+value)
		case name == "mllvm":
			out = append(out, "--warpld-llvm-options="+value)
		case name == "plugin":
		case name == "plugin-opt":
			option, known := pluginOption(value)
			if !known {
				return nil, clangUsage(arg)
			}
			out = append(out, option...)
		case name == "g", name == "r":
			out = append(out, "-"+name)
		case name == "relocatable":
			out = append(out, "-r")
		case name == "v":
			out = append(out, "--warpld-verbose")
		case name == "save-temps":
			out = append(out, "--verbose-keep")
		case strings.HasPrefix(name, "warpld-"), name == "kernels-used", name == "variables-used":
			out = append(out, arg)
		default:
			return nil, clangUsage(arg)
		}
	}
	return out, nil
}

var takesValue = map[string]bool{"o": true, "arch": true, "mllvm": true, "cuda-path": true, "plugin": true,
	"plugin-opt": true}

// pluginOption translates one of those that clang has for linkers' plugins. The target
// is known here, and so is the number of threads.
func pluginOption(option string) (translated []string, known bool) {
	switch {
	case option == "thinlto":
		return []string{"--warpld-lto=thin"}, true
	case len(option) == 2 && option[0] == 'O':
		return []string{"-Xnvvm=-opt=" + option[1:]}, true
	case strings.HasPrefix(option, "-mattr="), strings.HasPrefix(option, "mcpu="), strings.HasPrefix(option, "jobs="),
		strings.HasPrefix(option, "lto-partitions="):
		return nil, true
	}
	return []string{"--warpld-llvm-options=" + option}, strings.HasPrefix(option, "-")
}

func clangUsage(what string) error {
	return &message.Message{Severity: message.Fatal, ID: "clang-option",
		Text: fmt.Sprintf("warpld in the place of %s does not take '%s'", clangName, what),
		Hint: "without warpld in COMPILER_PATH clang takes its own " + clangName}
}
