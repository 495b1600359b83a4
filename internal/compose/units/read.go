package units

import (
	"strings"

	"github.com/warpld/warpld/internal/ptx"
)

// A kind is what a name stands for.
type kind uint8

const (
	functionKind kind = iota // a function or kernel that the program defines
	externKind               // a function that it declares only
	variableKind
)

// A symbol is what a name stands for, and its place in the list of its kind.
type symbol struct {
	kind  kind
	place int
}

// A function is one with a body; kernels are functions too.
type function struct {
	entity   int // its definition
	name     string
	isKernel bool

	// calls are the functions that the body names, whether it calls them or not; takes are
	// those that it names elsewhere than as the target of a call.
	calls, takes []int
	externs      []int // external functions that the body calls
	variables    []int // that it names
	hasPrototype bool  // it calls through a pointer
}

// An extern is a function that the program declares and does not define: one of the driver's.
type extern struct {
	entity int // its first declaration
	name   string
}

// A variable is one of the module.
type variable struct {
	entity int
	// functions and variables are what the initializer names.
	functions, variables []int
}

// A cutter is what is known about a program.
type cutter struct {
	module    *ptx.Module
	names     map[string]symbol
	functions []function // in the order of the text
	externs   []extern   // in the order of their declarations
	variables []variable // in the order of the text
	lineInfo  bool

	// What follows is by place in the file: see arrange.

	order      []int   // kernels, as places in functions
	reached    [][]int // functions that a kernel reaches, with itself, as places in functions
	introduced [][]int // external functions that a kernel is the first to use
	isTogether []bool  // kernels of the unit with function pointers
	// isTaken has the functions whose address is taken anywhere; anyTaken: there are some.
	// isRelated has those that take, reach or may call them, whether a kernel reaches them or not.
	isTaken, isRelated []bool
	anyTaken           bool
}

// read reads the text and checks that the rules cover all parts of it.
func read(text []byte) (*cutter, error) {
	m, err := ptx.Parse(text)
	if err != nil {
		return nil, unreadable(err)
	}
	c := &cutter{module: m, names: map[string]symbol{}}
	for i := range m.Entities {
		if err := c.define(i); err != nil {
			return nil, err
		}
	}
	for i := range m.Entities {
		if err := c.declare(i); err != nil {
			return nil, err
		}
	}
	for i := range c.variables {
		if err := c.readInitializer(&c.variables[i]); err != nil {
			return nil, err
		}
	}
	r := &bodyReader{cutter: c, seen: map[symbol]bool{}, taken: map[int]bool{}}
	for i := range c.functions {
		if err := r.read(&c.functions[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// define notes the functions and variables that the program defines, and checks the other
// parts of the module.
func (c *cutter) define(place int) error {
	e := &c.module.Entities[place]
	switch {
	case e.Linkage == ptx.Common:
		return refuseEntity(CommonVariable, e)
	case e.IsFunction():
		if e.Body.Empty() {
			return nil
		}
		s := symbol{functionKind, len(c.functions)}
		c.functions = append(c.functions, function{entity: place, name: e.Name, isKernel: e.Kind == ".entry"})
		return c.name(e, s)
	case e.IsVariable():
		if e.Linkage == ptx.Extern && e.Kind != ".shared" {
			return nil
		}
		s := symbol{variableKind, len(c.variables)}
		c.variables = append(c.variables, variable{entity: place})
		return c.name(e, s)
	}
	return c.checkOther(e)
}

// name gives a symbol its name.
func (c *cutter) name(e *ptx.Entity, s symbol) error {
	if _, known := c.names[e.Name]; known {
		return refuseEntity(Twice, e)
	}
	if labelKind(e.Name) != "" { // it would be renamed with the labels
		return refuseEntity(HiddenName, e)
	}
	c.names[e.Name] = s
	return c.checkHead(e)
}

// mostExterns is more than the driver defines.
const mostExterns = 1 << 10

// declare notes the functions that the program declares only, and checks other declarations.
func (c *cutter) declare(place int) error {
	e := &c.module.Entities[place]
	s, known := c.names[e.Name]
	switch {
	case e.IsVariable() && e.Linkage == ptx.Extern && e.Kind != ".shared":
		if !known || s.kind != variableKind {
			return refuseEntity(ExternVariable, e)
		}
		return c.checkHead(e)
	case !e.IsFunction() || !e.Body.Empty():
		return nil
	case e.Kind == ".entry":
		return refuseEntity(Undefined, e)
	case known && s.kind == variableKind:
		return refuseEntity(Twice, e)
	case known:
		return c.checkHead(e)
	case e.Linkage != ptx.Extern:
		return refuseEntity(Undefined, e)
	}
	if s = (symbol{externKind, len(c.externs)}); s.place == mostExterns {
		return refuse(TooLarge, "")
	}
	c.externs = append(c.externs, extern{place, e.Name})
	return c.name(e, s)
}

// debugStrings is the one section that PTX has without -g, for the names of inlined functions.
const debugStrings = ".debug_str"

// checkOther checks what is neither a function nor a variable.
func (c *cutter) checkOther(e *ptx.Entity) error {
	switch e.Kind {
	case ".version", ".address_size":
		return nil
	case ".file":
		c.lineInfo = true
		return nil
	case ".target":
		return c.checkTarget(e)
	case ".section":
		for r := range ptx.Directives(c.module.Part(e.Head)[len(e.Kind):]) {
			if string(c.module.Part(e.Head)[len(e.Kind):][r.Start:r.End]) == debugStrings {
				return nil
			}
			break
		}
		return refuseEntity(Debug, e)
	case ".alias":
		return refuseEntity(Alias, e)
	}
	return refuseEntity(UnknownPart, e)
}

// checkTarget accepts ".target sm_80" alone.
func (c *cutter) checkTarget(e *ptx.Entity) error {
	head := c.module.Part(e.Head)
	place := 0
	for r := range ptx.Words(head) {
		option := string(head[r.Start:r.End])
		switch place++; {
		case place == 1:
		case option == "debug":
			return refuse(Debug, "")
		default:
			return refuse(TargetMode, option)
		}
	}
	return nil
}

// variableDirectives may stand before the name of a variable.
const variableDirectives = " .global .const .shared .align .attribute .managed .b8 .b16 .b32 .b64 .b128 .u8 .u16" +
	" .u32 .u64 .s8 .s16 .s32 .s64 .f16 .f16x2 .f32 .f64 .v2 .v4 "

// functionDirectives may stand in the head of a function. Stubs have none of those of a kernel.
const functionDirectives = variableDirectives + ".func .entry .param .ptr .local .noreturn .maxntid .reqntid" +
	" .minnctapersm .maxnctapersm .maxnreg .explicitcluster .reqnctapercluster .maxclusterrank" +
	" .blocksareclusters .pragma "

// references are opaque types.
const references = " .texref .samplerref .surfref "

// checkHead checks the directives and names before the body of a function or the value of a
// variable.
func (c *cutter) checkHead(e *ptx.Entity) error {
	allowed := variableDirectives
	if e.IsFunction() {
		allowed = functionDirectives
	}
	for _, a := range e.Attributes {
		if a != ".managed" || e.IsFunction() {
			return refuseEntity(Unified, e)
		}
	}
	head := c.module.Part(e.Head)
	for r := range ptx.Directives(head) {
		d := string(head[r.Start:r.End])
		switch {
		case strings.Contains(references, " "+d+" "):
			return refuseEntity(Reference, e)
		case !strings.Contains(allowed, " "+d+" "):
			return refuse(UnknownPart, d)
		}
	}
	return nil
}

// readInitializer notes what a variable's value names.
func (c *cutter) readInitializer(v *variable) error {
	refs, _, err := c.module.Refs(&c.module.Entities[v.entity])
	if err != nil {
		return unreadable(err)
	}
	for _, r := range refs {
		switch s := c.names[r.Name]; {
		case s.kind == externKind:
			return refuse(ExternAddress, r.Name)
		case s.kind == variableKind:
			v.variables = append(v.variables, s.place)
		case c.functions[s.place].isKernel:
			return refuse(KernelAddress, r.Name)
		default:
			v.functions = append(v.functions, s.place)
		}
	}
	return nil
}

// A bodyReader reads the bodies of functions.
type bodyReader struct {
	cutter   *cutter
	function *function
	seen     map[symbol]bool // what the function names
	taken    map[int]bool    // functions among them that it takes the address of
	err      error
}

// read notes what a function's body names.
func (r *bodyReader) read(f *function) error {
	r.function = f
	clear(r.seen)
	clear(r.taken)
	e := &r.cutter.module.Entities[f.entity]
	names, err := r.cutter.module.Parameters(e)
	if err == nil {
		for _, name := range names {
			r.local([]byte(name))
		}
		err = r.cutter.module.EachInstruction(e, r.instruction)
	}
	if r.err != nil {
		return r.err
	}
	return unreadable(err)
}

// local checks a name that the body declares.
func (r *bodyReader) local(name []byte) {
	if _, known := r.cutter.names[string(name)]; known && r.err == nil {
		r.err = refuse(HiddenName, string(name))
	}
}

// instruction notes what one statement names.
func (r *bodyReader) instruction(i *ptx.Instruction) {
	switch {
	case i.Label != nil:
		r.local(i.Label)
	case i.Opcode[0] == '.':
		r.directive(i)
	case string(i.Opcode) == "call":
		r.call(i.Operands)
	default:
		for o := range i.Operands {
			r.mention(i.Operands[o].Words)
		}
	}
}

// directive notes a statement that is no instruction.
func (r *bodyReader) directive(i *ptx.Instruction) {
	switch string(i.Opcode) {
	case ".reg", ".param", ".shared", ".local":
		for _, o := range i.Operands {
			for _, name := range o.Words {
				if name[0] != '%' {
					r.local(name)
				}
			}
		}
	case ".callprototype":
		//rule: A kernel with a prototype for calls may call each function whose address is taken.
		r.function.hasPrototype = true
	case ".branchtargets", ".pragma":
	default:
		if r.err == nil {
			r.err = refuse(UnknownPart, string(i.Opcode))
		}
	}
}

// call notes the target of a call, and what else it names.
func (r *bodyReader) call(operands []ptx.Operand) {
	target := 0
	if operands[0].Open == '(' && len(operands) > 1 { // the results
		r.mention(operands[0].Words)
		target = 1
	}
	if words := operands[target].Words; len(words) == 1 && operands[target].Open == 0 {
		r.name(words[0], true)
		target++
	}
	for _, o := range operands[target:] {
		r.mention(o.Words)
	}
}

// mention notes names whose addresses the body uses.
func (r *bodyReader) mention(words [][]byte) {
	for _, w := range words {
		r.name(w, false)
	}
}

// name notes one name.
func (r *bodyReader) name(word []byte, called bool) {
	if word[0] == '%' {
		return
	}
	s, known := r.cutter.names[string(word)]
	if !known {
		return
	}
	f, first := r.function, !r.seen[s]
	r.seen[s] = true
	switch s.kind {
	case variableKind:
		if first {
			f.variables = append(f.variables, s.place)
		}
	case externKind:
		if first {
			f.externs = append(f.externs, s.place)
		}
		if !called && r.err == nil {
			r.err = refuse(ExternAddress, string(word))
		}
	case functionKind:
		if first {
			f.calls = append(f.calls, s.place)
		}
		if !called && !r.taken[s.place] {
			r.taken[s.place] = true
			f.takes = append(f.takes, s.place)
		}
		if r.cutter.functions[s.place].isKernel && r.err == nil {
			r.err = refuse(KernelAddress, string(word))
		}
	}
}
