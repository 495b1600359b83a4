package options

import (
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/message"
)

// rustName is the program that rustc calls to link for nvptx64-nvidia-cuda.
const rustName = "llvm-bitcode-linker"

// FromRust translates a command line of rustc's linker to nvlink's. rustc expects PTX, and
// passes the symbols that others may name.
func FromRust(args []string) ([]string, error) {
	out := []string{"-dlto"}
	var exported []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		value := ""
		if rustTakesValue[arg] {
			if i++; i == len(args) {
				return nil, rustUsage(arg + " without a value")
			}
			value = args[i]
		}
		switch {
		case !strings.HasPrefix(arg, "-"), strings.HasPrefix(arg, "--warpld-"):
			out = append(out, arg)
		case arg == "-L":
			out = append(out, arg, value)
		case arg == "-o":
			if out = append(out, arg, value); strings.HasSuffix(value, ".ptx") {
				out = append(out, "-emit-ptx")
			}
		case arg == "--target-cpu":
			out = append(out, "-arch="+value)
		case arg == "--export-symbol":
			exported = append(exported, value)
		case arg == "--target" && value == "nvptx64-nvidia-cuda", arg == "--debug": // lines are always kept
		case arg == "-Os", arg == "-Oz":
			out = append(out, "-Xnvvm=-opt=2")
		case len(arg) == 3 && strings.HasPrefix(arg, "-O"):
			out = append(out, "-Xnvvm=-opt="+arg[2:])
		default:
			return nil, rustUsage(strings.TrimSpace(arg + " " + value))
		}
	}
	if names := strings.Join(exported, ","); names != "" {
		out = append(out, "-kernels-used="+names, "-variables-used="+names)
	}
	return out, nil
}

var rustTakesValue = map[string]bool{"-L": true, "-o": true, "--target": true, "--target-cpu": true,
	"--export-symbol": true}

func rustUsage(what string) error {
	return &message.Message{Severity: message.Fatal, ID: "rust-option",
		Text: fmt.Sprintf("warpld in the place of %s does not take '%s'", rustName, what),
		Hint: "rustc's -C linker=PATH names another linker"}
}
