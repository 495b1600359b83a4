package link

import (
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
)

// TestTimes has a link of three pieces of native code, of which ptxas refuses one,
// and of two shards; the steps end in no particular order.
func TestTimes(t *testing.T) {
	var out strings.Builder
	native := func(file string) plan.Piece {
		return plan.Piece{Object: &object.Object{Origin: message.Origin{File: file}}}
	}
	l := &linker{Caller: Caller{Stdout: &out}, plan: &plan.Plan{Native: []plan.Piece{native("b.o"), native("bad.o"), native("c.o")}}}
	l.options = &options.Options{TimeFile: "-", Arch: options.Target{Kind: options.SM, Arch: gpu.Arch{Number: 80}}}
	b := &build{linker: l}
	b.took(b.timeOfLTO("cicc", "lto.nvvm", "lto.ptx"), time.Millisecond)
	b.tookAssembly(&assembly{piece: &l.plan.Native[2], place: 2}, 2*time.Millisecond, true)
	b.tookAssembly(&assembly{}, 3*time.Millisecond, true)
	b.tookAssembly(&assembly{piece: &l.plan.Native[1], place: 1}, time.Millisecond, false)
	b.tookAssembly(&assembly{piece: &l.plan.Native[0], place: 0}, 1500*time.Microsecond, true)
	b.tookAssembly(&assembly{}, 4*time.Millisecond, false)
	if err := l.writeTimes(); err != nil {
		t.Fatal(err)
	}
	want := timeHeader + `ptx , ptxas , b.o , cubin , sm_80 , nvlink , 1.5000 , ms
ptx , ptxas , c.o , cubin , sm_80 , nvlink , 2.0000 , ms
lto.nvvm , cicc ,  , lto.ptx , sm_80 , nvlink , 1.0000 , ms
lto.ptx , ptxas ,  , lto.cubin , sm_80 , nvlink , 7.0000 , ms
`
	if out.String() != want {
		t.Errorf("the table is\n%swant\n%s", out.String(), want)
	}
}
