package kit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var identifier = regexp.MustCompile(`\b[A-Za-z_][A-Za-z0-9_]{2,}\b`)

// FunctionNames returns all names that can be those of functions of the driver: every
// identifier in the toolkit's headers, and every symbol of libcudadevrt.
func (t Toolkit) FunctionNames() ([]string, error) {
	names := map[string]bool{}
	add := func(text []byte) {
		for _, name := range identifier.FindAll(text, -1) {
			names[string(name)] = true
		}
	}
	err := filepath.WalkDir(filepath.Join(t.Root, "include"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		add(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	symbols, err := exec.Command(t.Tool("cuobjdump"), "-symbols", filepath.Join(t.Lib(), "libcudadevrt.a")).Output()
	add(symbols)
	return slices.Sorted(maps.Keys(names)), err
}

// DriverFunctions returns those of the names that nvlink takes for functions of the driver:
// a program that only declares and calls them links.
func (t Toolkit) DriverFunctions(dir string, names []string) (defined []string, err error) {
	const atOnce = 4000
	for some := range slices.Chunk(names, atOnce) {
		asked, err := t.assembleCalls(dir, some)
		if err != nil {
			return nil, err
		}
		var stderr bytes.Buffer
		link := exec.Command(t.Tool("nvlink"), "-arch=sm_80", "calls.cubin", "-o", "linked")
		link.Dir, link.Stderr = dir, &stderr
		var failed *exec.ExitError
		if err := link.Run(); err != nil && !errors.As(err, &failed) {
			return nil, err
		}
		missing := map[string]bool{}
		for line := range strings.Lines(stderr.String()) {
			m := undefinedReference.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("nvlink: %s", line)
			}
			missing[m[1]] = true
		}
		defined = append(defined, slices.DeleteFunc(asked, func(name string) bool { return missing[name] })...)
	}
	return defined, nil
}

var (
	undefinedReference = regexp.MustCompile(`Undefined reference to '([^']+)' in `)
	errorLine          = regexp.MustCompile(`line (\d+);`)
)

// assembleCalls writes calls.cubin, which calls functions that it does not define. It
// returns them without those that are no names to ptxas.
func (t Toolkit) assembleCalls(dir string, names []string) ([]string, error) {
	for {
		text := callsOf(names)
		if err := os.WriteFile(filepath.Join(dir, "calls.ptx"), []byte(strings.Join(text, "\n")), 0o666); err != nil {
			return nil, err
		}
		assemble := exec.Command(t.Tool("ptxas"), "-c", "-O0", "-arch=sm_80", "calls.ptx", "-o", "calls.cubin")
		assemble.Dir = dir
		said, err := assemble.CombinedOutput()
		if err == nil {
			return names, nil
		}
		refused := map[string]bool{}
		for _, m := range errorLine.FindAllSubmatch(said, -1) {
			number, _ := strconv.Atoi(string(m[1]))
			for _, name := range identifier.FindAllString(text[number-1], -1) {
				refused[name] = true
			}
		}
		rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return refused[name] })
		if len(rest) == len(names) {
			return nil, fmt.Errorf("ptxas: %w\n%s", err, said)
		}
		names = rest
	}
}

// callsOf returns the lines of a PTX text with kernels that call the functions.
func callsOf(names []string) []string {
	lines := []string{".version 9.0", ".target sm_80", ".address_size 64"}
	for _, name := range names {
		lines = append(lines, ".extern .func "+name+"();")
	}
	const perKernel = 100
	for i := range names {
		if i%perKernel == 0 {
			lines = append(lines, fmt.Sprintf(".visible .entry kernel$%d() {", i))
		}
		lines = append(lines, "call "+names[i]+", ();")
		if (i+1)%perKernel == 0 || i+1 == len(names) {
			lines = append(lines, "ret;", "}")
		}
	}
	return append(lines, "")
}
