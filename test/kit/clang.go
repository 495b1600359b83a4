package kit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Clang compiles a CUDA source against the toolkit, for sm_90 unless the flags name a
// target, and gives the path of the output in dir.
func (t Toolkit) Clang(compiler, dir, source, output string, flags ...string) (string, error) {
	// Headers that clang asks for and that toolkits of today lack.
	for _, header := range []string{"curand_mtgp32_kernel.h", "texture_fetch_functions.h", "surface_functions.h"} {
		if err := os.WriteFile(filepath.Join(dir, header), nil, 0o666); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, output)
	args := append([]string{"-x", "cuda", "--cuda-path=" + t.Root, "-isystem", dir, "-fgpu-rdc", "-O2", "-w",
		"-Wno-unknown-cuda-version",
		"-c", source, "-o", path}, flags...)
	if !strings.Contains(strings.Join(flags, " "), "--cuda-gpu-arch") {
		args = append(args, "--cuda-gpu-arch=sm_90")
	}
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s %q: %w\n%s", compiler, args, err, out)
	}
	return path, nil
}

// ThinFlags are clang's for bitcode that goes with ThinLTO.
var ThinFlags = []string{"--cuda-device-only", "-foffload-lto=thin", "-fwhole-program-vtables", "-fno-split-lto-unit"}

var (
	functionLine = regexp.MustCompile(`Function : (\S+)`)
	codeLine     = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+(.*)`)
)

// Instructions counts those of each function of a cubin, but for NOPs.
func (t Toolkit) Instructions(cubin string) (map[string]int, error) {
	counts := map[string]int{}
	return counts, t.EachInstruction(cubin, func(function, _ string) { counts[function]++ })
}

// EachInstruction goes through a cubin's functions as cuobjdump shows them, and leaves NOPs out.
func (t Toolkit) EachInstruction(cubin string, visit func(function, instruction string)) error {
	text, err := exec.Command(t.Tool("cuobjdump"), "-sass", cubin).Output()
	if err != nil {
		return fmt.Errorf("cuobjdump %s: %w", cubin, err)
	}
	function := ""
	for line := range strings.Lines(string(text)) {
		if part := functionLine.FindStringSubmatch(line); part != nil {
			function = part[1]
		} else if part := codeLine.FindStringSubmatch(line); part != nil && !strings.HasPrefix(part[1], "NOP") {
			visit(function, part[1])
		}
	}
	return nil
}
