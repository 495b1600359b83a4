package link

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/objecttest"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/toolkit"
)

// fakeTools answers every action at once, as tools do whose outputs nobody looks at.
type fakeTools struct{}

func (fakeTools) Run(_ context.Context, a *action.Action) (*action.Result, error) {
	r := &action.Result{Outputs: map[string]action.Content{}}
	for _, o := range a.Outputs {
		r.Outputs[o] = action.Bytes([]byte(".version 8.5\n.target sm_80\n.address_size 64\n"))
	}
	if a.Label == "compile" || a.Label == "compile-bitcode" {
		text, _ := json.Marshal(engine.Answer{Module: -1, Relocatable: true, LLVM: &engine.LLVMAnswer{Version: "22"}})
		r.Outputs[engine.AnswerFile] = action.Bytes(text)
	}
	return r, nil
}

// TestMixedLink links LTO-IR with LLVM bitcode, where two engines and their assemblies
// end in any order. It is for the race detector.
func TestMixedLink(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return p
	}
	ir := put("a.ltoir", objecttest.LTOIR(80, false))
	bc := put("b.bc", objecttest.Bitcode(objecttest.BitcodeFile{}))
	lib := put("lib.so", []byte("x"))
	for range 20 {
		l := newLinker(Caller{Stdout: io.Discard, Stderr: io.Discard, Self: lib, Env: func(string) string { return "" }, Width: func() int { return 80 }})
		var err error
		if l.options, err = options.Parse([]string{"-dlto", "-arch=sm_80", "-o", filepath.Join(dir, "out"), ir, bc}, "", os.ReadFile, l.hold); err != nil {
			t.Fatal(err)
		}
		l.log.SetPolicy(message.Policy{})
		l.toolkit = &toolkit.Toolkit{NVVM: toolkit.File{Path: lib}, PTXAS: toolkit.File{Path: lib}, NVLink: toolkit.File{Path: lib}, Version: toolkit.Version{Major: 13, Minor: 0}}
		l.llvm = &toolkit.LLVM{File: toolkit.File{Path: lib}, Major: 22}
		if l.objects, err = l.readInputs(); err != nil {
			t.Fatal(err)
		}
		if err = l.makePlan(); err != nil {
			t.Fatal(err)
		}
		b, err := l.newBuild()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.start(); err != nil {
			t.Fatal(err)
		}
		if err := b.graph.Run(context.Background(), fakeTools{}, 4); err == nil {
			t.Error("a merge of no code succeeded")
		}
	}
}
