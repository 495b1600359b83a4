package build

import (
	"testing"

	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// What is kept of an attempt is told with the names of the link that asks for it.
func TestReportNames(t *testing.T) {
	modules := []engine.Module{{Origin: "here/a.o"}, {Origin: "lib.a:b.o"}}
	places := byPlace(modules)
	r := fastReport{
		Refused: &message.Message{Text: "linked without slices",
			Notes: []string{"in " + places[0].Origin + ", " + places[1].Origin}},
		Said: []*message.Message{{Text: places[1].Origin + " is large"}},
	}
	r.name(modules)
	if got := r.Refused.Notes[0]; got != "in here/a.o, lib.a:b.o" {
		t.Errorf("the refusal is %s", got)
	}
	if got := r.Said[0].Text; got != "lib.a:b.o is large" {
		t.Errorf("it says that %s", got)
	}
	if modules[0].Origin != "here/a.o" {
		t.Error("the link has lost the names")
	}
}
