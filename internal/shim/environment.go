package shim

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/toolkit"
)

// storedIR makes nvcc store device code as it is. Compressed LTO-IR is also
// obfuscated, and only NVIDIA's programs can read it.
const storedIR = "-no-compress"

// Environment returns environ for a command that builds through the shim, in the ways in which
// builds find nvcc: PATH, CUDACXX (CMake), CUDA_HOME (torch and other python builds) and
// CUDA_PATH (make files, Meson, Bazel). The last two are set even if they were not, because
// such builds otherwise fall back to /usr/local/cuda; the shim has all that they may look for
// there.
//
// An option also makes nvcc store LTO-IR uncompressed. It applies to all device code: objects
// grow, those without LTO as well.
func Environment(dir string, tk *toolkit.Toolkit, environ []string) []string {
	env := slices.Clone(environ)
	bin := filepath.Join(dir, "bin")
	path := slices.DeleteFunc(filepath.SplitList(get(env, "PATH")), func(d string) bool { return d == bin })
	env = set(env, "PATH", strings.Join(append([]string{bin}, path...), string(filepath.ListSeparator)))
	env = set(env, "CUDA_HOME", dir)
	env = set(env, "CUDA_PATH", dir)
	if compiler := strings.Fields(get(env, "CUDACXX")); len(compiler) == 0 {
		env = set(env, "CUDACXX", NVCC(dir))
	} else if filepath.Base(compiler[0]) == "nvcc" {
		compiler[0] = NVCC(dir)
		env = set(env, "CUDACXX", strings.Join(compiler, " "))
	}
	return withStoredIR(env, tk.Version)
}

// withStoredIR excludes toolkits from before device LTO: they have no use for the option, and
// might reject it.
func withStoredIR(env []string, v toolkit.Version) []string {
	flags := get(env, "NVCC_APPEND_FLAGS")
	if !v.Release().Rules().DeviceLTO || slices.Contains(strings.Fields(flags), storedIR) {
		return env
	}
	if flags != "" {
		flags += " "
	}
	return set(env, "NVCC_APPEND_FLAGS", flags+storedIR)
}

// get returns the value of a variable; of several entries the last one counts, as in os/exec.
func get(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if n, v, ok := strings.Cut(e, "="); ok && n == name {
			return v
		}
	}
	return ""
}

func set(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(env, name+"="+value)
}
