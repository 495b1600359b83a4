// Package version says which warpld this is.
package version

import "runtime"

// Version is the semantic version: https://semver.org. CHANGELOG.md says what is in it.
const Version = "0.1.0"

// Full names the program, its version and what it was built for.
func Full() string {
	return "warpld " + Version + " " + runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version()
}
