package command

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/shim"
)

// makeShim makes a directory in which nvcc links with warpld.
func makeShim(_ context.Context, c link.Caller, args []string) error {
	tk, rest, err := findToolkit(c, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 || strings.HasPrefix(rest[0], "-") {
		return usage("shim")
	}
	if err := shim.Make(rest[0], tk, c.Self); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "%s links with warpld and the toolkit in %s\n", shim.NVCC(rest[0]), tk.Root)
	return nil
}

// runBuild replaces this process by the given command, with an environment in which nvcc
// is that of a shim.
func runBuild(_ context.Context, c link.Caller, args []string) error {
	tk, rest, err := findToolkit(c, args)
	if err != nil {
		return err
	}
	if len(rest) < 2 || rest[0] != "--" {
		return usage("run")
	}
	dir, err := shimDirectory(tk.Root, c.Self)
	if err != nil {
		return err
	}
	if err := shim.Make(dir, tk, c.Self); err != nil {
		return err
	}
	return local.Exec(rest[1], rest[1:], shim.Environment(dir, tk, os.Environ()))
}

// shimDirectory returns where the shim of a toolkit is kept. It outlives the command,
// because build systems remember where they found the compiler.
func shimDirectory(root, self string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root + "\x00" + self))
	return filepath.Join(cache, "warpld", fmt.Sprintf("shim-%x", sum[:6])), nil
}

// cutFlag returns the value of --name=value, and reports whether arg has that form.
func cutFlag(arg, name string) (value string, ok bool) {
	return strings.CutPrefix(arg, "--"+name+"=")
}
