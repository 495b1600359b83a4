package build

import (
	"testing"

	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/toolkit"
)

// TestToolsWithoutPtxas checks that only links that assemble ask for ptxas.
func TestToolsWithoutPtxas(t *testing.T) {
	piece := func(kind object.ModuleKind) []plan.Piece {
		return []plan.Piece{{Module: &object.Module{Kind: kind}}}
	}
	tool := toolkit.File{Path: "library"}
	for name, test := range map[string]struct {
		plan  plan.Plan
		needs bool
	}{
		"a cubin":       {plan.Plan{Native: piece(object.ELF)}, false},
		"PTX":           {plan.Plan{Native: piece(object.PTX)}, true},
		"LTO-IR":        {plan.Plan{IR: piece(object.NVVM)}, true},
		"LTO-IR to PTX": {plan.Plan{IR: piece(object.NVVM), EmitPTX: true}, false},
		"bitcode":       {plan.Plan{Bitcode: piece(object.LLVM)}, true},
	} {
		in := &Input{Options: &options.Options{}, Plan: &test.plan, Toolkit: &toolkit.Toolkit{NVVM: tool}}
		if _, err := newTools(in); (err != nil) != test.needs {
			t.Errorf("%s: %v", name, err)
		}
	}
}
