package structure

import (
	"fmt"
	"go/types"
	"strings"
)

// A typeSize is how much a named type has.
type typeSize struct {
	name            string // internal/options.Options
	place           string
	methods, fields int
}

// sizes measures the named types of the program, those in functions apart.
func sizes(src *source) (list []typeSize) {
	src.eachType(func(name *types.TypeName, place string) {
		s := typeSize{name: shortName(name), place: place}
		// A pointer's method set has those of values too; an interface has no pointer's.
		var of types.Type = types.NewPointer(name.Type())
		if types.IsInterface(name.Type()) {
			of = name.Type()
		}
		s.methods = types.NewMethodSet(of).Len()
		if structure, ok := name.Type().Underlying().(*types.Struct); ok {
			s.fields = fieldCount(structure)
		}
		list = append(list, s)
	})
	return list
}

func (src *source) eachType(visit func(name *types.TypeName, place string)) {
	for _, p := range src.packages {
		for _, name := range p.Scope().Names() {
			if t, ok := p.Scope().Lookup(name).(*types.TypeName); ok && !t.IsAlias() {
				at := src.fset.Position(t.Pos())
				visit(t, fmt.Sprintf("%s:%d", at.Filename, at.Line))
			}
		}
	}
}

// shortName returns the name with the path of its package in the module.
func shortName(t *types.TypeName) string {
	return strings.TrimPrefix(t.Pkg().Path(), module) + "." + t.Name()
}

// fieldCount counts the fields of a struct and those that it has by embedding.
func fieldCount(s *types.Struct) (count int) {
	for field := range s.Fields() {
		count++
		if embedded := ownStruct(field); embedded != nil {
			count += fieldCount(embedded.Type().Underlying().(*types.Struct))
		}
	}
	return count
}

// ownStruct returns the name of an embedded struct type of this module, or nil.
func ownStruct(field *types.Var) *types.TypeName {
	if !field.Embedded() {
		return nil
	}
	t := field.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !strings.HasPrefix(named.Obj().Pkg().Path(), module) {
		return nil
	}
	if _, ok := named.Underlying().(*types.Struct); !ok {
		return nil
	}
	return named.Obj()
}

func typeSizes(src *source) (list []violation) {
	for _, s := range sizes(src) {
		if s.methods > mostMethods {
			list = append(list, violation{s.place, fmt.Sprintf("%s has %d methods", s.name, s.methods)})
		}
		if s.fields > mostFields && largeTypes[s.name] == "" {
			list = append(list, violation{s.place, fmt.Sprintf("%s has %d fields", s.name, s.fields)})
		}
	}
	return list
}

// embeddedState finds structs that embed a struct of this module whose methods have
// pointer receivers: whoever has the outer struct can then change the inner one by
// methods that look like its own, and an outer method or field can hide an inner one.
// Structs without such methods are values, and embedding them only joins fields.
func embeddedState(src *source) (list []violation) {
	src.eachType(func(name *types.TypeName, place string) {
		structure, ok := name.Type().Underlying().(*types.Struct)
		if !ok {
			return
		}
		for field := range structure.Fields() {
			inner := ownStruct(field)
			key := shortName(name) + " embeds " + field.Name()
			if inner != nil && changesItself(inner) && embeddings[key] == "" {
				list = append(list, violation{place, key + ", which has methods with pointer receivers"})
			}
		}
	})
	return list
}

// changesItself reports whether a type has methods that its value lacks.
func changesItself(t *types.TypeName) bool {
	return types.NewMethodSet(types.NewPointer(t.Type())).Len() > types.NewMethodSet(t.Type()).Len()
}

func linkLines(src *source) (list []violation) {
	if lines := src.packageLines()[linkPackage]; lines >= mostLinkLines {
		list = append(list, violation{linkPackage + "/", fmt.Sprintf("%d lines", lines)})
	}
	return list
}
