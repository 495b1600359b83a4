package plan

import (
	"fmt"
	"slices"

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
	// it could be anything. Objects without device code count here too. silentOrigin is
	// the first such object.
	silent       bool
	silentOrigin message.Origin
	// deviceC: native code takes part, so functions may be undefined in the IR.
	deviceC bool
	// forcePartial: nothing may be removed or made local for the host's sake.
	forcePartial bool
	// named: the command line says which kernels or variables stay.
	named    bool
	notFound []string
	// assembled: nvlink has run ptxas on PTX of an object, after which -Werror and
	// -disable-infos have no effect any more.
	assembled bool
	// failed is the index in Plan.Events of the first warning that -Werror makes
	// an error, or -1 if there is none.
	failed int
}

// choose walks over the inputs in link order and takes of each the code that is
// best for the target.
func (p *Plan) choose(in Input) (*choice, error) {
	o := in.Options
	c := &choice{linkedBefore: map[string]bool{}, forcePartial: o.LTO && (o.Relocatable || o.ForcePartial), failed: -1}
	c.deviceC = c.forcePartial
	c.named = len(contained(o.KernelsUsed)) > 0 || len(contained(o.VariablesUsed)) > 0
	for _, obj := range in.Objects {
		for _, id := range obj.LinkedIDs {
			c.linkedBefore[id] = true
		}
		c.noteSilent(obj)
		module, found := obj.Choose(in.target())
		takesPart := obj.Ignored == "" && len(obj.Modules) > 0
		if takesPart && !found && (obj.Kind == object.Cubin || obj.HasBitcode()) {
			return c, p.wrongArch(in, c, obj)
		}
		if takesPart || obj.Damaged {
			p.warnOfMissingHostCode(in, obj)
		}
		if err := c.afterError(obj); err != nil {
			return c, err
		}
		if takesPart {
			p.take(in, c, Piece{Object: obj, Module: module}, found)
		}
	}
	if c.failed >= 0 {
		return c, p.stop(c)
	}
	if len(p.Bitcode) > 0 && len(p.IR) > 0 {
		c.deviceC, c.forcePartial = true, true
		p.because("LTO-IR of nvcc and LLVM bitcode are optimized apart from each other:", p.Bitcode[0].Object.Origin)
	}
	return c, nil
}

// noteSilent notes the first host object that does not record what it refers to.
func (c *choice) noteSilent(obj *object.Object) {
	if !c.silent && obj.Kind == object.HostObject && obj.HostRefs == nil {
		c.silent, c.silentOrigin = true, obj.Origin
	}
}

// target returns what the link produces code for.
func (in *Input) target() object.Target {
	return object.Target{Arch: in.Options.Arch.Arch, LTO: in.Options.LTO, Release: in.Release}
}

// take puts an object among those that it belongs to.
func (p *Plan) take(in Input, c *choice, piece Piece, found bool) {
	obj := piece.Object
	switch {
	case !found:
		p.notFound(in.Options, c, obj)
	case piece.Module.Kind == object.NVVM:
		p.IR = append(p.IR, piece)
	case piece.Module.Kind == object.LLVM:
		p.Bitcode = append(p.Bitcode, piece)
	case in.Options.LTO && IsDeviceRuntime(obj) && !p.needsRuntime(in, c):
		return
	default:
		p.native(in.Options, c, piece)
	}
	if obj.Kind == object.HostObject {
		c.host = append(c.host, obj)
	}
	if obj.RegisterID != "" && (found || obj.Kind != object.Fatbin) {
		c.registered = append(c.registered, obj)
	}
}

// needsRuntime reports whether the device runtime takes part at its place. nvlink
// ignores it until it has seen a host object with device code. Bare
// LTO-IR may need it too where it is merged, which with nvlink it never is.
func (p *Plan) needsRuntime(in Input, c *choice) bool {
	switch {
	case len(c.host) > 0:
		return true
	case len(p.IR)+len(p.Bitcode) == 0:
		return false
	}
	return c.forcePartial || slices.ContainsFunc(in.Objects, func(obj *object.Object) bool {
		module, found := obj.Choose(in.target())
		return found && obj.Ignored == "" && module.Kind != object.NVVM && !IsDeviceRuntime(obj)
	})
}

// warn adds a warning that nvlink has, and sees whether it is an error.
func (p *Plan) warn(o *options.Options, c *choice, m *message.Message) {
	m.PolicyExempt = c.assembled
	if severity, _ := o.Messages.Apply(m); severity == message.Error && c.failed < 0 {
		c.failed = len(p.Events)
	}
	p.report(m)
}

// afterError ends the link at the next input that nvlink refuses to read because
// of an error before. It doesn't mind cubins.
func (c *choice) afterError(obj *object.Object) error {
	text := ""
	switch {
	case c.failed < 0:
	case obj.Kind == object.HostObject || obj.Origin.Member != "" || (obj.Kind == object.LTOIR && obj.Ignored == ""):
		text = "elfLink internal error"
	case (obj.Kind == object.Fatbin || obj.Kind == object.PTXFile) && obj.Ignored == "":
		text = "elfLink fatbinary error"
	}
	if text == "" {
		return nil
	}
	return &message.Message{Severity: message.Fatal, ID: "after-error", Text: text, Origin: obj.Origin,
		Notes: []string{"-Werror made an error of a warning, so the link ends here"}}
}

// stop ends the link with the error that a warning has become, and the messages since.
func (p *Plan) stop(c *choice) message.List {
	list := message.List(Messages(p.Events[c.failed:]))
	p.Events = p.Events[:c.failed]
	return list
}

// native adds code that is compiled already.
func (p *Plan) native(o *options.Options, c *choice, piece Piece) {
	if piece.Module.Kind == object.PTX {
		c.assembled = true
		p.addAssembly(piece)
	}
	p.Native = append(p.Native, piece)
	if !o.LTO {
		return
	}
	c.deviceC = true
	if IsDeviceRuntime(piece.Object) {
		p.because("the device runtime is in the link, so the engine decides whether the program is closed",
			piece.Object.Origin)
		return
	}
	c.forcePartial = true
	p.report(&message.Message{Severity: message.Info, ID: "partial-lto", Origin: piece.Object.Origin,
		Text: fmt.Sprintf("requested LTO but '%s' not built for LTO so doing partial LTO", piece.Object.Origin),
		Hint: "compile it with -dlto to have the whole program optimized"})
	p.because("native code takes part", piece.Object.Origin)
}

// addAssembly adds the event that nvlink runs ptxas on a piece, which is the next one
// of Native. A file of PTX it assembles before it looks for host code.
func (p *Plan) addAssembly(piece Piece) {
	at := len(p.Events)
	if last := at - 1; piece.Object.Kind == object.PTXFile && last >= 0 {
		m := p.Events[last].Message
		if m != nil && m.ID == noHostCode && m.Origin == piece.Object.Origin {
			at = last
		}
	}
	p.Events = slices.Insert(p.Events, at, Event{Assembled: len(p.Native)})
}

const noHostCode = "no-host-code"

// warnOfMissingHostCode is for bare device code in a program that registers its
// objects.
func (p *Plan) warnOfMissingHostCode(in Input, obj *object.Object) {
	if in.Options.RegisterLinkBinaries == "" || !in.Release.Rules().ReportsMissingHostCode || !isBare(obj) {
		return
	}
	p.report(&message.Message{Severity: message.Info, ID: noHostCode, Origin: obj.Origin,
		Text: fmt.Sprintf("Input '%s' has no host code, "+
			"which could cause later host link error if there is a reference to it", obj.Origin)})
}

// isBare reports whether an input is device code without a host object around it, and
// nvlink registers it. It never registers bare LTO-IR.
func isBare(obj *object.Object) bool {
	return obj.Kind == object.Fatbin || obj.Kind == object.Cubin || obj.Kind == object.PTXFile
}

// wrongArch returns the error about a cubin by itself, or an object of clang's, for another
// architecture. It was meant for this link, so it cannot be ignored. Before nvlink compares
// architectures, it looks for what the cubins of later generations have.
func (p *Plan) wrongArch(in Input, c *choice, obj *object.Object) error {
	o, has := in.Options, &obj.Modules[0]
	m := &message.Message{Severity: message.Fatal, ID: "arch-mismatch", Origin: obj.Origin,
		Text:  fmt.Sprintf("Input file '%s' arch does not match target '%s'", obj.Origin, o.Arch),
		Notes: []string{fmt.Sprintf("it is %s", has)}, Hint: "compile it for the target"}
	if !o.Arch.Generation().Mercury || has.Arch.Generation().Mercury {
		return m
	}
	p.warn(o, c, &message.Message{Severity: message.Warning, ID: "output-limited", Origin: obj.Origin,
		Text: fmt.Sprintf("Output is limited to run on SM Arch '%d' only due to limitations in input file %s",
			o.Arch.Number, obj.Origin)})
	merged := slices.ContainsFunc(p.Native, func(piece Piece) bool { return !IsDeviceRuntime(piece.Object) })
	if merged && !has.Arch.Generation().Compat && in.Release.Rules().ReadsCompatFirst {
		m.Text = "cannot read nvcompat"
		m.Notes = []string{fmt.Sprintf("'%s' is %s, which does not match the target '%s'", obj.Origin, has, o.Arch)}
	}
	return m
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
	p.warn(o, c, &message.Message{Severity: message.Warning, ID: "arch-not-found", Origin: obj.Origin,
		Extra: obj.Origin.Member != "", // nvlink does not report members
		Text:  fmt.Sprintf("SM Arch ('%s') not found in '%s'", o.Arch, obj.Origin),
		Notes: []string{"it has " + message.FirstFew(has)}, Hint: fmt.Sprintf("compile it for %s as well", o.Arch)})
}

// IsDeviceRuntime reports whether an object is libcudadevrt, which nvlink knows by name.
func IsDeviceRuntime(obj *object.Object) bool { return object.NamesDeviceRuntime(obj.Origin.String()) }

// carriesOptions reports whether the module has a vote in the consensus: bare LTO-IR
// has nowhere to keep options.
func (piece Piece) carriesOptions() bool { return piece.Object.Kind != object.LTOIR }
