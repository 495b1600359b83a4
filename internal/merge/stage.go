package merge

import (
	"bytes"
	"cmp"
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
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
)

// ErrUsage: the arguments of a merge make no sense.
var ErrUsage = errors.New("wrong use")

// A job is a merge as the arguments of the worker describe it.
type job struct {
	settings Settings
	files    []string
	output   string
	register string
}

// A named is an input and the ID of the host object that carried it.
type named struct {
	input device.Input
	id    string
}

// DoFiles does what the arguments after Stage say, with files that open returns. The
// result is the files to write and what to print. They hold an answer also when there
// is no output; an error means that there is none.
func DoFiles(args []string, open func(name string) ([]byte, error)) (files map[string]action.Content, said string,
	err error) {
	j, err := parseJob(args)
	if err != nil {
		return nil, "", err
	}
	merged, said, err := j.settings.merge(func() ([]named, error) { return openAll(j.files, open) })
	files = map[string]action.Content{j.output: merged.cubin, AnswerFile: merged.answer}
	if j.register != "" {
		files[j.register] = merged.registration
	}
	return files, said, err
}

// openAll opens the files of the worker.
func openAll(names []string, open func(name string) ([]byte, error)) (inputs []named, err error) {
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
}

// A merged is what a merge writes.
type merged struct{ cubin, answer, registration action.Content }

// merge merges the inputs that open returns. There is an answer also when there is no
// output.
func (s *Settings) merge(open func() ([]named, error)) (m merged, said string, err error) {
	var answer Answer
	done, ids, err := s.run(open)
	var unknown *device.Unsupported
	switch {
	case errors.As(err, &unknown):
		answer.NotCovered = unknown.Error()
		said = fmt.Sprintf("worker: %v\n", unknown)
	case err != nil:
		answer.Failed, answer.Messages = true, message.Of(err)
	default:
		answer.Messages, answer.Removed, answer.DedupedBytes = done.Messages, done.Removed, done.DedupedBytes
	}
	for _, m := range answer.Messages {
		m.Cause = nil // of no type that could be read back
		said += message.Style{}.Render(m)
	}
	text, err := json.Marshal(answer)
	return merged{action.Content{Stream: newImage(&done)}, action.Bytes(text), action.Bytes([]byte(Registration(ids)))},
		said, err
}

// flags are the options of nvlink without a value that the merger knows.
var flags = map[string]func(*Settings){
	"-v":                           func(s *Settings) { s.Options.Verbose = true },
	"-r":                           func(s *Settings) { s.Options.Relocatable = true },
	"-g":                           func(s *Settings) { s.Options.Debug = true },
	"-ignore-host-info":            func(s *Settings) { s.Options.IgnoreHostInfo = true },
	"-keep-system-libraries":       func(s *Settings) { s.Options.KeepSystemLibraries = true },
	"-suppress-stack-size-warning": func(s *Settings) { s.Options.SuppressStackSizeWarning = true },
	"-Werror":                      func(s *Settings) { s.WarningsAsErrors = true },
	fixOption:                      func(s *Settings) { s.Options.FixNvlinkBugs = true },
	dedupOption:                    func(s *Settings) { s.Options.DedupWeakData = true },
	knowsOption:                    func(s *Settings) { s.Options.KnowsReferences = true },
	"-m64":                         func(*Settings) {},
	"-w":                           func(*Settings) {}, // what to do with messages is decided where they are shown
	"-disable-infos":               func(*Settings) {},
}

// valued are the options with a value that the merger knows.
var valued = map[string]func(s *Settings, value string){
	"-arch":           func(s *Settings, value string) { s.Options.Arch, _ = gpu.Parse(value) },
	"-kernels-used":   func(s *Settings, value string) { s.Options.KernelsUsed = strings.Split(value, ",") },
	"-variables-used": func(s *Settings, value string) { s.Options.VariablesUsed = strings.Split(value, ",") },
}

// Uncovered returns the first of nvlink's options that the merger does not know, or an
// empty string.
func Uncovered(arguments []string) string {
	for _, argument := range arguments {
		name, _, _ := strings.Cut(argument, "=")
		if flags[name] == nil && valued[name] == nil && strings.HasPrefix(name, "-") {
			return name
		}
	}
	return ""
}

// parseJob parses the arguments of the worker.
func parseJob(args []string) (*job, error) {
	j := &job{}
	var record []string
	for i := 0; i < len(args); i++ {
		name, value, _ := strings.Cut(args[i], "=")
		switch o := &j.settings.Options; {
		case args[i] == "-o" && i+1 < len(args):
			i++
			j.output = args[i]
		case name == "--register-link-binaries":
			j.register = value
		case name+"=" == toolkitOption:
			number, _ := strconv.Atoi(value)
			o.Release = gpu.ReleaseNumbered(number)
		case name+"=" == recordOption:
			record = append(record, value)
		case flags[name] != nil:
			flags[name](&j.settings)
		case valued[name] != nil:
			valued[name](&j.settings, value)
		case strings.HasPrefix(name, "-"):
			j.settings.NotCovered = cmp.Or(j.settings.NotCovered, name)
		case args[i] != "":
			j.files = append(j.files, args[i])
		}
	}
	if j.output == "" || len(record) != 5 {
		if j.settings.NotCovered != "" {
			return nil, &device.Unsupported{What: "the option " + j.settings.NotCovered}
		}
		return nil, fmt.Errorf("%w: an output and five fields of a record are wanted", ErrUsage)
	}
	j.settings.Options.Record = cubin.Tool{Output: record[0], Name: record[1], Version: record[2], Build: record[3],
		Options: record[4]}
	return j, nil
}

// run merges, and returns the IDs of the objects that are in the output.
func (s *Settings) run(open func() ([]named, error)) (device.Output, []string, error) {
	if s.NotCovered != "" {
		return device.Output{}, nil, &device.Unsupported{What: "the option " + s.NotCovered}
	}
	opened, err := open()
	if err != nil {
		return device.Output{}, nil, err
	}
	inputs := make([]device.Input, len(opened))
	for i := range opened {
		inputs[i] = opened[i].input
	}
	options := s.Options
	options.PassThroughSize = passThroughSize
	out, err := device.Merge(inputs, options)
	if err == nil && s.WarningsAsErrors {
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
	refused := false
	for _, m := range list {
		if m.Severity == message.Warning && !m.Extra {
			m.Severity, refused = message.Error, true
		}
	}
	if !refused {
		return nil
	}
	return list
}

// inputOf is a file as the merger sees it, and the ID of a host object.
func inputOf(name string, data []byte) (in device.Input, id string, err error) {
	in = device.Input{Name: name, Cubin: data, Runtime: object.NamesDeviceRuntime(name), Host: device.HostUnknown}
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
