// Package merge makes one cubin of relocatable ones: the last step of every link
// that is not a whole program for ptxas.
//
// There are two mergers, the toolkit's nvlink and warpld itself (own.go, and
// package device). Both are run as actions like every other, with the same
// arguments and inputs: files that hold just the code and the host references
// that count, under names by their place in the link.
package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/pattern"
)

// A Form is the kind of file a part comes in, which decides what nvlink expects of
// it.
type Form string

const (
	Carried Form = "o"      // a fat binary in a host object
	Cubin   Form = "cubin"  // a cubin by itself
	Fatbin  Form = "fatbin" // a fat binary by itself
)

// A Part is one piece of code to merge.
type Part struct {
	// Origin is what messages call it.
	Origin string
	Form   Form
	// Code gives the cubin or the fat binary.
	Code func() ([]byte, error)
	// Cubin returns the cubin without the fat binary. If it is nil, Code returns the cubin.
	Cubin func() ([]byte, error)
	// ID and Refs are those of the host object that carried the code.
	ID   string
	Refs *hostelf.HostRefs
	// Runtime marks libcudadevrt, of which nvlink takes only what is needed; it
	// knows it by its name.
	Runtime bool
}

// A Merger is a program that merges, and how it is run.
type Merger struct {
	Tool action.File
	// First are the arguments before those of nvlink, and Also what it writes
	// beside what nvlink does.
	First, Also []string
	// own has the options of this program, which can merge without another process. It is
	// nil if another program is the merger.
	own   *Settings
	Env   []string
	Limit time.Duration
	// FileLimit is more than the result of sound inputs can need.
	FileLimit int64
}

// Vendor is the toolkit's nvlink.
func Vendor(nvlink string) Merger {
	return Merger{Tool: action.File{Name: "nvlink", Content: action.AtPath(nvlink)}}
}

// maxPatterns is how many bytes of patterns nvlink gets. An argument has at most 128 KiB.
const maxPatterns = 96 << 10

// VendorArguments returns nvlink's arguments for a merge. If the host references are known
// before it, -kernels-used tells nvlink.
func (s *Settings) VendorArguments(arguments []string, parts []Part) []string {
	inputs := make([]device.Input, len(parts))
	for i := range parts {
		inputs[i] = parts[i].input(i).input
	}
	if list := strings.Join(device.PatternsOfLaunched(&s.Options, inputs), ","); list != "" && len(list) <= maxPatterns {
		arguments = append(slices.Clone(arguments), "-kernels-used="+list)
	}
	return arguments
}

// Names of files in the working directory.
const (
	outputFile   = "linked.cubin"
	registerFile = "registered.c"
	emptyFile    = "nothing.o"
)

// Action is the action that merges the parts in their order.
func (m Merger) Action(parts []Part, arguments []string) *action.Action {
	a := &action.Action{
		Label:   "merge",
		Tool:    m.Tool,
		Args:    slices.Concat(m.First, arguments, []string{"-o", outputFile, "--register-link-binaries=" + registerFile}),
		Env:     m.Env,
		Outputs: append([]string{outputFile, registerFile}, m.Also...),
		Limit:   m.Limit, FileLimit: m.FileLimit,
	}
	if m.own != nil {
		a.InProcess = func() *action.Result { return m.own.mergeParts(parts) }
	}
	for i, p := range parts {
		f := action.File{Name: p.name(i), Origin: p.Origin, Content: action.Content{Load: p.file}}
		a.Inputs = append(a.Inputs, f)
		a.Args = append(a.Args, f.Name)
	}
	if len(parts) == 0 {
		// nvlink wants a file, and makes an empty cubin of an empty one.
		a.Inputs = []action.File{{Name: emptyFile, Content: action.Bytes(nil)}}
		a.Args = append(a.Args, emptyFile)
	}
	return a
}

func (p *Part) name(place int) string {
	runtime := ""
	if p.Runtime {
		runtime = "-" + object.DeviceRuntime
	}
	return fmt.Sprintf("part-%05d%s.%s", place, runtime, p.Form)
}

// file is the part as nvlink reads it.
func (p *Part) file() ([]byte, error) {
	code, err := p.Code()
	if err != nil || p.Form != Carried {
		return code, err
	}
	return hostelf.Carry(code, p.ID, p.Refs), nil
}

// An Outcome is a merge that went well.
type Outcome struct {
	Cubin action.Content
	// Registered are the IDs of the parts that are in the result.
	Registered []string
	Said       []*message.Message
	// Removed are the functions that the result lacks; nvlink doesn't tell.
	Removed []device.Removal
	// DedupedBytes is how many bytes of variables were left out that were there twice.
	DedupedBytes uint64
}

// Registration is the text that nvcc compiles into the host program: the ids of
// the objects whose device code was linked.
func Registration(ids []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#define NUM_PRELINKED_OBJECTS %d\n", len(ids))
	for _, id := range ids {
		fmt.Fprintf(&b, "DEFINE_REGISTER_FUNC(%s)\n", id)
	}
	return b.String()
}

// hostless is what nvlink says of inputs without host code. Which ones had it is
// the plan's to say; here all files are of our making.
var hostless = pattern.Lazy(`(?m)^nvlink info    : Input '.*' has no host code, which could .*\n`)

var registered = pattern.Lazy(`DEFINE_REGISTER_FUNC\((.*)\)`)

// ParseResult returns what a merge by nvlink made. The error is what nvlink said, with the
// user's names for the parts.
func ParseResult(parts []Part, r *action.Result) (*Outcome, error) {
	said := message.Parse(hostless().ReplaceAllString(withOrigins(string(r.Stdout)+string(r.Stderr), parts), ""))
	for _, m := range said {
		m.PolicyExempt = true // the merger was told of -Werror and the like
	}
	if !r.OK() {
		return nil, failure(said, r)
	}
	return outcome(said, r)
}

// outcome reads what a merge has written.
func outcome(said []*message.Message, r *action.Result) (*Outcome, error) {
	out := &Outcome{Cubin: r.Outputs[outputFile], Said: said}
	if err := checkCubin(out.Cubin); err != nil {
		return nil, append(message.List(said), &message.Message{Severity: message.Fatal, ID: "merge-unsound",
			Text: "the merge of the device code gave no sound cubin", Notes: []string{err.Error()},
			Hint: "an input may be damaged; 'warpld inspect' shows what is in it", Cause: err})
	}
	text, err := r.Outputs[registerFile].Read()
	if err != nil {
		return nil, err
	}
	for _, match := range registered().FindAllStringSubmatch(string(text), -1) {
		out.Registered = append(out.Registered, match[1])
	}
	return out, nil
}

// checkCubin reads as much of the result as every later reader must: nvlink does not
// check all that damaged inputs say.
func checkCubin(c action.Content) error {
	r, err := c.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = cubin.Open(r, c.Size())
	return err
}

// failure is what ended the merge. nvlink explains itself unless it crashed.
func failure(said []*message.Message, r *action.Result) error {
	explained := slices.ContainsFunc(said, func(m *message.Message) bool { return m.Severity >= message.Error })
	if explained && r.Ending() == "" {
		return message.List(said)
	}
	how := fmt.Sprintf("ended with exit code %d", r.ExitCode)
	if len(r.Missing) > 0 {
		how = "wrote no " + strings.Join(r.Missing, ", ")
	}
	how = cmp.Or(r.Ending(), how)
	return append(message.List(said), &message.Message{Severity: message.Fatal, ID: "merge-failed",
		Text: "the merge of the device code failed: nvlink " + how,
		Hint: "--warpld-keep keeps the working directory of the merge"})
}

var partName = pattern.Lazy(`part-(\d{5,})(?:-cudadevrt)?\.(?:o|cubin|fatbin)`)

// withOrigins puts the user's names in the place of ours.
func withOrigins(text string, parts []Part) string {
	return partName().ReplaceAllStringFunc(text, func(name string) string {
		place, err := strconv.Atoi(partName().FindStringSubmatch(name)[1])
		if err != nil || place >= len(parts) {
			return name
		}
		return parts[place].Origin
	})
}
