package engine

import (
	"fmt"
	"os"
	"strings"
)

// A worker says on its standard output which call it is about to make, because a
// library that crashes leaves nothing else behind.

const stagePrefix = "warpld-stage "

// Stage is called by the worker before each call.
func Stage(call string, module ...string) {
	os.Stdout.WriteString(stagePrefix + strings.Join(append([]string{call}, module...), " ") + "\n")
}

// lastStage gives the call that a worker did not come back from, and the place
// of the module it was about, or -1.
func lastStage(stdout []byte) (call string, module int) {
	call, module = "start", -1
	for line := range strings.Lines(string(stdout)) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), stagePrefix)
		if !ok {
			continue
		}
		call, module = rest, -1
		if name, arg, ok := strings.Cut(rest, " "); ok {
			call = name
			if _, err := fmt.Sscanf(arg, "module-%05d.ir", &module); err != nil {
				module = -1
			}
		}
	}
	return call, module
}
