package gpu

import "strings"

// IsDriverFunction reports whether the driver defines a function that PTX declares and
// every program may call.
func IsDriverFunction(name string) bool {
	switch name {
	case "vprintf", "malloc", "free", "__assertfail":
		return true
	}
	return false
}

// IsSystemCall reports whether a function is one of those by which the device runtime
// calls the driver.
func IsSystemCall(name string) bool { return strings.HasPrefix(name, "__cuda_syscall") }
