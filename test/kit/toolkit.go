// Package kit is what the suites that need real CUDA tools share: where the
// tools and the built corpora are, how a linker is run, and how two results
// are compared. The environment that it reads is set by .ci/run.
package kit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Archs are the targets for which every suite links.
var Archs = []string{"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}

// Full says that suites run in their full form, which takes too long for CI where
// nvlink's answers are not kept from a run before.
func Full() bool { return os.Getenv("WARPLD_TEST_FULL") == "1" }

// A Toolkit is an installed CUDA toolkit.
type Toolkit struct {
	Root    string
	Version string // as in 13.0.88
}

// Release is the version without its last part, as in 13.0; folders of built
// objects are named after it.
func (t Toolkit) Release() string { return t.Version[:strings.LastIndexByte(t.Version, '.')] }

// Tool is the path of a program of the toolkit.
func (t Toolkit) Tool(name string) string { return filepath.Join(t.Root, "bin", name) }

// NVVM is the folder that -nvvmpath names.
func (t Toolkit) NVVM() string { return filepath.Join(t.Root, "nvvm") }

// Lib is the folder of the toolkit's libraries.
func (t Toolkit) Lib() string { return filepath.Join(t.Root, "lib64") }

var versionLine = regexp.MustCompile(`\bV(\d+\.\d+\.\d+)\b`)

// FindToolkits returns the toolkits that WARPLD_TEST_CUDA lists.
func FindToolkits() ([]Toolkit, error) {
	list := filepath.SplitList(os.Getenv("WARPLD_TEST_CUDA"))
	if len(list) == 0 {
		return nil, fmt.Errorf("WARPLD_TEST_CUDA is not set; .ci/run sets it, or list toolkit folders in it yourself")
	}
	var found []Toolkit
	for _, root := range list {
		tk, err := findToolkit(root)
		if err != nil {
			return nil, fmt.Errorf("WARPLD_TEST_CUDA: %w", err)
		}
		found = append(found, tk)
	}
	return found, nil
}

// versions are those of toolkits that were asked, by folder.
var versions sync.Map

// findToolkit asks the toolkit in a folder for its version.
func findToolkit(root string) (Toolkit, error) {
	if version, known := versions.Load(root); known {
		return Toolkit{Root: root, Version: version.(string)}, nil
	}
	out, err := exec.Command(filepath.Join(root, "bin", "nvlink"), "--version").Output()
	if err != nil {
		return Toolkit{}, err
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return Toolkit{}, fmt.Errorf("%s: nvlink --version names no version", root)
	}
	versions.Store(root, string(m[1]))
	return Toolkit{Root: root, Version: string(m[1])}, nil
}

// Toolkits is FindToolkits for tests.
func Toolkits(tb testing.TB) []Toolkit {
	tb.Helper()
	found, err := FindToolkits()
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// WithoutNvlink makes a copy of the toolkit, out of symbolic links, whose
// nvlink fails. A link that succeeds with it was not handed to nvlink.
func (t Toolkit) WithoutNvlink(dir string) (Toolkit, error) {
	copied := Toolkit{Root: dir, Version: t.Version}
	if err := linkEntries(t.Root, dir, "bin"); err != nil {
		return copied, err
	}
	if err := linkEntries(filepath.Join(t.Root, "bin"), filepath.Join(dir, "bin"), "nvlink"); err != nil {
		return copied, err
	}
	refusal := "#!/bin/sh\necho 'this link must not be handed to nvlink' >&2\nexit 97\n"
	return copied, os.WriteFile(copied.Tool("nvlink"), []byte(refusal), 0o755)
}

// linkEntries fills folder to with links to everything in folder from, but one.
func linkEntries(from, to, except string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Compiler is the toolkit that compiles what is linked with this one: this one, or the older
// one that WARPLD_TEST_COMPILER names. Later tools take what older compilers made.
func (t Toolkit) Compiler() (Toolkit, error) {
	root := os.Getenv("WARPLD_TEST_COMPILER")
	if root == "" {
		return t, nil
	}
	found, err := findToolkit(root)
	if err != nil {
		err = fmt.Errorf("WARPLD_TEST_COMPILER: %w", err)
	}
	return found, err
}

// Object is the path of a file of the built corpus: kind is a folder such as
// "stored", name a file in it. The test fails if buildcorpus did not make it.
func (t Toolkit) Object(tb testing.TB, kind, name string) string {
	tb.Helper()
	dir := os.Getenv("WARPLD_TEST_CORPUS")
	if dir == "" {
		tb.Fatal("WARPLD_TEST_CORPUS is not set; .ci/run sets it to what test/tools/buildcorpus built")
	}
	compiler, err := t.Compiler()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(dir, compiler.Release(), kind, name)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("the corpus lacks a file: %v", err)
	}
	return path
}

// CacheDir holds what may be kept from one run of the tests to the next.
func CacheDir() (string, error) {
	if dir := os.Getenv("WARPLD_TOOLS"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".cache", "warpld-ci"), err
}
