package hostelf

// A RefList is one of the six lists of what host code refers to.
type RefList struct {
	Section string // that holds the list in host objects
	Option  string // libnvvm's word for it, behind RefOptionPrefix
	What    string // as people call it
	// Kernels: the list is of kernels. The others are of variables.
	Kernels  bool
	Patterns *[]string
}

// RefOptionPrefix begins libnvvm's options for the lists.
const RefOptionPrefix = "-host-ref-"

// Flag returns libnvvm's option for the list: "-host-ref-ek".
func (l RefList) Flag() string { return RefOptionPrefix + l.Option }

// libnvvm's words for the lists of kernels.
const (
	ExternalKernels = "ek"
	InternalKernels = "ik"
)

// Lists returns the lists in the order of their sections.
func (h *HostRefs) Lists() []RefList {
	return []RefList{
		{externalKernels, ExternalKernels, "kernels", true, &h.Kernels.External},
		{".nvHRKI", InternalKernels, "static kernels", true, &h.Kernels.Internal},
		{".nvHRDE", "eg", "variables", false, &h.Devices.External},
		{".nvHRDI", "ig", "static variables", false, &h.Devices.Internal},
		{".nvHRCE", "ec", "constants", false, &h.Constants.External},
		{".nvHRCI", "ic", "static constants", false, &h.Constants.Internal},
	}
}

// ListsByOption returns the lists in the order in which nvlink passes them to libnvvm:
// constants before other variables.
func (h *HostRefs) ListsByOption() []RefList {
	l := h.Lists()
	return []RefList{l[0], l[1], l[4], l[5], l[2], l[3]}
}

// RefOptions returns libnvvm's words for the lists, in the order of ListsByOption.
func RefOptions() []string {
	var words []string
	for _, l := range (&HostRefs{}).ListsByOption() {
		words = append(words, l.Option)
	}
	return words
}
