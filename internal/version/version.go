// Package version says which warpld this is.
package version

// Version is the semantic version: https://semver.org. CHANGELOG.md says what is in it.
const Version = "0.1.0"
