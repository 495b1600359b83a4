package engine

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
)

// JudgeAssembly reads the result of an assemble action: the cubin, what ptxas
// said, and the error that ends the link if it failed.
func JudgeAssembly(r *action.Result) (cubin action.Content, said []*message.Message, err error) {
	said = toolMessages(string(r.Stdout) + string(r.Stderr))
	if r.OK() {
		return r.Outputs[CubinFile], said, nil
	}
	m := &message.Message{Severity: message.Fatal, ID: "ptxas-failed"}
	switch {
	case r.TimedOut:
		m.Text = "ptxas did not finish within the time limit"
	case r.Signal != "":
		m.Text = fmt.Sprintf("ptxas crashed (%s)", r.Signal)
	// ptxas aborts a text it can't read, but goes on after an error in one kernel;
	// nvlink has different words for the two.
	case len(said) > 0 && said[len(said)-1].Severity == message.Error:
		m.Text = "elfLink JIT compile failed"
	default:
		m.Text = "elfLink fatbinary error"
	}
	return action.Content{}, said, m
}

// toolLine is the head of a message of a CUDA tool: the tool, perhaps a place,
// the severity, a colon.
var toolLine = regexp.MustCompile(`^(ptxas(?: [^;]*;)?) (info|warning|error|fatal) *: (.*)$`)

// toolMessages reads messages back from what ptxas printed. Lines that don't
// begin a message belong to the one before.
func toolMessages(text string) []*message.Message {
	var all []*message.Message
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		part := toolLine.FindStringSubmatch(line)
		if part == nil {
			if len(all) == 0 {
				all = append(all, &message.Message{Severity: message.Info, ID: "ptxas", Tool: "ptxas", Text: line})
			} else {
				all[len(all)-1].Text += "\n" + line
			}
			continue
		}
		// nvlink's own ptxas reads from memory and calls that so.
		tool := strings.Replace(part[1], "ptxas "+PTXFile+",", "ptxas application ptx input,", 1)
		all = append(all, &message.Message{Severity: severities[part[2]], ID: "ptxas", Tool: tool, Text: part[3]})
	}
	return all
}

var severities = map[string]message.Severity{
	"info": message.Info, "warning": message.Warning, "error": message.Error, "fatal": message.Fatal,
}
