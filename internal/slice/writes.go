package slice

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/ptx"
)

// isLocalStatic reports whether a variable is a static one of a function. libnvvm ignores
// such a variable's name in the lists of what host code refers to.
func (s *symbol) isLocalStatic() bool { return s.isData() && strings.HasPrefix(s.name, "_ZZ") }

// isTraced reports whether it matters if functions write a variable: the compiler may
// remove it from a slice although it is in a list.
func (s *symbol) isTraced() bool {
	return s.isData() && !s.literal && (s.linkage == ptx.Weak || s.isLocalStatic())
}

// isFixed reports whether a variable is a table of virtual functions or a description of a
// type. No code writes one, whatever it does with the address.
func (s *symbol) isFixed() bool {
	return slices.ContainsFunc([]string{"_ZTV", "_ZTT", "_ZTI", "_ZTS"}, func(prefix string) bool {
		return strings.HasPrefix(s.name, prefix)
	})
}

// A reading is a variable that a function only reads.
type reading struct {
	variable int
	// through are the functions that get the variable's address and only read, too.
	through []int
}

// A tracer follows the addresses of variables through the functions of one module.
type tracer struct {
	module *Module
	parsed *ptx.Module
	traces map[int]*trace // by the function's place in the module
}

// An origin is where an address comes from: the place of a variable in the module, or
// ^n for the parameter n of the function.
type origin int

// A parameter is one of a function of the module.
type parameter struct{ function, place int }

// A trace is what one function does with addresses.
type trace struct {
	// written has the origins whose memory the function may write, and those whose
	// addresses go where the tracer does not follow.
	written map[origin]bool
	// passed has the parameters of other functions that addresses go to.
	passed map[origin]map[parameter]bool
}

// findReadings notes for every function which variables it only reads. What is not noted
// counts as written.
func (m *Module) findReadings(parsed *ptx.Module) error {
	t := &tracer{module: m, parsed: parsed, traces: map[int]*trace{}}
	for f := range m.symbols {
		s := &m.symbols[f]
		if !s.isFunction() || !s.defined {
			continue
		}
		for _, v := range s.refs {
			if !m.symbols[v].isTraced() {
				continue
			}
			r, only, err := t.onlyReads(f, v)
			if err != nil {
				return err
			}
			if only {
				s.readings = append(s.readings, r)
			}
		}
	}
	return nil
}

// onlyReads reports whether a function, with all that it passes the address to, only
// reads a variable.
func (t *tracer) onlyReads(function, variable int) (reading, bool, error) {
	r := reading{variable: variable}
	type place struct {
		function int
		origin   origin
	}
	seen := map[place]bool{}
	for todo := []place{{function, origin(variable)}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		trace, err := t.trace(at.function)
		if err != nil || trace.written[at.origin] {
			return r, false, err
		}
		for p := range trace.passed[at.origin] {
			todo = append(todo, place{p.function, origin(^p.place)})
			r.through = append(r.through, p.function)
		}
	}
	slices.Sort(r.through)
	r.through = slices.Compact(r.through)
	return r, true, nil
}

// trace returns the trace of a function, which it makes once.
func (t *tracer) trace(function int) (*trace, error) {
	if known := t.traces[function]; known != nil {
		return known, nil
	}
	made := &trace{written: map[origin]bool{}, passed: map[origin]map[parameter]bool{}}
	t.traces[function] = made
	e := t.parsed.Symbol(t.module.symbols[function].name)
	names, err := t.parsed.Parameters(e)
	if err != nil {
		return nil, err
	}
	f := &follower{tracer: t, trace: made, parameters: map[string]int{}, held: map[string][]origin{},
		arguments: map[string][]origin{}}
	for i, name := range names {
		f.parameters[name] = i
	}
	for f.changed = true; f.changed; {
		f.changed = false
		if err := t.parsed.EachInstruction(e, f.instruction); err != nil {
			return nil, err
		}
		f.dropArguments()
	}
	return made, nil
}

// A follower reads one function, again and again until nothing new is found.
type follower struct {
	tracer     *tracer
	trace      *trace
	parameters map[string]int      // the function's own
	held       map[string][]origin // by register
	arguments  map[string][]origin // of the next call
	changed    bool
}

// moves are instructions whose result is an address if an operand is one.
var moves = map[string]bool{
	"mov": true, "cvta": true, "add": true, "sub": true, "selp": true, "mad": true, "cvt": true,
}

// compares are instructions whose result says nothing about the memory at an address.
var compares = map[string]bool{"setp": true, "isspacep": true}

// instruction follows addresses through one instruction. An instruction that it does not
// know counts as one that writes.
func (f *follower) instruction(i *ptx.Instruction) {
	opcode, space := string(i.Opcode), string(i.Space)
	switch {
	case opcode == "call":
		f.call(i)
		return
	case len(i.Operands) < 2 || compares[opcode]:
	case opcode == "ld" && space == ".param":
		f.hold(i.Operands[0], f.parameterNames(i.Operands[1]))
		return
	case opcode == "ld" && i.Operands[1].Open == '[':
		f.write(f.parameterNames(i.Operands[1]))
		return
	case opcode == "st" && space == ".param" && i.Operands[0].Open == '[' && len(i.Operands[0].Words) == 1:
		if name := string(i.Operands[0].Words[0]); strings.HasPrefix(name, "param") {
			f.arguments[name] = union(f.arguments[name], f.origins(i.Operands[1:]...))
			return
		}
	case moves[opcode]:
		f.write(f.parameterNames(i.Operands...))
		f.hold(i.Operands[0], f.origins(i.Operands[1:]...))
		return
	}
	if !compares[opcode] {
		f.write(f.origins(i.Operands...))
	}
	f.write(f.parameterNames(i.Operands...))
}

// call follows the arguments of a call into a function of the module.
func (f *follower) call(i *ptx.Instruction) {
	operands := i.Operands
	if operands[0].Open == '(' && len(operands) > 1 { // the results
		operands = operands[1:]
	}
	callee := f.callee(operands)
	for _, operand := range operands[1:] {
		for place, name := range operand.Words {
			list := union(f.arguments[string(name)], f.origins(ptx.Operand{Words: operand.Words[place : place+1]}))
			delete(f.arguments, string(name))
			for _, o := range list {
				if callee < 0 {
					f.trace.written[o] = true
				} else {
					f.pass(o, parameter{callee, place})
				}
			}
		}
	}
	f.dropArguments()
}

// callee returns the function of the module that a call without results names. It returns
// -1 if there is none, or if the arguments are not its parameters one by one.
func (f *follower) callee(operands []ptx.Operand) int {
	if len(operands) != 2 || len(operands[0].Words) != 1 || operands[1].Open != '(' {
		return -1
	}
	n, ok := f.tracer.module.index[string(operands[0].Words[0])]
	if !ok || f.tracer.module.symbols[n].kind != ".func" || !f.tracer.module.symbols[n].defined {
		return -1
	}
	names, err := f.tracer.parsed.Parameters(f.tracer.parsed.Symbol(f.tracer.module.symbols[n].name))
	if err != nil || len(names) != len(operands[1].Words) {
		return -1
	}
	return n
}

// dropArguments gives up addresses that were stored for a call which does not name them.
func (f *follower) dropArguments() {
	for name, list := range f.arguments {
		f.write(list)
		delete(f.arguments, name)
	}
}

// origins returns what the registers of operands hold, and the variables that they name.
func (f *follower) origins(operands ...ptx.Operand) []origin {
	var list []origin
	for _, operand := range operands {
		for _, name := range operand.Words {
			list = union(list, f.held[string(name)])
			if v, ok := f.tracer.module.index[string(name)]; ok && f.tracer.module.symbols[v].isTraced() {
				list = union(list, []origin{origin(v)})
			}
		}
	}
	return list
}

// parameterNames returns the function's own parameters that operands name.
func (f *follower) parameterNames(operands ...ptx.Operand) []origin {
	var list []origin
	for _, operand := range operands {
		for _, name := range operand.Words {
			if n, ok := f.parameters[string(name)]; ok {
				list = append(list, origin(^n))
			}
		}
	}
	return list
}

// hold notes that registers may hold addresses.
func (f *follower) hold(registers ptx.Operand, list []origin) {
	if len(list) == 0 {
		return
	}
	for _, register := range registers.Words {
		before := f.held[string(register)]
		if after := union(before, list); len(after) > len(before) {
			f.held[string(register)] = after
			f.changed = true
		}
	}
}

// write notes that the memory at addresses may be written.
func (f *follower) write(list []origin) {
	for _, o := range list {
		f.trace.written[o] = true
	}
}

// pass notes that an address goes to a parameter of another function.
func (f *follower) pass(o origin, to parameter) {
	if f.trace.passed[o] == nil {
		f.trace.passed[o] = map[parameter]bool{}
	}
	f.trace.passed[o][to] = true
}

// union returns the elements of both lists. It does not change them.
func union(a, b []origin) []origin {
	for i, o := range b {
		if !slices.Contains(a, o) {
			a = append(a[:len(a):len(a)], b[i])
		}
	}
	return a
}

// findWritten finds the variables that code of the program may write. Only functions that
// kernels or variables of the host can reach count. Host code may write what it refers to;
// that counts for static variables of functions, because the lists name all others.
func (p *planner) findWritten() {
	var from []int
	for _, k := range p.kernels {
		from = append(from, k.number)
	}
	for number := range p.program.module {
		if s := p.program.symbol(number); s.isData() && s.defined && p.host.keeps(s) {
			from = append(from, number)
			p.program.written[p.program.key(number)] = p.host.known && s.isLocalStatic()
		}
	}
	for _, number := range p.program.reachable(from).symbols {
		base := p.program.first[p.program.module[number]]
		for _, r := range p.program.symbol(number).refs {
			to := p.program.resolve(base + r)
			if s := p.program.symbol(to); s.isData() && !s.isFixed() && !p.program.onlyReads(number, r) {
				p.program.written[p.program.key(to)] = true
			}
		}
	}
}

// onlyReads reports whether a function does not write a variable of its module, whatever
// copy wins of the functions that it passes the address to.
func (p *program) onlyReads(number, variable int) bool {
	s, base := p.symbol(number), p.first[p.module[number]]
	i := slices.IndexFunc(s.readings, func(r reading) bool { return r.variable == variable })
	return i >= 0 && !slices.ContainsFunc(s.readings[i].through, func(f int) bool {
		to := p.symbol(base + f)
		return to.linkage != ptx.Local && !p.names[to.name].same
	})
}
