package device

import (
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// The groups of .nv.callgraph: rows of two words, each group after a row of 0
// and its number.
const (
	groupCalls     = -1 // caller, callee
	groupTaken     = -2 // function whose address is taken, prototype
	groupIndirect  = -3 // caller, prototype
	groupPotential = -4
)

// mergeCallGraph brings in who calls whom, and the prototypes.
func mergeCallGraph(rules *ruleSet, symbols *symbolTable, calls *callGraph, report *linkReport, o *object) error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		var err error
		switch s.Type {
		case cubin.SHT_CUDA_CALLGRAPH:
			err = mergeCalls(rules, symbols, calls, o, s)
		case cubin.SHT_CUDA_PROTOTYPE:
			err = mergePrototypes(symbols, calls, report, o, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func mergeCalls(rules *ruleSet, symbols *symbolTable, calls *callGraph, o *object, s *elf64.Section) error {
	b := o.bytes(s)
	if len(b)%8 != 0 {
		return damage(o.name, "section %s of %d bytes", s.Name, len(b))
	}
	group := int32(0)
	for ; len(b) > 0; b = b[8:] {
		index, second := le.Uint32(b), le.Uint32(b[4:])
		if index == 0 && int32(second) < 0 {
			group = int32(second)
			continue
		}
		id, err := symbols.functionAt(o, index)
		if err != nil {
			return err
		}
		//rule: A function that lost has no calls.
		//mutate: false
		if o.isDiscarded(index) {
			if group == groupTaken {
				o.discardedTaken[index] = second
			}
			//rule: An address that an input takes does not count if its definition lost.
			//mutate: false !rules.options.FixNvlinkBugs
			if group != groupTaken || !rules.options.FixNvlinkBugs {
				continue
			}
		}
		if err := addCall(symbols, calls, o, group, id, second); err != nil {
			return err
		}
	}
	return nil
}

func addCall(symbols *symbolTable, calls *callGraph, o *object, group int32, id symbolID, second uint32) error {
	f := symbols.list[id].function
	switch group {
	case groupCalls, groupPotential:
		callee, err := symbols.functionAt(o, second)
		if err != nil {
			return err
		}
		if group == groupCalls {
			f.calls = append(f.calls, callee)
		} else {
			f.potential = append(f.potential, callee)
			//rule: It does if a kernel of the input may call it.
			//mutate: false
			if prototype, lost := o.discardedTaken[second]; lost {
				return addCall(symbols, calls, o, groupTaken, callee, prototype)
			}
		}
		return nil
	case groupTaken, groupIndirect:
		name, err := o.stringAt(second)
		if err != nil {
			return err
		}
		prototype := calls.prototypes.intern(name)
		if group == groupIndirect {
			f.indirect = append(f.indirect, prototype)
			return nil
		}
		//rule: A taken function's prototype is what later inputs are compared with.
		f.prototype = prototype // not compared, but what later inputs are compared with
		if key := (takenKey{id, prototype}); !calls.prototypes.known[key] {
			calls.prototypes.known[key] = true
			f.takenAs = append(f.takenAs, prototype)
			calls.prototypes.taken[prototype] = append(calls.prototypes.taken[prototype], id)
		}
		return nil
	}
	return unsupported(o.name, "the group %d of the call graph", group)
}

// functionAt gives the function that a row speaks of.
func (symbols *symbolTable) functionAt(o *object, index uint32) (symbolID, error) {
	id, err := o.symbolAt(index)
	if err == nil && symbols.list[id].function == nil {
		err = damage(o.name, "the call graph has the symbol '%s', which is no function", symbols.list[id].name)
	}
	return id, err
}

func mergePrototypes(symbols *symbolTable, calls *callGraph, report *linkReport, o *object, s *elf64.Section) error {
	b := o.bytes(s)
	if len(b)%8 != 0 {
		return damage(o.name, "section %s of %d bytes", s.Name, len(b))
	}
	for ; len(b) > 0; b = b[8:] {
		id, err := symbols.functionAt(o, le.Uint32(b))
		if err != nil {
			return err
		}
		name, err := o.stringAt(le.Uint32(b[4:]))
		if err != nil {
			return err
		}
		prototype, f := calls.prototypes.intern(name), symbols.list[id].function
		if f.prototype == noPrototype {
			f.prototype = prototype
		} else if f.prototype != prototype {
			//rule: Two prototypes for one function are an error.
			prototypeClash(symbols, calls, report, o, id, name)
		}
	}
	return nil
}

// A prototypeID is the place of a prototype's string in the order of first
// use, which is also its order in .strtab.
type prototypeID int32

const noPrototype prototypeID = -1

// A prototypeTable holds the prototypes and which functions of each have
// their address taken.
type prototypeTable struct {
	names []string
	id    map[string]prototypeID
	taken [][]symbolID
	known map[takenKey]bool // what is in taken
}

// A takenKey is a function whose address is taken under a prototype.
type takenKey struct {
	function  symbolID
	prototype prototypeID
}

func (t *prototypeTable) intern(name string) prototypeID {
	if id, ok := t.id[name]; ok {
		return id
	}
	if t.id == nil {
		t.id, t.known = map[string]prototypeID{}, map[takenKey]bool{}
	}
	id := prototypeID(len(t.names))
	t.id[name] = id
	t.names, t.taken = append(t.names, name), append(t.taken, nil)
	return id
}
