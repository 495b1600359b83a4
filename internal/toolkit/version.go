package toolkit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/pattern"
)

// A Version is that of the compiler tools, 13.0.88. A patch of 0 is unknown,
// and so is the whole with a major of 0.
type Version struct{ Major, Minor, Patch int }

// Release returns the version without its patch number.
func (v Version) Release() gpu.Release { return gpu.Release{Major: v.Major, Minor: v.Minor} }

// Known reports whether at least the release is known.
func (v Version) Known() bool { return v.Release().Known() }

// SameRelease reports whether both are known to be of one release, such as 13.0.
func (v Version) SameRelease(w Version) bool { return v.Known() && v.Release() == w.Release() }

func (v Version) String() string {
	switch {
	case !v.Known():
		return "of unknown version"
	case v.Patch == 0:
		return fmt.Sprintf("%d.%d", v.Major, v.Minor)
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

func (v Version) compare(w Version) int {
	return cmp.Or(gpu.CompareReleases(v.Release(), w.Release()), cmp.Compare(v.Patch, w.Patch))
}

// versionOf reads the version of the toolkit in root from what its layout has;
// the sources with a patch number come first.
func versionOf(root string) Version {
	sources := []func(string) Version{
		versionFromList, versionFromTool, versionFromLibraryName, versionFromWheel, versionFromHeader, versionFromDirectory,
	}
	for _, source := range sources {
		if v := source(root); v.Known() {
			return v
		}
	}
	return Version{}
}

// versionFromList reads the version.json that NVIDIA's installer writes.
func versionFromList(root string) Version {
	return parseVersionList(readHead(filepath.Join(root, "version.json"), 1<<20))
}

func parseVersionList(data []byte) Version {
	var list struct {
		NVCC struct{ Version string } `json:"cuda_nvcc"`
	}
	if json.Unmarshal(data, &list) != nil {
		return Version{}
	}
	return parseVersion(wholeVersion(), list.NVCC.Version)
}

// versionFromTool reads the text that every compiler tool prints for
// --version ("release 13.0, V13.0.88"). bin2c is there wherever nvcc is, and
// is the smallest of them by far.
func versionFromTool(root string) Version {
	for _, dir := range binDirs {
		data := readHead(filepath.Join(root, dir, "bin2c"), 1<<20)
		if v := parseVersion(printedVersion(), string(data)); v.Known() {
			return v
		}
	}
	return Version{}
}

// Build is the line that the tools of the toolkit print beneath their version, or
// empty: "Build cuda_13.0.r13.0/compiler.36424714_0".
func (t *Toolkit) Build() string {
	for _, dir := range binDirs {
		if text := printedBuild().Find(readHead(filepath.Join(t.Root, dir, "bin2c"), 1<<20)); text != nil {
			return string(text)
		}
	}
	return ""
}

// versionFromLibraryName takes it from libnvJitLink.so.13.0.88, a name that
// the layouts of NVIDIA and conda have.
func versionFromLibraryName(root string) Version {
	for _, dir := range libDirs {
		for _, name := range glob(filepath.Join(root, dir), "libnvJitLink.so.*.*.*") {
			if v := parseVersion(libraryVersion(), filepath.Base(name)); v.Known() {
				return v
			}
		}
	}
	return Version{}
}

// versionFromWheel takes it from the *.dist-info directories that pip puts
// beside the package: site-packages/nvidia/cu13 is the root.
func versionFromWheel(root string) Version {
	site := filepath.Join(root, "..", "..")
	for _, wheel := range []string{"nvidia_cuda_nvcc", "nvidia_nvvm", "nvidia_nvjitlink"} {
		for _, name := range glob(site, wheel+"-*.dist-info") {
			if v := parseVersion(wheelVersion(), filepath.Base(name)); v.Known() {
				return v
			}
		}
	}
	return Version{}
}

// versionFromHeader reads CUDA_VERSION from cuda.h: 13040 is 13.4.
func versionFromHeader(root string) Version {
	dirs := append([]string{"include"}, below("targets", host.targets, "include")...)
	for _, dir := range dirs {
		if v := parseHeader(readHead(filepath.Join(root, dir, "cuda.h"), 256<<10)); v.Known() {
			return v
		}
	}
	return Version{}
}

func parseHeader(data []byte) Version {
	m := headerVersion().FindSubmatch(data)
	if m == nil {
		return Version{}
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return Version{}
	}
	return Version{Major: n / 1000, Minor: n % 1000 / 10}
}

// versionFromDirectory takes it from the name cuda-13.0.
func versionFromDirectory(root string) Version {
	return parseVersion(directoryVersion(), filepath.Base(root))
}

var (
	wholeVersion     = pattern.Lazy(`^(\d+)\.(\d+)(?:\.(\d+))?`)
	printedVersion   = pattern.Lazy(`release \d+\.\d+, V(\d+)\.(\d+)\.(\d+)`)
	printedBuild     = pattern.Lazy(`Build cuda_[\w.]+/[\w.]+`)
	libraryVersion   = pattern.Lazy(`\.so\.(\d+)\.(\d+)\.(\d+)$`)
	wheelVersion     = pattern.Lazy(`-(\d+)\.(\d+)(?:\.(\d+))?.*\.dist-info$`)
	directoryVersion = pattern.Lazy(`^cuda-(\d+)\.(\d+)(?:\.(\d+))?$`)
	headerVersion    = pattern.Lazy(`(?m)^#define CUDA_VERSION (\d+)`)
)

// parseVersion takes the groups of the expression as major, minor and patch.
// Numbers too large to be versions make it unknown.
func parseVersion(re *regexp.Regexp, text string) Version {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return Version{}
	}
	var n [3]int
	for i, s := range m[1:] {
		if s == "" {
			continue
		}
		var err error
		if n[i], err = strconv.Atoi(s); err != nil {
			return Version{}
		}
	}
	return Version{n[0], n[1], n[2]}
}

var digits = pattern.Lazy(`\d+`)

// compareNumbers orders names by the numbers in them, so that 13.10 follows 13.9.
func compareNumbers(a, b string) int {
	as, bs := digits().FindAllString(a, -1), digits().FindAllString(b, -1)
	for i := 0; i < len(as) && i < len(bs); i++ {
		if c := cmp.Or(cmp.Compare(len(as[i]), len(bs[i])), cmp.Compare(as[i], bs[i])); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(a, b))
}

// readHead gives up to limit bytes from the start of a file, or nothing.
func readHead(path string, limit int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data := make([]byte, min(info.Size(), limit))
	if _, err := io.ReadFull(f, data); err != nil {
		return nil
	}
	return data
}
