package engine

import (
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
)

// JudgeAssembly reads the result of an assemble action: the cubin and what ptxas
// said, or all of that with what nvlink adds as the error that ends the link.
func JudgeAssembly(r *action.Result) (cubin action.Content, said []*message.Message, err error) {
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
