package device

import (
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// fail notes an error after which the link goes on to find more of them.
func (report *linkReport) fail(id string, y *symbol, text string, notes ...string) {
	report.messages = append(report.messages, &message.Message{Severity: message.Error, ID: id, Text: text,
		Symbol: y.name,
		Origin: message.Origin{File: y.from}, Notes: notes})
}

// failed reports whether there was an error.
func (report *linkReport) failed() bool {
	return slices.ContainsFunc(report.messages, func(m *message.Message) bool { return m.Severity >= message.Error })
}

// explains reports whether the next message of a kind comes with an explanation.
func (report *linkReport) explains(id string) bool {
	count := 0
	for _, m := range report.messages {
		if m.ID == id {
			count++
		}
		if count == maxExplained {
			return false
		}
	}
	return true
}

// warnOfNvlink tells of a program that nvlink breaks.
func (report *linkReport) warnOfNvlink(id, text string, notes ...string) {
	report.messages = append(report.messages, &message.Message{Severity: message.Warning, Extra: true, ID: id,
		Text: text, Notes: notes,
		Hint: "link with --warpld-merge=own, which does it right"})
}

// unknownStackOf warns that nvlink cannot say how much stack a kernel needs, because
// of recursion.
func unknownStackOf(symbols *symbolTable, calls *callGraph, report *linkReport, k symbolID, first int32) {
	const id = "stack-size-unknown"
	y := &symbols.list[k]
	m := &message.Message{Severity: message.Warning, ID: id, Symbol: y.name, Origin: message.Origin{File: y.origin},
		Text: fmt.Sprintf("Stack size for entry function '%s' cannot be statically determined", y.name)}
	if report.explains(id) {
		chain := "the calls are " + recursion(symbols, calls, k, first)
		if !slices.ContainsFunc(report.messages, func(m *message.Message) bool { return slices.Contains(m.Notes, chain) }) {
			m.Notes = []string{chain}
			m.Hint = "set the stack with cudaDeviceSetLimit(cudaLimitStackSize, ...); -suppress-stack-size-warning hides this"
		}
	}
	report.messages = append(report.messages, m)
}

func undefined(symbols *symbolTable, sections *sectionTable, calls *callGraph, report *linkReport, id symbolID) {
	const kind = "undefined-symbol"
	y := &symbols.list[id]
	var notes []string
	if report.explains(kind) {
		notes = explainUndefined(symbols, sections, calls, id)
	}
	report.fail(kind, y, fmt.Sprintf("Undefined reference to '%s' in '%s'", y.name, y.from), notes...)
}

// duplicate notes a second strong definition. nvlink names as the first place
// of a variable the one that first referred to it.
func duplicate(symbols *symbolTable, report *linkReport, o *object, y *elf64.Symbol, id symbolID) {
	old := &symbols.list[id]
	var notes []string
	if old.origin != old.from {
		notes = append(notes, fmt.Sprintf("'%s' defines it, '%s' refers to it", old.origin, old.from))
	}
	//rule: A second definition names the first input that knew the symbol.
	//mutate: old.from -> o.name
	report.clash("duplicate-symbol", o, y.Name, notes, "Multiple definition of '%s' in '%s', first defined in '%s'",
		y.Name, o.name, old.from)
}

// spaces are the kinds of variables in the words of CUDA.
var spaces = map[uint8]string{cubin.STO_CUDA_GLOBAL: "__device__", otherManaged: "__managed__",
	cubin.STO_CUDA_CONSTANT: "__constant__"}

// spaceClash notes that two inputs disagree about the memory of a variable.
func (report *linkReport) spaceClash(o *object, y *elf64.Symbol, was *symbol) {
	what := "Memory space"
	if was.other|y.Other == otherManaged {
		what = "Managed attribute"
	}
	notes := []string{fmt.Sprintf("it is a %s variable in '%s', and a %s variable in '%s'", spaces[was.other], was.from,
		spaces[y.Other], o.name)}
	report.clash("space-mismatch", o, y.Name, notes, "%s doesn't match for '%s' in '%s', first specified in '%s'", what,
		y.Name, o.name, was.from)
}

// prototypeClash notes that two inputs disagree about a function's parameters.
func prototypeClash(symbols *symbolTable, calls *callGraph, report *linkReport, o *object, id symbolID, name string) {
	y := &symbols.list[id]
	notes := []string{fmt.Sprintf("the prototypes are '%s' and '%s'", calls.prototypes.names[y.function.prototype], name)}
	report.clash("prototype-mismatch", o, y.name, notes,
		"Prototype doesn't match for '%s' in '%s', first defined in '%s'", y.name, o.name, y.from)
}

// clash notes an error after which no further input is brought in.
func (report *linkReport) clash(id string, o *object, symbol string, notes []string, format string, args ...any) {
	report.messages = append(report.messages, &message.Message{Severity: message.Error, ID: id, Text: fmt.Sprintf(format,
		args...),
		Symbol: symbol, Origin: message.Origin{File: o.name}, Notes: notes})
}

// mergeFailed ends the link if an input clashed with those before it.
func (report *linkReport) mergeFailed() error {
	if !report.failed() {
		return nil
	}
	return append(report.messages, &message.Message{Severity: message.Fatal, ID: "merge-failed",
		Text: "merge_elf failed"})
}
