package slice

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/glob"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/ptx"
)

const (
	hostInfo   = "-has-global-host-info"
	hostPrefix = hostelf.RefOptionPrefix
)

// references are what host code refers to, by the vector of the unsliced link.
type references struct {
	// names and patterns, in which * is any text, of each list.
	names    map[string]map[string]bool
	patterns map[string][]string
	// known means that there are lists, and what no list names may go. Without any list
	// everything stays.
	known bool
}

// readVector takes the host's references out of an option vector and returns the
// rest, for slices. What slices cannot have is an error.
func readVector(vector []string) (rest []string, host references, err *message.Message) {
	host.names, host.patterns = map[string]map[string]bool{}, map[string][]string{}
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
			host.add(strings.TrimPrefix(flag, hostPrefix), strings.Split(value, ","))
		default:
			rest = append(rest, option)
		}
	}
	host.known = host.known && info
	return rest, host, nil
}

// add puts entries into a list.
func (h *references) add(list string, entries []string) {
	if h.names[list] == nil {
		h.names[list] = map[string]bool{}
	}
	for _, entry := range entries {
		if strings.Contains(entry, "*") {
			h.patterns[list] = append(h.patterns[list], entry)
		} else {
			h.names[list][entry] = true
		}
	}
}

// keeps reports whether the host can name a symbol.
func (h *references) keeps(s *symbol) bool {
	noKernels := h.names[hostelf.ExternalKernels] == nil && h.names[hostelf.InternalKernels] == nil
	if !h.known || (s.kind == ".entry" && noKernels) {
		return true
	}
	list := listOf(s)
	return h.names[list][s.name] || slices.ContainsFunc(h.patterns[list], func(pattern string) bool {
		return glob.Match(pattern, s.name)
	})
}

// listOf returns the list that a symbol belongs in.
func listOf(s *symbol) string {
	list := ""
	switch s.kind {
	case ".entry":
		list = "k"
	case ".const":
		list = "c"
	case ".global":
		list = "g"
	}
	if s.linkage == ptx.Local {
		return "i" + list
	}
	return "e" + list
}

// hostVector writes lists of exact names. A program without kernels has a name in
// their list that no kernel has, because without one all kernels stay.
func hostVector(lists map[string][]string) []string {
	vector := []string{hostInfo}
	for _, list := range hostelf.RefOptions() {
		names := lists[list]
		if list == hostelf.ExternalKernels && len(names) == 0 && len(lists[hostelf.InternalKernels]) == 0 {
			names = []string{"__none__"}
		}
		if len(names) > 0 {
			vector = append(vector, hostPrefix+list+"="+strings.Join(names, ","))
		}
	}
	return vector
}
