package plan

import (
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
)

// A choice is what the walk over the inputs found.
type choice struct {
	// host lists the objects of the host compiler that have device code, also those
	// without code for the target: they speak of host references all the same.
	host []*object.Object
	// registered is what the registration file may list, in link order, and
	// linkedBefore what earlier device links have put into it.
	registered   []*object.Object
	linkedBefore map[string]bool
	// silent: an object of the host compiler does not say what it refers to, so that
	// it could be anything. Objects without device code count here too.
	silent bool
	// deviceC: native code takes part, so functions may be undefined in the IR.
	deviceC bool
	// forcePartial: nothing may be removed or made local for the host's sake.
	forcePartial bool
	// named: the command line says which kernels or variables stay.
	named    bool
	notFound []string
}

// choose walks over the inputs in link order and takes of each the code that is
// best for the target.
func (p *Plan) choose(in Input) (*choice, error) {
	o := in.Options
	c := &choice{linkedBefore: map[string]bool{}, forcePartial: o.LTO && (o.Relocatable || o.ForcePartial)}
	c.deviceC = c.forcePartial
	c.named = len(contained(o.KernelsUsed)) > 0 || len(contained(o.VariablesUsed)) > 0
	target := object.Target{Arch: object.Arch{Number: o.Arch.Number, Suffix: o.Arch.Suffix}, LTO: o.LTO, Toolkit: in.Release.Number()}
	for _, obj := range in.Objects {
		for _, id := range obj.LinkedIDs {
			c.linkedBefore[id] = true
		}
		c.silent = c.silent || obj.Kind == object.HostObject && obj.HostRefs == nil
		if obj.Ignored != "" || len(obj.Modules) == 0 {
			continue
		}
		module, found := obj.Choose(target)
		if !found && obj.Kind == object.Cubin {
			return c, wrongArch(o, obj)
		}
		p.warnOfMissingHostCode(in, obj)
		switch {
		case o.LTO && IsDeviceRuntime(obj) && found && module.Kind != object.NVVM && len(c.host) == 0:
			// nvlink doesn't even look at the device runtime before it has seen an
			// object that could need it.
			continue
		case !found:
			p.notFound(o, c, obj)
		case module.Kind == object.NVVM:
			p.IR = append(p.IR, Piece{obj, module})
		default:
			p.native(o, c, Piece{obj, module})
		}
		if obj.Kind == object.HostObject {
			c.host = append(c.host, obj)
		}
		if obj.RegisterID != "" {
			c.registered = append(c.registered, obj)
		}
	}
	return c, nil
}

// native takes in code that is compiled already.
func (p *Plan) native(o *options.Options, c *choice, piece Piece) {
	p.Native = append(p.Native, piece)
	if !o.LTO {
		return
	}
	c.deviceC = true
	if IsDeviceRuntime(piece.Object) {
		p.because("the device runtime is in the link, so the engine decides whether the program is closed", piece.Object.Origin)
		return
	}
	c.forcePartial = true
	p.Messages = append(p.Messages, &message.Message{Severity: message.Info, ID: "partial-lto", Origin: piece.Object.Origin,
		Text: fmt.Sprintf("requested LTO but '%s' not built for LTO so doing partial LTO", piece.Object.Origin),
		Hint: "compile it with -dlto to have the whole program optimized"})
	p.because("native code takes part", piece.Object.Origin)
}

// warnOfMissingHostCode is for bare device code in a program that registers its
// objects; nvlink speaks of it since 13.4.
func (p *Plan) warnOfMissingHostCode(in Input, obj *object.Object) {
	if in.Options.RegisterLinkBinaries == "" || in.Release.Number() < 134 || !isBare(obj) {
		return
	}
	p.Messages = append(p.Messages, &message.Message{Severity: message.Info, ID: "no-host-code", Origin: obj.Origin,
		Text: fmt.Sprintf("Input '%s' has no host code, which could cause later host link error if there is a reference to it", obj.Origin)})
}

// isBare says whether an input is device code without a host object around it.
// Bare LTO-IR is not meant: nvlink never registers it.
func isBare(obj *object.Object) bool {
	return obj.Kind == object.Fatbin || obj.Kind == object.Cubin || obj.Kind == object.PTXFile
}

// wrongArch is for a cubin by itself: it was meant for this link, so that leaving
// it out cannot be right.
func wrongArch(o *options.Options, obj *object.Object) error {
	return &message.Message{Severity: message.Fatal, ID: "arch-mismatch", Origin: obj.Origin,
		Text:  fmt.Sprintf("Input file '%s' arch does not match target '%s'", obj.Origin, o.Arch),
		Notes: []string{fmt.Sprintf("it is %s", &obj.Modules[0])}, Hint: "compile it for the target"}
}

func (p *Plan) notFound(o *options.Options, c *choice, obj *object.Object) {
	var has []string
	for i := range obj.Modules {
		has = append(has, obj.Modules[i].String())
	}
	c.notFound = append(c.notFound, fmt.Sprintf("%s has %s", obj.Origin, message.FirstFew(has)))
	if o.SuppressArchWarning {
		return
	}
	p.Messages = append(p.Messages, &message.Message{Severity: message.Warning, ID: "arch-not-found", Origin: obj.Origin,
		Text:  fmt.Sprintf("SM Arch ('%s') not found in '%s'", o.Arch, obj.Origin),
		Notes: []string{"it has " + message.FirstFew(has)}, Hint: fmt.Sprintf("compile it for %s as well", o.Arch)})
}

// IsDeviceRuntime is nvlink's test for libcudadevrt: by name.
func IsDeviceRuntime(obj *object.Object) bool {
	return strings.Contains(obj.Origin.String(), "cudadevrt")
}

// carriesOptions says whether the module has a say in the consensus: bare LTO-IR
// has nowhere to keep options.
func (piece Piece) carriesOptions() bool { return piece.Object.Kind != object.LTOIR }
