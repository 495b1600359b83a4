package message

import (
	"strings"

	"github.com/warpld/warpld/internal/pattern"
)

// toolLine is the head of a message of a CUDA tool: the tool, perhaps a place,
// the severity, a colon.
var toolLine = pattern.Lazy(`^(nvlink|ptxas(?: [^;]*;)?) (info|warning|error|fatal) *: (.*)$`)

// Parse reads messages back from what a CUDA tool printed. Lines that don't begin
// a message belong to the one before; those before the first are kept as they are.
func Parse(text string) []*Message {
	var all []*Message
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		part := toolLine().FindStringSubmatch(line)
		switch {
		case part != nil:
			m := &Message{ID: "tool", Text: part[3], Tool: part[1]}
			for s, word := range severityWords {
				if word == part[2] {
					m.Severity = Severity(s)
				}
			}
			if m.Tool == "nvlink" {
				m.Tool = "" // its messages are ours
			}
			all = append(all, m)
		case len(all) == 0:
			all = append(all, &Message{ID: "tool", Verbatim: true, Text: line})
		default:
			all[len(all)-1].Text += "\n" + line
		}
	}
	return all
}
