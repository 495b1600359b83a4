package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts run warpld, and warpld under the name nvlink, without any toolkit.

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"warpld": main, "nvlink": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			// Nothing of this machine's toolkit may be found.
			for _, name := range []string{"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV", "WARPLD_FLAGS"} {
				env.Setenv(name, "")
			}
			env.Setenv("WARPLD_CACHE_DIR", env.WorkDir+"/cache")
			return os.Mkdir(env.WorkDir+"/empty", 0o777)
		},
	})
}
