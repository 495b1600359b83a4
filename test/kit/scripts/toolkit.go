package scripts

import (
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// writeToolkit makes a directory that is found as a CUDA toolkit: toolkit DIR VERSION
// [PART...]. It always has an nvcc, which is never run. The parts are ptxas and libnvvm.
func writeToolkit(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	version, err := json.Marshal(map[string]any{"cuda_nvcc": map[string]string{"version": args[1]}})
	ts.Check(err)
	write := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
		ts.Check(os.WriteFile(path, data, 0o777))
	}
	write("version.json", version)
	write("bin/nvcc", header(elf.ET_EXEC))
	for _, part := range args[2:] {
		switch part {
		case "ptxas":
			script, err := starter("test-ptxas")
			ts.Check(err)
			write("bin/ptxas", script)
		case "libnvvm":
			write("nvvm/lib64/libnvvm.so", header(elf.ET_DYN))
		default:
			ts.Fatalf("toolkit: no part is called %s", part)
		}
	}
}

// header is the start of an ELF file for this machine.
func header(kind elf.Type) []byte {
	head := make([]byte, 64)
	copy(head, elf.ELFMAG)
	head[elf.EI_CLASS], head[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	binary.LittleEndian.PutUint16(head[16:], uint16(kind))
	binary.LittleEndian.PutUint16(head[18:], uint16(machine()))
	return head
}

// machine is that of the programs of this machine.
func machine() elf.Machine {
	return map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
}

var (
	ptxFunction = regexp.MustCompile(`(?m)^\.(visible|extern|weak)? *\.(entry|func) +(?:\([^)]*\) *)?([\w$]+)`)
	ptxVariable = regexp.MustCompile(`(?m)^\.extern +\.global .*?([\w$]+);`)
	ptxCall     = regexp.MustCompile(`(?m)^\tcall (?:\([^)]*\), *)?([\w$]+)`)
)

// ptxas makes a cubin of the functions of a PTX text. A line "//! warning TEXT" makes it
// print a warning, and a function called unassemblable makes it fail.
func ptxas(args []string) int {
	var input, output string
	relocatable := false
	for i, arg := range args {
		switch {
		case arg == "-c", arg == "--compile-only":
			relocatable = true
		case arg == "-o":
			output = args[i+1]
		case strings.HasSuffix(arg, ".ptx"):
			input = arg
		}
	}
	text, err := os.ReadFile(input)
	if err != nil {
		panic(err)
	}
	cubin := Cubin{Linked: !relocatable, Functions: functionsOf(string(text))}
	for _, f := range cubin.Functions {
		if f.Name == "unassemblable" {
			fmt.Fprintf(os.Stderr, "ptxas fatal   : cannot assemble %s\n", f.Name)
			return 255
		}
	}
	for _, part := range ptxVariable.FindAllStringSubmatch(string(text), -1) {
		if relocatable {
			cubin.Lacks = append(cubin.Lacks, part[1])
			continue
		}
		fmt.Fprintf(os.Stderr, "ptxas warning : Unresolved extern variable '%s' in whole program compilation, "+
			"ignoring extern qualifier\n", part[1])
	}
	if text, ok := directive(string(text), "warning"); ok {
		fmt.Fprintf(os.Stderr, "ptxas warning : %s\n", text)
	}
	if err := os.WriteFile(output, cubin.Bytes(), 0o666); err != nil {
		panic(err)
	}
	return 0
}

// functionsOf returns the functions of a PTX text. Each calls what is called behind its
// head.
func functionsOf(text string) (list []Function) {
	heads := ptxFunction.FindAllStringSubmatchIndex(text, -1)
	for i, at := range heads {
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		f := Function{Name: group(3), Kernel: group(2) == "entry", Undefined: group(1) == "extern", Weak: group(1) == "weak"}
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		for _, call := range ptxCall.FindAllStringSubmatch(text[at[1]:end], -1) {
			f.Calls = append(f.Calls, call[1])
		}
		list = append(list, f)
	}
	return list
}

// directive returns what follows "//! NAME" on a line of a text.
func directive(text, name string) (value string, found bool) {
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(words) > 1 && words[0] == "//!" && words[1] == name {
			return strings.Join(words[2:], ""), true
		}
	}
	return "", false
}

// copyCompiler stands for clang in a distributed ThinLTO link. It copies its last argument
// to the file after -o, and fails if there is a -fail.
func copyCompiler(args []string) int {
	output := ""
	for i, arg := range args {
		switch arg {
		case "-fail":
			fmt.Fprintln(os.Stderr, "error: cannot compile")
			return 3
		case "-o":
			output = args[i+1]
		}
	}
	data, err := os.ReadFile(args[len(args)-1])
	if err == nil {
		err = os.WriteFile(output, append([]byte("compiled "), data...), 0o666)
	}
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "warning: compiled quickly")
	return 0
}
