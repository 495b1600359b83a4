// Package record is what a link records about itself: one JSON document with its inputs, the
// decisions and their reasons, the steps that were run, and the output. Explanations,
// comparisons and traces are derived from it, also long after the link and on another machine.
// docs/record.md describes it.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Format is the version of the document. It changes when a reader of the old one
// would misunderstand the new one; fields that are added do not change it.
const Format = 1

// What can be wrong with a document.
var (
	ErrFormat  = errors.New("not a record of a link")
	ErrVersion = errors.New("the record is of another version of warpld")
)

// maxSize bounds what is read: a link of 10,000 objects has some 10 MB.
const maxSize = 1 << 30

// A Record is the document. Times are in microseconds since the link began.
type Record struct {
	Format    int       `json:"format"`
	Toolkit   string    `json:"toolkit"`
	Target    string    `json:"target"`
	Arguments []string  `json:"arguments"`
	Started   time.Time `json:"started"`
	Wall      int64     `json:"wall_us"`
	Exit      int       `json:"exit"`

	Inputs []Input `json:"inputs"`
	// Mode is how the link went and Reasons the rules that led to it, in the order
	// in which they applied. Both are empty if the link failed before that.
	Mode         string   `json:"mode,omitempty"`
	Reasons      []Reason `json:"reasons,omitempty"`
	Engine       string   `json:"engine,omitempty"`
	EngineReason string   `json:"engine_reason,omitempty"`
	// Options are those that the objects were compiled with and that must agree.
	Options []Option `json:"options,omitempty"`

	Phases   []Phase   `json:"phases"`
	Actions  []Action  `json:"actions"`
	Messages []Message `json:"messages"`
	Output   *File     `json:"output,omitempty"`
	Kernels  []Kernel  `json:"kernels,omitempty"`
	// Sections are those of the output, and Symbols the fate of each symbol of the inputs.
	// SymbolsTraced means that functions and references are included.
	Sections      []Section `json:"sections,omitempty"`
	Symbols       []Symbol  `json:"symbols,omitempty"`
	SymbolsTraced bool      `json:"symbols_traced,omitempty"`
}

// A File is named and digested.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// An Input is a file, or a member of an archive.
type Input struct {
	Name string `json:"name"` // as in messages: archive:member
	// File is the digest of the whole file; a member has its archive's.
	File    File     `json:"file"`
	Kind    string   `json:"kind"`
	Modules []Module `json:"modules,omitempty"`
	// SymbolsFrom is the source of the list of its symbols, or empty if they are not known.
	SymbolsFrom string `json:"symbols_from,omitempty"`
	// Uses are the inputs whose symbols it refers to, as far as that is known.
	Uses []string `json:"uses,omitempty"`
	// NotLinked is why the input is not linked.
	NotLinked string `json:"not_linked,omitempty"`
}

// A Module is one piece of device code.
type Module struct {
	Kind    string `json:"kind"`
	Target  string `json:"target"`
	Size    int64  `json:"size"`
	Options string `json:"options,omitempty"`
	// Linked marks the module that the link used.
	Linked bool `json:"linked,omitempty"`
}

// A Reason is a rule and the input that made it apply, if one did.
type Reason struct {
	Rule  string `json:"rule"`
	Input string `json:"input,omitempty"`
}

// An Option is the consensus on one compile option.
type Option struct {
	Name string `json:"name"`
	// Value is what everything is compiled with, or empty for the default.
	Value string `json:"value,omitempty"`
	// Votes lists the values of the objects, first seen first.
	Votes []Vote `json:"said"`
}

// A Vote is a value that some objects were compiled with.
type Vote struct {
	Value  string   `json:"value,omitempty"` // empty: the option was not given
	Inputs []string `json:"inputs"`
}

// A Phase is a part of the link, one after the other.
type Phase struct {
	Name  string `json:"name"`
	Start int64  `json:"start_us"`
	Wall  int64  `json:"wall_us"`
}

// An Action is one step that a tool did, or would have done.
type Action struct {
	Label string `json:"label"`
	// Kernels are those of the slice that the action is about.
	Kernels   []string `json:"kernels,omitempty"`
	Tool      string   `json:"tool"`
	Arguments []string `json:"arguments"`
	// Source is where the result is from: "ran" or "cache".
	Source string `json:"source"`
	// Where names the machine or server that the result came from, or is empty for this
	// machine.
	Where string `json:"where,omitempty"`
	// Failure is how the tool failed, or empty if it did not.
	Failure string `json:"failure,omitempty"`
	Start   int64  `json:"start_us"`
	Wall    int64  `json:"wall_us"`
	// Waited is the first part of that time, in which other actions had the processors.
	Waited int64 `json:"waited_us,omitempty"`
	CPU    int64 `json:"cpu_us"`
	Memory int64 `json:"memory"` // peak, bytes
	// Sent and Received are the bytes of the inputs, without the tools, and of the
	// outputs: what another machine would be sent and send back.
	Sent     int64 `json:"input_bytes"`
	Received int64 `json:"output_bytes"`
	// Stages are the calls that a worker of warpld made, one after the other.
	Stages []Phase `json:"stages,omitempty"`
}

// A Message is one that the link reported.
type Message struct {
	Severity string   `json:"severity"`
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Input    string   `json:"input,omitempty"`
	Symbol   string   `json:"symbol,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Hint     string   `json:"hint,omitempty"`
}

// A Kernel is one of the output, with its resources.
type Kernel struct {
	Name      string `json:"name"`
	Registers int    `json:"registers"`
	Stack     int    `json:"stack"`
	// Spills are the instructions that move registers to the stack and back.
	Spills   int    `json:"spills"`
	Barriers int    `json:"barriers"`
	Shared   uint64 `json:"shared"`
	Code     uint64 `json:"code"`
	// Textures, Surfaces and Samplers count references, not objects.
	Textures int `json:"textures,omitempty"`
	Surfaces int `json:"surfaces,omitempty"`
	Samplers int `json:"samplers,omitempty"`
	// Constant is bytes by bank.
	Constant map[string]uint64 `json:"constant,omitempty"`
}

// A Section is a part of the output.
type Section struct {
	Name   string `json:"name"`
	Offset uint64 `json:"offset"`
	Size   uint64 `json:"size"`
}

// The kinds of symbols.
const (
	KindKernel   = "kernel"
	KindVariable = "variable"
	KindFunction = "function"
)

// A Symbol is a kernel, a variable or a function that inputs define.
type Symbol struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Inputs []string `json:"inputs"`
	// Kept means that it is in the output. Reason is why, or why not, and names the cause: a
	// symbol that uses it, or an input.
	Kept        bool   `json:"kept"`
	Reason      string `json:"reason"`
	By          string `json:"by,omitempty"`
	ReasonInput string `json:"reason_input,omitempty"`
	// Section, Offset and Size are where in the output it is.
	Section string `json:"section,omitempty"`
	Offset  uint64 `json:"offset,omitempty"`
	Size    uint64 `json:"size,omitempty"`
}

// Write writes the document.
func (r *Record) Write(w io.Writer) error {
	r.Format = Format
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Read parses a document.
func Read(from io.Reader) (*Record, error) {
	r := &Record{}
	d := json.NewDecoder(io.LimitReader(from, maxSize))
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrFormat, err)
	}
	switch {
	case r.Format == 0:
		return nil, fmt.Errorf("%w: it has no format", ErrFormat)
	case r.Format != Format:
		return nil, fmt.Errorf("%w: its format is %d, this one reads %d", ErrVersion, r.Format, Format)
	}
	return r, nil
}
