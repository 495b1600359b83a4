package distribute_test

import (
	"context"
	"testing"

	"github.com/warpld/warpld/internal/distribute"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/test/kit/scripts"
)

// TestMain lets the test binary stand for 'warpld distribute'.
func TestMain(m *testing.M) {
	scripts.Main(m, func(ctx context.Context, c link.Caller, args []string) int {
		log := message.NewLog(c.Stderr, message.Style{})
		log.Fail(distribute.Run(ctx, c.Streams(), c.Self, args[1:]))
		return log.ExitCode()
	})
}

func TestScripts(t *testing.T) { scripts.Run(t, "testdata/script", nil) }
