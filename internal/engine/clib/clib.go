// Package clib calls C libraries without cgo. It is used in workers only.
package clib

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// Load opens a library and sets each function variable to the symbol it is
// listed under.
func Load(path string, functions map[string]any) error {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return err
	}
	for name, function := range functions {
		address, err := purego.Dlsym(handle, name)
		if err != nil {
			return err
		}
		purego.RegisterFunc(function, address)
	}
	return nil
}

// Strings returns an array of C strings.
func Strings(texts []string) **byte {
	pointers := make([]*byte, len(texts)+1)
	for i, t := range texts {
		pointers[i] = unsafe.SliceData(append([]byte(t), 0))
	}
	return &pointers[0]
}
