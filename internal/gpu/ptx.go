package gpu

import "strconv"

// ptxVersions are the versions of PTX, each with the first release that reads it.
var ptxVersions = []struct {
	major, minor int
	since        Release
}{
	{7, 0, Release{11, 0}}, {7, 1, Release{11, 1}}, {7, 2, Release{11, 2}}, {7, 3, Release{11, 3}}, {7, 4, Release{11, 4}},
	{7, 5, Release{11, 5}}, {7, 6, Release{11, 6}}, {7, 7, Release{11, 7}}, {7, 8, Release{11, 8}}, {8, 0, Release{12, 0}},
	{8, 1, Release{12, 1}}, {8, 2, Release{12, 2}}, {8, 3, Release{12, 3}}, {8, 4, Release{12, 4}}, {8, 5, Release{12, 5}},
	{8, 6, Release{12, 7}}, {8, 7, Release{12, 8}}, {8, 8, Release{12, 9}}, {9, 0, Release{13, 0}}, {9, 1, Release{13, 1}},
	{9, 2, Release{13, 2}}, {9, 3, Release{13, 3}}, {9, 4, Release{13, 4}},
}

// ParseRelease reads a release as people write it: "13.0".
func ParseRelease(text string) (r Release, ok bool) {
	for i, c := range text {
		if c != '.' {
			continue
		}
		major, err := strconv.ParseUint(text[:i], 10, 8)
		if err != nil {
			return Release{}, false
		}
		minor, err := strconv.ParseUint(text[i+1:], 10, 8)
		return Release{int(major), int(minor)}, err == nil && major > 0
	}
	return Release{}, false
}

// PTXSince returns the first release whose driver reads a version of PTX. It returns false
// for versions that have no row.
func PTXSince(major, minor int) (since Release, known bool) {
	for _, v := range ptxVersions {
		if v.major == major && v.minor == minor {
			return v.since, true
		}
	}
	return Release{}, false
}
