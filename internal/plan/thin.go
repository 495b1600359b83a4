package plan

import (
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/options"
)

// kernelsByConvention is the first LLVM whose kernels are known by their calling
// convention. Before, only metadata marked them.
const kernelsByConvention = 21

// decideThin decides whether each module is compiled by itself, if the user asked for
// that. Some code was compiled so that it can't be.
func (p *Plan) decideThin(o *options.Options) error {
	if o.Own.LTO != "thin" {
		return nil
	}
	if o.EmitPTX {
		return &message.Message{Severity: message.Fatal, ID: "thin-ptx",
			Text: "-emit-ptx writes one text, but ThinLTO makes one of each module",
			Hint: "drop --warpld-lto=thin; --warpld-keep keeps the texts"}
	}
	for _, piece := range p.Bitcode {
		why := ""
		if len(piece.Module.Bitcode) > 1 {
			why = "clang has split it for its vtables; -fno-split-lto-unit leaves it whole"
		} else if thin, given := piece.Module.Bitcode[0].Flags["ThinLTO"]; given && thin == 0 {
			why = "it was compiled for full LTO; compile it with -foffload-lto=thin"
		} else if major := piece.Module.Bitcode[0].Major(); major > 0 && major < kernelsByConvention {
			why = fmt.Sprintf("LLVM %d does not say in its symbols which functions are kernels", major)
		}
		if why != "" {
			p.report(&message.Message{Severity: message.Info, ID: "full-lto", Origin: piece.Object.Origin,
				Text:  fmt.Sprintf("doing full LTO, because '%s' does not go with ThinLTO", piece.Object.Origin),
				Notes: []string{why}})
			return nil
		}
	}
	p.Thin = true
	return nil
}

// Prepares reports whether a module must be changed before it is compiled by itself:
// because it lacks a summary or has questions that only the link can answer.
func (l *LLVM) Prepares(m *bitcode.Module) bool {
	if !m.Thin || l.FTZ != nil || (l.FMA != nil && !*l.FMA) {
		return true
	}
	for _, y := range m.Symbols {
		switch {
		case y.Name == "llvm.compiler.used" && l.Keep != nil,
			strings.HasPrefix(y.Name, "__nvvm_reflect"), y.Name == "llvm.nvvm.reflect",
			!y.Defined && strings.HasPrefix(y.Name, "__nv_"):
			return true
		}
	}
	return false
}

// A Resolution is what a linker decides about a symbol of a module.
type Resolution struct {
	Symbol string
	// Prevailing is the definition that counts; Visible says that others than the
	// modules may refer to it.
	Defined, Prevailing, Visible bool
}

// Resolve decides about the symbols of all modules. Of several definitions the first
// counts that doesn't give way to others, else the first.
func (l *LLVM) Resolve(modules []bitcode.Module) [][]Resolution {
	type place struct{ module, symbol int }
	prevailing := map[string]place{}
	for i, m := range modules {
		for j, y := range m.Symbols {
			if !global(y) || !defines(y) {
				continue
			}
			first, known := prevailing[y.Name]
			if !known || (modules[first.module].Symbols[first.symbol].Linkage == bitcode.Weak && y.Linkage != bitcode.Weak) {
				prevailing[y.Name] = place{i, j}
			}
		}
	}
	all := make([][]Resolution, len(modules))
	for i, m := range modules {
		for j, y := range m.Symbols {
			if !global(y) {
				continue
			}
			at, known := prevailing[y.Name]
			r := Resolution{Symbol: y.Name, Defined: defines(y)}
			r.Prevailing = r.Defined && known && at == place{i, j}
			r.Visible = r.Defined && l.visible(y)
			all[i] = append(all[i], r)
		}
	}
	return all
}

// visible reports whether the host, or code outside of the bitcode, may name a symbol.
func (l *LLVM) visible(y bitcode.Symbol) bool {
	switch {
	case !l.Closed:
		return true
	case y.Kind == bitcode.Variable:
		return !y.IsShared() && l.Keep.Variable(y.Name)
	}
	return y.Kernel && l.Keep.Kernel(y.Name)
}

func global(y bitcode.Symbol) bool {
	return y.Linkage != bitcode.Local && !strings.HasPrefix(y.Name, "llvm.")
}

func defines(y bitcode.Symbol) bool { return y.Defined && y.Linkage != bitcode.AvailableExternally }
