package link_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/test/kit/scripts"
)

// TestMain lets the test binary stand for warpld. Its command 'distribute' is here only
// to call link.Distribute, and 'inspect' to look at results.
func TestMain(m *testing.M) {
	scripts.Main(m, func(ctx context.Context, c link.Caller, args []string) int {
		log := message.NewLog(c.Stderr, message.Style{})
		switch args[0] {
		case "distribute":
			log.Fail(link.Distribute(ctx, c, args[1:]))
		case "inspect":
			log.Fail(inspect(c, args[1]))
		default:
			log.Fail(errors.New("no such command"))
		}
		return log.ExitCode()
	})
}

func TestScripts(t *testing.T) { scripts.Run(t, "testdata/script", nil) }

// inspect prints the kernels of a result.
func inspect(c link.Caller, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := cubin.Parse(data)
	if err != nil {
		return err
	}
	kernels, err := f.Resources()
	for _, k := range kernels {
		fmt.Fprintf(c.Stdout, "kernel %s: %d bytes of code, %d registers\n", k.Kernel, k.Code, k.Registers)
	}
	return err
}
