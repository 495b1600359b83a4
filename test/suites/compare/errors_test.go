//go:build realtools

package compare

import "testing"

// failing are links that nvlink refuses; its words and exit codes are ours.
var failing = map[string]link{
	"defined twice":           {inputs: objects("a", "b", "dup"), exit: 1},
	"too much shared memory":  {inputs: objects("bigsm", "bigsm2"), exit: 1},
	"undefined":               {inputs: objects("a"), exit: 255, merges: true},
	"undefined in whole mode": {inputs: objects("a"), options: []string{"-force-whole-lto"}, exit: 1},
	"conflicting math":        {inputs: append(objects("w1"), "FORM-fastmath/w2.o"), exit: 1},
	"unknown option":          {inputs: objects("a", "b"), options: []string{"--frobnicate"}, exit: 1},
	"unknown ptxas option":    {inputs: objects("a", "b"), options: []string{"-Xptxas=-bogus"}, exit: 1},
	"unknown nvvm option":     {inputs: objects("a", "b"), options: []string{"-Xnvvm=-bogus"}, exit: 1},
	"both host infos": {inputs: objects("a", "b"), options: []string{"-use-host-info", "-ignore-host-info"},
		exit: 1},
	"both forces": {inputs: objects("a", "b"),
		options: []string{"-force-partial-lto", "-force-whole-lto"}, exit: 1},
	"no such input":  {inputs: objects("a", "b"), options: []string{"nosuch.o"}, exit: 1},
	"virtual target": {inputs: objects("a", "b"), options: []string{"-arch=lto_80"}, exit: 1},
	"unknown target": {inputs: objects("a", "b"), options: []string{"-arch=sm_99"}, exit: 1},
	"bad value":      {inputs: objects("a", "b"), options: []string{"-Ofc=fast"}, exit: 1},
	"native of another target": {inputs: append(objects("a"), "rdc/b.cubin"), options: []string{"-arch=sm_90"},
		exit: 1, merges: true},
}

func TestErrors(t *testing.T) {
	forEachSetting(t, []string{"sm_80", "sm_100"}, func(t *testing.T, s setting) {
		for name, l := range failing {
			t.Run(name, func(t *testing.T) { t.Parallel(); s.compare(t, l) })
		}
	})
}
