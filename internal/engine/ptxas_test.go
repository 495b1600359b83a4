package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/message"
)

func TestSpills(t *testing.T) {
	remarks, rest := Spills(message.Parse(`ptxas info    : Overriding maximum register limit 256 for 'a' with  32 of maxrregcount option
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    280 bytes stack frame, 280 bytes spill stores, 308 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 280 bytes cumulative stack size
ptxas info    : Compile time = 68.865 ms
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : (C7510) something else
ptxas warning : Used 3 registers too many
`))
	if diff := cmp.Diff([]string{"'a' spills registers to memory: 280 bytes are stored and 308 loaded"},
		remarks); diff != "" {
		t.Error(diff)
	}
	var texts []string
	for _, m := range rest {
		texts = append(texts, m.Text)
	}
	if diff := cmp.Diff([]string{"(C7510) something else", "Used 3 registers too many"}, texts); diff != "" {
		t.Error(diff)
	}
}
