package engine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/pattern"
)

// A worker prints on its standard output which call it is about to make and when, because a
// library that crashes leaves no other trace:
//
//	warpld-stage MICROSECONDS CALL [MODULE]

const stagePrefix = "warpld-stage "

var started = time.Now()

// Stage is called by the worker before each call.
func Stage(call string, module ...string) {
	at := strconv.FormatInt(time.Since(started).Microseconds(), 10)
	os.Stdout.WriteString(stagePrefix + strings.Join(append([]string{at, call}, module...), " ") + "\n")
}

// A Call is one that a worker made, or was about to make.
type Call struct {
	Name string
	// Module is the place of the module that it was about, or -1.
	Module int
	// At is when, since the worker started.
	At time.Duration
}

// Calls reads what a worker announced. Standard output of other tools has none.
func Calls(stdout []byte) (calls []Call) {
	for line := range strings.Lines(string(stdout)) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), stagePrefix)
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		if len(words) < 2 {
			continue
		}
		at, err := strconv.ParseUint(words[0], 10, 50)
		if err != nil {
			continue
		}
		c := Call{Name: words[1], Module: -1, At: time.Duration(at) * time.Microsecond}
		if len(words) > 2 {
			if _, err := fmt.Sscanf(words[2], "module-%05d.ir", &c.Module); err != nil {
				c.Module = -1
			}
		}
		calls = append(calls, c)
	}
	return calls
}

var stageLine = pattern.Lazy(stagePrefix + `[0-9]+ \w+(?: \S+)?\n`)

// Printed returns what the library printed on a worker's standard output: that without the
// stages, which may be in the middle of its lines.
func Printed(stdout []byte) string { return stageLine().ReplaceAllString(string(stdout), "") }

// lastStage returns the call that did not return, and the index of the module it was about, or
// -1.
func lastStage(stdout []byte) (call string, module int) {
	calls := Calls(stdout)
	if len(calls) == 0 {
		return "start", -1
	}
	last := calls[len(calls)-1]
	return last.Name, last.Module
}
