package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
)

// ErrUsage: the arguments of a merge make no sense.
var ErrUsage = errors.New("wrong use")

// A job is a merge as the arguments describe it: nvlink's, and a few of ours.
type job struct {
	options  device.Options
	record   []string
	output   string
	register string
	files    []string
	// warningsAsErrors: a warning is an error.
	warningsAsErrors bool
}

// A named input has the ID of the host object that carried it.
type named struct {
	device.Input
	id string
}

// DoFiles does what the arguments after Stage say, with files that open gives.
func DoFiles(args []string, open func(name string) ([]byte, error)) (files map[string]action.Content, said string, err error) {
	return do(args, func(names []string) ([]named, error) {
		var inputs []named
		for _, name := range names {
			data, err := open(name)
			if err != nil {
				return nil, unreadable(name, err)
			}
			in, id, err := inputOf(name, data)
			if err != nil {
				return nil, &device.Unsupported{Input: name, What: "a file that does not hold just one cubin: " + err.Error()}
			}
			inputs = append(inputs, named{in, id})
		}
		return inputs, nil
	})
}

// do does what the arguments after Stage say, with inputs for the names in them. The
// result is the files to write and what to print. They hold an answer also when
// there is no output; an error means that there is none.
func do(args []string, open func(names []string) ([]named, error)) (files map[string]action.Content, said string, err error) {
	var answer Answer
	var done device.Output
	var ids []string
	j, err := parseJob(args)
	if errors.Is(err, ErrUsage) {
		return nil, "", err
	}
	if err == nil {
		done, ids, err = j.run(open)
	}
	var unknown *device.Unsupported
	switch {
	case errors.As(err, &unknown):
		answer.NotCovered = unknown.Error()
		said = fmt.Sprintf("worker: %v\n", unknown)
	case err != nil:
		answer.Failed, answer.Messages = true, message.Of(err)
	default:
		answer.Messages, answer.Removed, answer.LeftOut = done.Messages, done.Removed, done.LeftOut
	}
	for _, m := range answer.Messages {
		m.Cause = nil // of no type that could be read back
		said += message.Style{}.Render(m)
	}
	text, err := json.Marshal(answer)
	files = map[string]action.Content{j.output: {Stream: newImage(&done)}, AnswerFile: action.Bytes(text)}
	if j.register != "" {
		files[j.register] = action.Bytes([]byte(Registration(ids)))
	}
	return files, said, err
}

// parseJob understands those options of nvlink that the merger does.
func parseJob(args []string) (*job, error) {
	j := &job{}
	for i := 0; i < len(args); i++ {
		name, value, _ := strings.Cut(args[i], "=")
		switch o := &j.options; {
		case args[i] == "-o" && i+1 < len(args):
			i++
			j.output = args[i]
		case name == "--register-link-binaries":
			j.register = value
		case name+"=" == ToolkitOption:
			number, _ := strconv.Atoi(value)
			o.Release = gpu.ReleaseNumbered(number)
		case name+"=" == RecordOption:
			j.record = append(j.record, value)
		case name == MendOption:
			o.Mend = true
		case name == OnceOption:
			o.WeakDataOnce = true
		case name == "-arch":
			o.Arch, _ = gpu.Parse(value)
		case name == "-kernels-used":
			o.KernelsUsed = strings.Split(value, ",")
		case name == "-variables-used":
			o.VariablesUsed = strings.Split(value, ",")
		case name == "-v":
			o.Verbose = true
		case name == "-r":
			o.Relocatable = true
		case name == "-g":
			o.Debug = true
		case name == "-ignore-host-info":
			o.IgnoreHostInfo = true
		case name == "-keep-system-libraries":
			o.KeepSystemLibraries = true
		case name == "-suppress-stack-size-warning":
			o.SuppressStackSizeWarning = true
		case name == "-Werror":
			j.warningsAsErrors = true
		case name == "-m64", name == "-w", name == "-disable-infos": // what to do with messages is decided where they are shown
		case strings.HasPrefix(name, "-"):
			return j, &device.Unsupported{What: "the option " + name}
		case args[i] != "":
			j.files = append(j.files, args[i])
		}
	}
	if j.output == "" || len(j.record) != 5 {
		return j, fmt.Errorf("%w: an output and five fields of a record are wanted", ErrUsage)
	}
	r := &j.options.Record
	r.Output, r.Name, r.Version, r.Build, r.Options = j.record[0], j.record[1], j.record[2], j.record[3], j.record[4]
	return j, nil
}

// run merges, and names the objects that are in the output.
func (j *job) run(open func(names []string) ([]named, error)) (device.Output, []string, error) {
	opened, err := open(j.files)
	if err != nil {
		return device.Output{}, nil, err
	}
	inputs := make([]device.Input, len(opened))
	for i := range opened {
		inputs[i] = opened[i].Input
	}
	j.options.LeaveApart = leaveApart
	out, err := device.Merge(inputs, j.options)
	if err == nil && j.warningsAsErrors {
		err = refuseWarnings(out.Messages)
	}
	if err != nil {
		return device.Output{}, nil, err
	}
	var ids []string
	for i, taken := range out.Taken {
		if taken && opened[i].id != "" {
			ids = append(ids, opened[i].id)
		}
	}
	return *out, ids, nil
}

func unreadable(name string, err error) error {
	return &message.Message{Severity: message.Fatal, ID: "merge-input", Origin: message.Origin{File: name},
		Text: fmt.Sprintf("could not read '%s'", name), Notes: []string{err.Error()}}
}

// refuseWarnings makes errors of warnings, which end the link then.
func refuseWarnings(list message.List) error {
	any := false
	for _, m := range list {
		if m.Severity == message.Warning && !m.Extra {
			m.Severity, any = message.Error, true
		}
	}
	if !any {
		return nil
	}
	return list
}

// inputOf is a file as the merger sees it, and the ID of a host object.
func inputOf(name string, data []byte) (in device.Input, id string, err error) {
	in = device.Input{Name: name, Cubin: data, Runtime: strings.Contains(name, runtimeMark), Host: device.HostUnknown}
	switch Form(strings.TrimPrefix(path.Ext(name), ".")) {
	case Cubin:
		return in, "", nil
	case Fatbin:
		in.Cubin, err = onlyCubin(data)
		return in, "", err
	}
	h, err := hostelf.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return in, "", err
	}
	if len(h.Relocatable) != 1 || len(h.ModuleIDs) != 1 {
		return in, "", fmt.Errorf("there are %d sections with device code", len(h.Relocatable))
	}
	if h.Refs.Known() {
		in.Host = device.HostKnown
		in.LaunchedExternal, in.LaunchedInternal = h.Refs.Kernels.External, h.Refs.Kernels.Internal
	}
	span := h.Relocatable[0]
	in.Cubin, err = onlyCubin(data[span.Offset : span.Offset+span.Size])
	return in, h.ModuleIDs[0], err
}

// onlyCubin is what a fat binary holds.
func onlyCubin(data []byte) ([]byte, error) {
	r := bytes.NewReader(data)
	containers, err := fatbin.Read(r, int64(len(data)))
	if err != nil {
		return nil, err
	}
	if len(containers) != 1 || len(containers[0].Members) != 1 || containers[0].Members[0].Kind != fatbin.ELF {
		return nil, errors.New("the fat binary holds something else")
	}
	return containers[0].Members[0].Payload(r, fatbin.MaxPayload)
}
