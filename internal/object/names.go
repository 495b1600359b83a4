package object

import (
	"bytes"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/message"
)

// CodeName returns nvcc's name for the code of a module: "lto_80", "compute_80", "sm_80".
func (m *Module) CodeName() string {
	number := m.Arch.Digits()
	switch m.Kind {
	case NVVM:
		return "lto_" + number
	case PTX:
		return "compute_" + number
	}
	return "sm_" + number
}

// Text returns PTX without the NULs that may follow it in a fat binary, because ptxas
// does not accept them.
func (m *Module) Text() ([]byte, error) {
	text, err := m.Data()
	return bytes.TrimRight(text, "\x00"), err
}

// Namesakes returns the objects of one origin, each once. There are several only if
// "ld -r" made a file of them or members of an archive share a name.
func Namesakes(objects []*Object, origin message.Origin) []*Object {
	var list []*Object
	for _, o := range objects {
		if o.Origin == origin && IndexOf(list, o) < 0 {
			list = append(list, o)
		}
	}
	return list
}

// IndexOf returns the index of an object among its namesakes, which differ in the position of
// their code, or -1.
func IndexOf(namesakes []*Object, o *Object) int {
	return slices.IndexFunc(namesakes, func(other *Object) bool {
		return other.Fatbin.Path == o.Fatbin.Path && other.Fatbin.Offset == o.Fatbin.Offset
	})
}

// DeviceRuntime is in the name of libcudadevrt, by which nvlink recognizes it.
const DeviceRuntime = "cudadevrt"

// NamesDeviceRuntime reports whether nvlink takes a file for libcudadevrt, or a member of
// it.
func NamesDeviceRuntime(name string) bool { return strings.Contains(name, DeviceRuntime) }
