package plan

import (
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
)

// hostReferenceOptions tell libnvvm which kernels and variables the host can name;
// all others may go. Each list holds glob patterns, joined by commas.
func hostReferenceOptions(o *options.Options, chosen *choice) []string {
	return referenceVector(hostReferences(o, chosen))
}

// hostReferences are those lists by their short names; nil: anything may be named.
func hostReferences(o *options.Options, chosen *choice) map[string][]string {
	kernels, variables := contained(o.KernelsUsed), contained(o.VariablesUsed)
	if len(kernels) > 0 || len(variables) > 0 {
		return map[string][]string{"ek": kernels, "ik": kernels,
			"ec": variables, "ic": variables, "eg": variables, "ig": variables}
	}
	if o.IgnoreHostInfo || chosen.silent {
		return nil
	}
	lists, launches := map[string][]string{}, false
	seen := map[string]bool{}
	// nvlink walks from the last object to the first, and in each from the last
	// name to the first; a name keeps its first place of that walk.
	for i := len(chosen.host) - 1; i >= 0; i-- {
		obj := chosen.host[i]
		for _, l := range referenceLists(obj.HostRefs) {
			for j := len(l.patterns) - 1; j >= 0; j-- {
				launches = launches || l.kernels && !IsDeviceRuntime(obj)
				if name := l.option + "=" + l.patterns[j]; !seen[name] {
					seen[name] = true
					lists[l.option] = append(lists[l.option], l.patterns[j])
				}
			}
		}
	}
	if !launches {
		return nil // a program that launches nothing keeps everything
	}
	return lists
}

// warnOfLostKernels speaks of what nvlink does in silence: bare device code has no
// host code to name its kernels, so the references of other objects remove them.
func (p *Plan) warnOfLostKernels(pieces []Piece, chosen *choice) {
	if chosen.named {
		return
	}
	var bare []string
	for _, piece := range pieces {
		if piece.Object.Kind != object.HostObject {
			bare = append(bare, piece.Object.Origin.String())
		}
	}
	if len(bare) > 0 {
		p.report(&message.Message{Severity: message.Warning, Extra: true, ID: "bare-kernels",
			Text:  fmt.Sprintf("kernels of '%s' are removed unless host code of other objects names them", bare[0]),
			Notes: []string{"without host code: " + message.FirstFew(bare)},
			Hint:  "-ignore-host-info keeps everything, -kernels-used keeps what it names"})
	}
}

type referenceList struct {
	option   string
	kernels  bool
	patterns []string
}

func referenceLists(r *object.HostRefs) []referenceList {
	return []referenceList{
		{"ek", true, r.Kernels.External}, {"ik", true, r.Kernels.Internal},
		{"ec", false, r.Constants.External}, {"ic", false, r.Constants.Internal},
		{"eg", false, r.Devices.External}, {"ig", false, r.Devices.Internal},
	}
}

// referenceVector writes the lists that aren't empty, in nvlink's order.
func referenceVector(lists map[string][]string) []string {
	var vector []string
	for _, option := range []string{"ek", "ik", "ec", "ic", "eg", "ig"} {
		if len(lists[option]) > 0 {
			vector = append(vector, "-host-ref-"+option+"="+strings.Join(lists[option], ","))
		}
	}
	return vector
}

// contained makes patterns that match every name with the part in it.
func contained(parts []string) []string {
	var patterns []string
	for _, part := range parts {
		if part != "" {
			patterns = append(patterns, "*"+part+"*")
		}
	}
	return patterns
}
