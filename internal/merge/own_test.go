package merge

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/objecttest"
)

var parts = []Part{{Origin: "dir/a.o", Form: Carried}, {Origin: `lib "x".a:b.o`, Form: Cubin}}

var ownSettings = Settings{Options: device.Options{Arch: gpu.Arch{Number: 80}, Release: gpu.Release{Major: 13},
	Record: cubin.Tool{Name: "warpld"}, FixNvlinkBugs: true}}

func TestMergersSeeTheSame(t *testing.T) {
	vendor := Vendor("/cuda/nvlink").Action(parts, []string{"-arch=sm_80"})
	own := Own("/bin/warpld", ownSettings).Action(parts, []string{"-arch=sm_80"})
	if diff := cmp.Diff(vendor.Args, own.Args[len(own.Args)-len(vendor.Args):]); diff != "" {
		t.Errorf("the arguments differ:\n%s", diff)
	}
	for i := range vendor.Inputs {
		if vendor.Inputs[i].Name != own.Inputs[i].Name {
			t.Errorf("input %d is %s and %s", i, vendor.Inputs[i].Name, own.Inputs[i].Name)
		}
	}
	want := "worker merge -toolkit=130 -record= -record=warpld -record= -record= -record= -mend"
	if got := strings.Join(own.Args[:len(own.Args)-len(vendor.Args)], " "); got != want {
		t.Errorf("the first arguments are %s, want %s", got, want)
	}
}

func answered(a Answer) *action.Result {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return &action.Result{Outputs: map[string]action.Content{
		AnswerFile: action.Bytes(text), outputFile: action.Bytes(objecttest.Cubin(objecttest.CubinFile{Arch: 80,
			Linked: true})), registerFile: action.Bytes([]byte(Registration([]string{"_1"})))}}
}

func TestParseOwnResult(t *testing.T) {
	out, err := ParseOwnResult(parts, answered(Answer{Messages: message.List{{Severity: message.Warning,
		Text: "in part-00001.cubin", Notes: []string{"part-00000.o"}}},
		Removed: []device.Removal{{Symbol: "f", From: "part-00000.o"}}}))
	if err != nil {
		t.Fatal(err)
	}
	if m := out.Said[0]; m.Text != `in lib "x".a:b.o` || m.Notes[0] != "dir/a.o" || out.Removed[0].From != "dir/a.o" ||
		out.Registered[0] != "_1" {
		t.Errorf("the outcome is %+v, its message %+v", out, m)
	}
	if _, err := ParseOwnResult(parts, answered(Answer{Failed: true,
		Messages: message.List{{Severity: message.Error, Text: "'part-00000.o'"}}})); err == nil ||
		err.Error() != "'dir/a.o'" {
		t.Errorf("a failed merge: %v", err)
	}
	var unknown *NotCovered
	for _, r := range []*action.Result{answered(Answer{NotCovered: "x of part-00000.o"}), {Signal: "killed"},
		{TimedOut: true}, {ExitCode: 1, Stderr: []byte("usage")}} {
		if _, err := ParseOwnResult(parts, r); !errors.As(err, &unknown) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestExplain(t *testing.T) {
	vendor := message.List{{Severity: message.Error, ID: "tool", Text: "x"}, {Severity: message.Fatal, ID: "tool",
		Text: "merge_elf failed"}}
	Explain(vendor, message.List{{Severity: message.Warning, Text: "x", ID: "other"}, {Severity: message.Error,
		Text: "x", ID: "own", Symbol: "f", Notes: []string{"why"}}})
	if m := vendor[0]; m.ID != "own" || m.Symbol != "f" || len(m.Notes) != 1 || m.Text != "x" || vendor[1].ID != "tool" {
		t.Errorf("explained: %+v, %+v", vendor[0], vendor[1])
	}
	Explain(vendor, &NotCovered{"x"})
	if vendor[0].ID != "own" {
		t.Errorf("what is not covered explains %+v", vendor[0])
	}
}
