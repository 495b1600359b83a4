// Package arch is another name for what package gpu has, until nobody uses it.
package arch

import "github.com/warpld/warpld/internal/gpu"

// An Arch is a GPU architecture.
type Arch = gpu.Arch

// Parse reads the name of a real architecture.
func Parse(name string) (Arch, bool) { return gpu.Parse(name) }
