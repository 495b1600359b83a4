package scripts

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// llvmVersion is of an LLVM that no machine has, so that none of its programs are found.
const llvmVersion = "99.1"

// writeLLVM makes a directory that is found as an LLVM: llvm DIR [thin]. With thin it has
// the programs that ThinLTO needs.
func writeLLVM(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Join(dir, "lib"), 0o777))
	ts.Check(os.MkdirAll(filepath.Join(dir, "bin"), 0o777))
	ts.Check(os.WriteFile(filepath.Join(dir, "lib", "libLLVM.so."+llvmVersion), libLLVM(), 0o777))
	if !slices.Contains(args[1:], "thin") {
		return
	}
	for name := range llvmPrograms {
		program, err := exec.LookPath(name)
		ts.Check(err)
		ts.Check(os.Symlink(program, filepath.Join(dir, "bin", name)))
	}
}

// libLLVM is a library that has nothing but its own name.
func libLLVM() []byte {
	names := []byte("\x00libLLVM.so." + llvmVersion + "\x00")
	rows := le.AppendUint64(le.AppendUint64(nil, uint64(elf.DT_SONAME)), 1)
	rows = append(rows, make([]byte, 16)...)
	sections := []objecttest.Section{
		{Name: ".dynstr", Type: typeStrtab, Data: names},
		{Name: ".dynamic", Type: uint32(elf.SHT_DYNAMIC), Link: 1, EntSize: 16, Data: rows},
	}
	return objecttest.ELF(objecttest.ELFFile{Type: uint16(elf.ET_DYN), Machine: uint16(machine()), Sections: sections})
}

// llvmAnswer is what the worker on libLLVM adds to its answer.
type llvmAnswer struct {
	Version            string
	Kernels, Variables []string
	Warnings           []string
	Remarks            []string
}

// compileBitcode stands for libLLVM. It gives each function of the bitcode an empty body.
// A function called uncompilable makes it fail.
func compileBitcode(j *job) int {
	var bodies []string
	for _, name := range j.Modules {
		body, err := bodyOf(name)
		if err != nil {
			panic(err)
		}
		bodies = append(bodies, body)
	}
	p := join(bodies)
	out := answer{Module: -1, Relocatable: p.open, LLVM: &llvmAnswer{Version: llvmVersion}}
	text := p.text
	if !p.open {
		text = optimized(text, nil)
	}
	if j.LLVM.Remarks {
		out.LLVM.Remarks = []string{"everything is inlined"}
	}
	if strings.Contains(p.text, "uncompilable") {
		out.Call, out.Error, text = "LLVMLinkModules2", "cannot compile module-00000.ir", ""
	}
	put(ptxFile, []byte(text))
	if j.PostLink {
		data, err := os.ReadFile(j.Modules[0])
		if err != nil {
			panic(err)
		}
		put(linkedFile, data)
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	put(answerFile, encoded)
	if out.Call != "" {
		return callFailed
	}
	return 0
}

// bodyOf returns PTX for the functions of a file of bitcode. Its kernels call all that it
// declares.
func bodyOf(name string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	f, err := bitcode.Read(data)
	if err != nil {
		return "", err
	}
	var declared, defined, calls strings.Builder
	isVariable := func(y bitcode.Symbol) bool { return y.Kind == bitcode.Variable }
	for _, y := range f.Modules[0].Symbols {
		if isVariable(y) && !y.Defined {
			fmt.Fprintf(&declared, ".extern .global .align 4 .u32 %s;\n", y.Name)
		}
	}
	functions := slices.DeleteFunc(f.Modules[0].Symbols, isVariable)
	for _, y := range functions {
		if !y.Defined {
			fmt.Fprintf(&declared, ".extern .func %s\n()\n;\n", y.Name)
			fmt.Fprintf(&calls, "\tcall %s, ();\n", y.Name)
		}
	}
	for _, y := range functions {
		switch {
		case y.Kernel:
			fmt.Fprintf(&defined, ".visible .entry %s()\n{\n%s\tret;\n}\n", y.Name, calls.String())
		case y.Defined:
			fmt.Fprintf(&defined, ".visible .func %s\n()\n{\n\tret;\n}\n", y.Name)
		}
	}
	return declared.String() + defined.String(), nil
}

// llvmPrograms are those that ThinLTO runs.
var llvmPrograms = map[string]func(args []string) error{
	"clang": func(args []string) error {
		module, output := "", argumentAfter(args, "-o")
		for _, arg := range args {
			if strings.HasSuffix(arg, ".ir") {
				module = arg
			}
		}
		body, err := bodyOf(module)
		if err != nil {
			return err
		}
		if strings.Contains(body, "uncompilable") {
			return fmt.Errorf("cannot compile %s", module)
		}
		if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-Rpass=") }) {
			fmt.Fprintln(os.Stderr, "remark: <unknown>:0:0: nothing is inlined [-Rpass-missed=inline]")
		}
		return os.WriteFile(output, []byte(ptxHead+body), 0o666)
	},
	"llvm-lto2": func([]string) error {
		text, err := os.ReadFile("resolutions")
		for line := range strings.Lines(string(text)) {
			if name := strings.TrimSpace(line); err == nil && !strings.HasPrefix(name, "-r=") {
				put(name+".thinlto.bc", []byte("index of "+name))
				put(name+".imports", nil)
			}
		}
		return err
	},
	"opt": func(args []string) error {
		data, err := os.ReadFile(args[2])
		if err != nil {
			return err
		}
		return os.WriteFile(argumentAfter(args, "-o"), data, 0o666)
	},
}

// argumentAfter returns the argument that follows another.
func argumentAfter(args []string, option string) string {
	at := slices.Index(args, option)
	if at < 0 || at+1 == len(args) {
		panic("there is no " + option)
	}
	return args[at+1]
}
