package merge

import (
	"testing"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// TestWhatNvlinkSays wants the user's names, nothing about host code that our
// files lack, and the rest line by line as it was.
func TestWhatNvlinkSays(t *testing.T) {
	const rest = "callgraph for sm_80:\n1: ^ka(int *) [24] -> 2\n"
	out, err := ParseResult(parts, &action.Result{
		Stderr: []byte("nvlink info    : Input 'part-00001.cubin' has no host code, " +
			"which could cause later host link error if there is a reference to it\n" +
			rest + "nvlink warning : something in part-00000.o\n"),
		Outputs: map[string]action.Content{outputFile: action.Bytes(objecttest.Cubin(objecttest.CubinFile{Arch: 80,
			Linked: true})), registerFile: action.Bytes([]byte("DEFINE_REGISTER_FUNC(_a)\n"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, m := range out.Said {
		text += message.Style{}.Render(m)
	}
	if want := rest + "nvlink warning : something in dir/a.o\n"; text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
	if len(out.Registered) != 1 || out.Registered[0] != "_a" {
		t.Errorf("registered: %q", out.Registered)
	}
}

// nvlink makes files of gigabytes of damaged cubins, and says that all is well.
func TestUnsoundResult(t *testing.T) {
	_, err := ParseResult(parts, &action.Result{Outputs: map[string]action.Content{outputFile: action.Bytes(
		[]byte("\x7fELF")), registerFile: action.Bytes(nil)}})
	if m := message.Of(err); len(m) != 1 || m[0].ID != "merge-unsound" || m[0].Severity != message.Fatal {
		t.Errorf("a result that is cut off gives %v", err)
	}
}
