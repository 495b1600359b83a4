package slice

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/glob"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/ptx"
)

// hostLists are libnvvm's options for what host code can name, in nvlink's order:
// external and internal kernels, constants and other variables.
var hostLists = []string{"ek", "ik", "ec", "ic", "eg", "ig"}

const (
	hostInfo   = "-has-global-host-info"
	hostPrefix = "-host-ref-"
)

// references is what the vector of the unsliced link says of the host.
type references struct {
	patterns map[string][]string
	// known: what no list names may go. Without any list everything stays.
	known bool
}

// readVector takes the host's references out of an option vector and gives the
// rest, for slices. What slices cannot have is an error.
func readVector(vector []string) (rest []string, host references, err *message.Message) {
	host.patterns = map[string][]string{}
	info := false
	for _, option := range vector {
		flag, value, _ := strings.Cut(option, "=")
		switch {
		case option == "--force-device-c":
			return nil, host, refusal("", nil, "other code is linked with the result, so nothing may be removed or made local")
		case option == "-g":
			return nil, host, refusal("", nil, "debug information (-g) is about one program")
		case flag == "-split-compile-extended":
			return nil, host, refusal("", nil, "-split-compile-extended cuts the program in its own way")
		case flag == "-split-compile", option == "--device-c":
		case option == hostInfo:
			info = true
		case strings.HasPrefix(flag, hostPrefix):
			host.known = true
			list := strings.TrimPrefix(flag, hostPrefix)
			host.patterns[list] = append(host.patterns[list], strings.Split(value, ",")...)
		default:
			rest = append(rest, option)
		}
	}
	host.known = host.known && info
	return rest, host, nil
}

// keeps says whether the host can name a symbol.
func (h *references) keeps(s *symbol) bool {
	if !h.known || s.kind == ".entry" && h.patterns["ek"] == nil && h.patterns["ik"] == nil {
		return true
	}
	return slices.ContainsFunc(h.patterns[listOf(s)], func(pattern string) bool { return glob.Match(pattern, s.name) })
}

// listOf is the list that a symbol belongs in.
func listOf(s *symbol) string {
	list := map[string]string{".entry": "k", ".const": "c", ".global": "g"}[s.kind]
	if s.linkage == ptx.Local {
		return "i" + list
	}
	return "e" + list
}

// hostVector writes lists of exact names. A program without kernels has a name in
// their list that no kernel has, because without one all kernels stay.
func hostVector(lists map[string][]string) []string {
	vector := []string{hostInfo}
	for _, list := range hostLists {
		names := lists[list]
		if list == "ek" && len(names) == 0 && len(lists["ik"]) == 0 {
			names = []string{"__none__"}
		}
		if len(names) > 0 {
			vector = append(vector, hostPrefix+list+"="+strings.Join(names, ","))
		}
	}
	return vector
}
