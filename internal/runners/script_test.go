package runners_test

import (
	"testing"

	"github.com/warpld/warpld/test/kit/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m, scripts.Inspect) }

func TestScripts(t *testing.T) { scripts.Run(t, "testdata/script", nil) }
