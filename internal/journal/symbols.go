package journal

import (
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/symbols"
)

// AsksForSymbols reports whether the link was asked what became of symbols. Then their
// references have to be known.
func (j *Journal) AsksForSymbols() bool {
	own := &j.options.Own
	return own.PrintRemoved || len(own.WhyLive) > 0 || own.Map != ""
}

// recordSymbols adds what became of the symbols.
func recordSymbols(r *record.Record, facts *Facts, output []symbols.Place) {
	p := facts.Plan
	of := symbols.Link{Roots: rootsOf(p), Output: output,
		Traced: len(p.Bitcode) == 0 && (facts.Scanned != nil || len(p.IR) == 0)}
	scanned := map[*object.Module][]symbols.Symbol{}
	for i, list := range facts.Scanned {
		scanned[p.IR[i].Module] = list
	}
	var linked []int // indices of the inputs
	for i, piece := range piecesByInput(facts) {
		if piece == nil || plan.IsDeviceRuntime(piece.Object) {
			continue
		}
		list, from, err := symbolsOf(piece, scanned)
		if err != nil {
			// The tools accepted the code, so the link is good. The record shows that we
			// can't read it by listing none of its symbols.
			list, from, of.Traced = nil, "", false
		}
		r.Inputs[i].SymbolsFrom = from
		linked = append(linked, i)
		of.Inputs = append(of.Inputs, symbols.Input{Name: piece.Object.Origin.String(), Symbols: list})
	}
	var uses [][]string
	r.Symbols, uses = of.Explain()
	r.SymbolsTraced = of.Traced
	for i, in := range linked {
		r.Inputs[in].Uses = uses[i]
	}
}

// piecesByInput returns the piece of each input, or nil.
func piecesByInput(facts *Facts) []*plan.Piece {
	places := map[*object.Object]int{}
	for i, obj := range facts.Objects {
		places[obj] = i
	}
	pieces := make([]*plan.Piece, len(facts.Objects))
	for _, list := range [][]plan.Piece{facts.Plan.IR, facts.Plan.Bitcode, facts.Plan.Native} {
		for i := range list {
			pieces[places[list[i].Object]] = &list[i]
		}
	}
	return pieces
}

// symbolsOf returns what a piece defines, and where that is known from.
func symbolsOf(piece *plan.Piece, scanned map[*object.Module][]symbols.Symbol) ([]symbols.Symbol, string, error) {
	if list, known := scanned[piece.Module]; known {
		return list, symbols.FromScan, nil
	}
	return symbols.OfModule(piece.Object, piece.Module)
}

func rootsOf(p *plan.Plan) symbols.Roots {
	r := symbols.Roots{All: p.Roots.All, AllInput: p.Roots.Origin.String(), ByOption: p.Roots.ByOption}
	for _, k := range p.Roots.Kernels {
		r.Kernels = append(r.Kernels, symbols.Root{Pattern: k.Pattern, Input: k.Origin.String()})
	}
	for _, v := range p.Roots.Variables {
		r.Variables = append(r.Variables, symbols.Root{Pattern: v.Pattern, Input: v.Origin.String()})
	}
	return r
}
