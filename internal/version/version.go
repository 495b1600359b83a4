// Package version identifies this build of warpld.
package version

import (
	"runtime"
	"runtime/debug"
)

// Version is the semantic version: https://semver.org. CHANGELOG.md lists the changes.
const Version = "0.1.0"

// commit is the revision of a build that has no version control information, such as a
// package. packaging/build sets it with -ldflags=-X.
var commit string

// Full returns the name of the program, its version, its platform, the release of Go and,
// if it is known, the commit it was built from.
func Full() string {
	info, _ := debug.ReadBuildInfo()
	return full(commit, info)
}

func full(commit string, info *debug.BuildInfo) string {
	text := "warpld " + Version + " " + runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version()
	modified := false
	if commit == "" && info != nil {
		commit, modified = revision(info.Settings)
	}
	if commit == "" {
		return text
	}
	text += " commit " + commit
	if modified {
		text += " (modified)"
	}
	return text
}

// revision returns the commit that the go command embedded, and reports whether files
// differed from it.
func revision(settings []debug.BuildSetting) (commit string, modified bool) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return commit, modified
}
