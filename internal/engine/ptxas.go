package engine

import (
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
)

// ParseAssemblyResult returns the cubin of an assemble action and the messages of
// ptxas. If ptxas failed, the error holds these messages and the one nvlink adds.
func ParseAssemblyResult(r *action.Result) (cubin action.Content, said []*message.Message, err error) {
	said = message.Parse(string(r.Stdout) + string(r.Stderr))
	for _, m := range said {
		// nvlink's own ptxas reads from memory and calls that so.
		m.Tool = strings.Replace(m.Tool, "ptxas "+PTXFile+",", "ptxas application ptx input,", 1)
	}
	if r.OK() {
		return r.Outputs[CubinFile], said, nil
	}
	m := &message.Message{Severity: message.Fatal, ID: "ptxas-failed"}
	switch ending := r.Ending(); {
	case ending != "":
		m.Text = "ptxas " + ending
	// ptxas aborts a text it can't read, but goes on after an error in one kernel;
	// nvlink has different words for the two.
	case len(said) > 0 && said[len(said)-1].Severity == message.Error:
		m.Text = "elfLink JIT compile failed"
	default:
		m.Text = "elfLink fatbinary error"
	}
	return action.Content{}, nil, append(message.List(said), m)
}

// Resources is ptxas's option to report what functions use. The other option for it reports a
// warning, which may be made an error.
const Resources = "-v"

var (
	resourceLine = pattern.Lazy(
		`^(Overriding maximum register limit|\d+ bytes [gc]mem|Compiling entry function|Function properties for|Used \d+ ` +
			`registers|Compile time)`)
	spillLine = pattern.Lazy(`^Function properties for (\S+)\n.* (\d+) bytes spill stores, (\d+) bytes spill loads`)
)

// Spills converts ptxas's output for Resources to remarks and returns its other messages.
func Spills(said []*message.Message) (remarks []string, rest []*message.Message) {
	for _, m := range said {
		if m.Severity != message.Info || !resourceLine().MatchString(m.Text) {
			rest = append(rest, m)
			continue
		}
		if part := spillLine().FindStringSubmatch(m.Text); part != nil && part[2]+part[3] != "00" {
			remarks = append(remarks, fmt.Sprintf("'%s' spills registers to memory: %s bytes are stored and %s loaded", part[1],
				part[2], part[3]))
		}
	}
	return remarks, rest
}
