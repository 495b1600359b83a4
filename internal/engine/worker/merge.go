package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/arch"
	"github.com/warpld/warpld/internal/plan"
)

// A merging is a merge as the arguments describe it: nvlink's, and a few of ours.
type merging struct {
	options  device.Options
	record   []string
	output   string
	register string
	files    []string
	// warningsAsErrors: nvlink would fail after a warning, in words of its own.
	warningsAsErrors bool
}

// mergeParts merges relocatable cubins. It gives an answer also when there is no
// output; an error means that there is none.
func mergeParts(args []string) error {
	var answer merge.Answer
	m, err := parseMerging(args)
	var out *device.Output
	var ids []string
	if errors.Is(err, errUsage) {
		return err
	}
	if err == nil {
		out, ids, err = m.run()
	}
	var unknown *device.Unsupported
	switch {
	case errors.As(err, &unknown):
		answer.NotCovered = unknown.Error()
		fmt.Fprintln(os.Stderr, "worker:", unknown)
	case err != nil:
		answer.Failed, answer.Messages = true, message.Of(err)
	default:
		answer.Messages, answer.Removed = out.Messages, out.Removed
	}
	for _, said := range answer.Messages {
		said.Cause = nil // of no type that could be read back
		os.Stderr.WriteString(message.Style{}.Render(said))
	}
	return m.write(out, ids, &answer)
}

// parseMerging understands those options of nvlink that the merger does.
func parseMerging(args []string) (*merging, error) {
	m := &merging{}
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		switch o := &m.options; {
		case args[i] == "-o" && i+1 < len(args):
			i++
			m.output = args[i]
		case name == "--register-link-binaries":
			m.register = value
		case name+"=" == merge.ToolkitOption:
			o.Toolkit, _ = strconv.Atoi(value)
		case name+"=" == merge.RecordOption:
			m.record = append(m.record, value)
		case name == "-arch":
			o.Arch, _ = arch.Parse(value)
		case name == "-kernels-used":
			o.KernelsUsed = strings.Split(value, ",")
		case name == "-variables-used":
			o.VariablesUsed = strings.Split(value, ",")
		case name == "-ignore-host-info":
			o.IgnoreHostInfo = true
		case name == "-keep-system-libraries":
			o.KeepSystemLibraries = true
		case name == "-suppress-stack-size-warning":
			o.SuppressStackSizeWarning = true
		case name == "-Werror":
			m.warningsAsErrors = true
		case name == "-m64", name == "-w", name == "-disable-infos": // what to do with messages is decided where they are shown
		case strings.HasPrefix(name, "-"):
			return m, &device.Unsupported{What: "the option " + name}
		case has || name != "":
			m.files = append(m.files, args[i])
		}
	}
	if m.output == "" || len(m.record) != 5 {
		return m, fmt.Errorf("%w: an output and five fields of a record are wanted", errUsage)
	}
	r := &m.options.Record
	r.Output, r.Name, r.Version, r.Build, r.Options = m.record[0], m.record[1], m.record[2], m.record[3], m.record[4]
	return m, nil
}

// run merges, and names the objects that are in the output.
func (m *merging) run() (*device.Output, []string, error) {
	objects, err := object.ReadAll(object.Inputs{Files: m.files}, func(*message.Message) {}) // the link has said it all
	if err != nil {
		return nil, nil, err
	}
	var inputs []device.Input
	for _, o := range objects {
		in, err := inputOf(o)
		if err != nil {
			return nil, nil, err
		}
		inputs = append(inputs, in)
	}
	out, err := device.Merge(inputs, m.options)
	if err == nil && m.warningsAsErrors && len(out.Messages) > 0 {
		err = &device.Unsupported{What: "what nvlink says after a warning with -Werror"}
	}
	if err != nil {
		return nil, nil, err
	}
	var ids []string
	for i, taken := range out.Taken {
		if id := objects[i].RegisterID; taken && id != "" {
			ids = append(ids, id)
		}
	}
	return out, ids, nil
}

// inputOf is a part as the merger sees it.
func inputOf(o *object.Object) (device.Input, error) {
	in := device.Input{Name: o.Origin.String(), Runtime: plan.IsDeviceRuntime(o), Host: device.HostAbsent}
	if len(o.Modules) != 1 || o.Modules[0].Kind != object.ELF {
		return in, &device.Unsupported{Input: in.Name, What: "a file that does not hold just one cubin"}
	}
	switch {
	case o.Kind != object.HostObject:
	case o.HostRefs == nil:
		in.Host = device.HostUnknown
	default:
		in.Host = device.HostKnown
		in.LaunchedExternal, in.LaunchedInternal = o.HostRefs.Kernels.External, o.HostRefs.Kernels.Internal
	}
	var err error
	in.Cubin, err = o.Modules[0].Data()
	return in, err
}

// write leaves all files that the link expects.
func (m *merging) write(out *device.Output, ids []string, answer *merge.Answer) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	var code []byte
	if out != nil {
		code = out.Cubin
	}
	err = errors.Join(write(m.output, code), write(merge.AnswerFile, text))
	if m.register != "" {
		err = errors.Join(err, write(m.register, []byte(merge.Registration(ids))))
	}
	return err
}
