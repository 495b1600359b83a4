package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/options"
)

// hostReferenceOptions returns libnvvm's options for the kernels and variables that the
// host can name; all others may be removed. Each list holds glob patterns, joined by
// commas.
func hostReferenceOptions(o *options.Options, chosen *choice) []string {
	return referenceVector(hostReferences(o, chosen))
}

// hostReferences returns those lists by libnvvm's words for them. It returns nil if
// anything may be named.
func hostReferences(o *options.Options, chosen *choice) map[string][]string {
	kernels, variables := contained(o.KernelsUsed), contained(o.VariablesUsed)
	if len(kernels) > 0 || len(variables) > 0 {
		lists := map[string][]string{}
		for _, l := range (&object.HostRefs{}).Lists() {
			lists[l.Option] = variables
			if l.Kernels {
				lists[l.Option] = kernels
			}
		}
		return lists
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
		for _, l := range obj.HostRefs.ListsByOption() {
			for _, pattern := range slices.Backward(*l.Patterns) {
				launches = launches || (l.Kernels && !IsDeviceRuntime(obj))
				if name := l.Option + "=" + pattern; !seen[name] {
					seen[name] = true
					lists[l.Option] = append(lists[l.Option], pattern)
				}
			}
		}
	}
	if !launches {
		return nil // a program that launches nothing keeps everything
	}
	return lists
}

// warnOfLostKernels reports what nvlink does without a message: bare device code has no
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

// referenceVector returns options for the lists that aren't empty, in nvlink's order.
func referenceVector(lists map[string][]string) []string {
	var vector []string
	for _, option := range hostelf.RefOptions() {
		if len(lists[option]) > 0 {
			vector = append(vector, hostelf.RefOptionPrefix+option+"="+strings.Join(lists[option], ","))
		}
	}
	return vector
}

// contained returns patterns that match every name with the part in it.
func contained(parts []string) []string {
	var patterns []string
	for _, part := range parts {
		if part != "" {
			patterns = append(patterns, "*"+part+"*")
		}
	}
	return patterns
}
