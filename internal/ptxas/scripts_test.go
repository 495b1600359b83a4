package ptxas_test

import (
	"context"
	"testing"

	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/ptxas"
	"github.com/warpld/warpld/test/kit/scripts"
)

// TestMain makes ptxas a command of warpld.
func TestMain(m *testing.M) {
	scripts.Main(m, func(ctx context.Context, c link.Caller, args []string) int {
		return ptxas.Run(ctx, ptxas.Caller{Streams: c.Streams(), Origin: c.Origin}, args[1:])
	})
}

func TestScripts(t *testing.T) { scripts.Run(t, "testdata/script", nil) }
