package hostelf_test

import (
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/object/hostelf"
)

// TestLists holds the two orders of the lists, both of which are nvlink's.
func TestLists(t *testing.T) {
	var sections []string
	for _, l := range (&hostelf.HostRefs{}).Lists() {
		sections = append(sections, l.Section)
	}
	if want := []string{".nvHRKE", ".nvHRKI", ".nvHRDE", ".nvHRDI", ".nvHRCE", ".nvHRCI"}; !slices.Equal(sections, want) {
		t.Errorf("sections %v; want %v", sections, want)
	}
	if got, want := hostelf.RefOptions(), []string{"ek", "ik", "ec", "ic", "eg", "ig"}; !slices.Equal(got, want) {
		t.Errorf("options %v; want %v", got, want)
	}
	refs := &hostelf.HostRefs{}
	for _, l := range refs.ListsByOption() {
		*l.Patterns = append(*l.Patterns, l.Section)
	}
	if refs.Constants.Internal[0] != ".nvHRCI" || refs.Devices.External[0] != ".nvHRDE" {
		t.Errorf("%+v", refs)
	}
}
