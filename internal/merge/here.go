package merge

import (
	"fmt"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/merge/device"
)

// mergeParts returns what the worker would leave, without the files that carry the parts.
func (s *Settings) mergeParts(parts []Part) *action.Result {
	m, said, err := s.merge(func() ([]named, error) {
		if len(parts) == 0 {
			return nil, &device.Unsupported{What: "a link without code"}
		}
		inputs := make([]named, len(parts))
		for i := range parts {
			inputs[i] = parts[i].input(i)
		}
		return inputs, nil
	})
	if err != nil {
		return &action.Result{ExitCode: 1, Stderr: fmt.Append([]byte(said), err), Missing: []string{outputFile,
			registerFile, AnswerFile}}
	}
	return &action.Result{Stderr: []byte(said), Outputs: map[string]action.Content{
		outputFile: m.cubin, registerFile: m.registration, AnswerFile: m.answer}}
}

// input is the part as the merger sees it.
func (p *Part) input(place int) named {
	in := device.Input{Name: p.name(place), Load: p.load, Runtime: p.Runtime, Host: device.HostUnknown}
	if p.Form != Carried {
		return named{in, ""}
	}
	if p.Refs != nil {
		in.Host = device.HostKnown
		in.LaunchedExternal, in.LaunchedInternal = p.Refs.Kernels.External, p.Refs.Kernels.Internal
	}
	return named{in, p.ID}
}

// load gives the code without what it comes in.
func (p *Part) load() ([]byte, error) {
	if p.Cubin != nil {
		return p.Cubin()
	}
	code, err := p.Code()
	if err != nil || p.Form == Cubin {
		return code, err
	}
	return onlyCubin(code)
}
