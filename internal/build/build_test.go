package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/actiontest"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/objecttest"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/runners"
	"github.com/warpld/warpld/internal/toolkit"
)

// ptxHead begins the texts that the tools of these tests make.
const ptxHead = "/* made by a test, and long enough to be a file */\n.version 8.5\n.target sm_80\n.address_size 64\n"

// A rig is a build with a real plan and tools that exist only here.
type rig struct {
	in     Input
	runner *actiontest.Runner
	said   []string // the messages
}

// newRig plans a link of files, which are given as names and contents.
func newRig(t *testing.T, args []string, files ...string) *rig {
	t.Helper()
	dir := t.TempDir()
	put := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args = append([]string{"-dlto", "-arch=sm_80", "-o", filepath.Join(dir, "out")}, args...)
	for i := 0; i+1 < len(files); i += 2 {
		args = append(args, put(files[i], files[i+1]))
	}
	r := &rig{runner: &actiontest.Runner{Do: map[string]func(*action.Action) *action.Result{}}}
	fail := func(m *message.Message) { t.Errorf("unexpected: %s", m.Text) }
	o, err := options.Parse(args, "", os.ReadFile, fail)
	if err != nil {
		t.Fatal(err)
	}
	tool := toolkit.File{Path: put("tool", "")}
	version := toolkit.Version{Major: 13, Minor: 0}
	objects, err := object.ReadAll(object.Inputs{Files: o.Inputs, LTO: o.LTO, Release: version.Release()}, fail)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(plan.Input{Options: o, Objects: objects, Release: version.Release(), LLVM: 22})
	if err != nil {
		t.Fatal(err)
	}
	report := func(m *message.Message) { r.said = append(r.said, strings.ReplaceAll(m.Text, dir+"/", "")) }
	first, rest := p.SplitEvents()
	for _, m := range first {
		report(m)
	}
	same := func(next action.Runner) action.Runner { return next }
	r.in = Input{Options: o, Plan: p, Events: rest, Self: tool.Path, Env: func(string) string { return "" },
		Toolkit: &toolkit.Toolkit{NVVM: tool, JitLink: tool, PTXAS: tool, NVLink: tool, Version: version},
		LLVM:    &toolkit.LLVM{File: tool, Major: 22},
		Runners: &runners.Set{Runner: r.runner, Limited: r.runner, Remember: same, Jobs: 2, InFlight: 4},
		Watch:   same, Report: report, Verbosef: func(string, ...any) {}}
	r.runner.Do["compile"] = func(a *action.Action) *action.Result {
		return compiled(a, engine.Answer{Module: -1}, ptxHead)
	}
	r.runner.Do["assemble"] = func(a *action.Action) *action.Result {
		return actiontest.Wrote(a, engine.CubinFile, "cubin")
	}
	return r
}

// compiled returns the result of a worker.
func compiled(a *action.Action, answer engine.Answer, text string) *action.Result {
	data, _ := json.Marshal(answer)
	return actiontest.Wrote(a, engine.AnswerFile, string(data), engine.PTXFile, text, engine.LinkedFile, "bitcode")
}

func ltoIR() string { return string(objecttest.LTOIR(80, false)) }

// jobOf returns what a worker is asked for.
func jobOf(t *testing.T, a *action.Action) (job engine.Job) {
	t.Helper()
	for _, f := range a.Inputs {
		if f.Name == engine.JobFile {
			text, err := f.Read()
			if err == nil {
				err = json.Unmarshal(text, &job)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return job
}

func TestWholeLink(t *testing.T) {
	r := newRig(t, nil, "a.ltoir", ltoIR())
	result, err := Run(t.Context(), r.in)
	if err != nil {
		t.Fatal(err)
	}
	output, err := result.Output.Read()
	if err != nil || string(output) != "cubin" || !result.Whole {
		t.Errorf("the output is %q, %v, whole %v", output, err, result.Whole)
	}
	if want := []string{"the program is closed: ptxas makes the result"}; !slices.Equal(result.Decisions, want) {
		t.Errorf("decided %q, want %q", result.Decisions, want)
	}
}

func TestEmitPTX(t *testing.T) {
	r := newRig(t, []string{"-emit-ptx"}, "a.ltoir", ltoIR())
	result, err := Run(t.Context(), r.in)
	if err != nil {
		t.Fatal(err)
	}
	if output, _ := result.Output.Read(); string(output) != ptxHead || len(r.runner.Ran("assemble")) > 0 {
		t.Errorf("the output is %q", output)
	}
}

// TestMixedLink links LTO-IR with LLVM bitcode, where two engines and their assemblies
// end in any order. It is for the race detector.
func TestMixedLink(t *testing.T) {
	for range 20 {
		r := newRig(t, []string{"--warpld-merge=vendor"}, "a.ltoir", ltoIR(),
			"b.bc", string(objecttest.Bitcode(objecttest.BitcodeFile{})))
		r.runner.Do["compile-bitcode"] = func(a *action.Action) *action.Result {
			return compiled(a, engine.Answer{Module: -1, Relocatable: true, LLVM: &engine.LLVMAnswer{Version: "22"}}, ptxHead)
		}
		r.runner.Do["assemble"] = func(a *action.Action) *action.Result {
			result := actiontest.Wrote(a, engine.CubinFile, "cubin")
			result.Stderr = []byte("ptxas info    : assembled\n")
			return result
		}
		r.runner.Do["merge"] = func(a *action.Action) *action.Result {
			return &action.Result{ExitCode: 1, Stderr: []byte("nvlink error   : no code\n")}
		}
		result, err := Run(t.Context(), r.in)
		if err == nil || !strings.Contains(err.Error(), "no code") {
			t.Fatalf("the merge gives %v", err)
		}
		if len(result.Steps.Parts) != 2 || len(result.Decisions) != 1 {
			t.Errorf("%d parts, decisions %q", len(result.Steps.Parts), result.Decisions)
		}
		if n := count(r.said, "assembled"); n != 2 {
			t.Errorf("%d messages of ptxas, want 2: %q", n, r.said)
		}
	}
}

func count(list []string, part string) (n int) {
	for _, text := range list {
		if strings.Contains(text, part) {
			n++
		}
	}
	return n
}

// TestMessageOrder has native code whose assemblies end from last to first. The
// messages come in nvlink's order all the same.
func TestMessageOrder(t *testing.T) {
	r := newRig(t, []string{"--warpld-merge=vendor"}, "a.ltoir", ltoIR(),
		"b.ptx", ptxHead+"// b\n", "c.ptx", ptxHead+"// c\n")
	r.runner.Do["compile"] = func(a *action.Action) *action.Result {
		return compiled(a, engine.Answer{Module: -1, Relocatable: true, Log: "of libnvvm"}, ptxHead+"// lto\n")
	}
	ended := make(chan struct{})
	r.runner.Do["assemble"] = func(a *action.Action) *action.Result {
		text, _ := a.Inputs[0].Read()
		_, name, _ := strings.Cut(strings.TrimSpace(string(text)), "// ")
		if name == "b" {
			<-ended
		}
		if name == "c" {
			defer close(ended)
		}
		result := actiontest.Wrote(a, engine.CubinFile, "cubin")
		result.Stderr = []byte("ptxas info    : of " + name + "\n")
		return result
	}
	r.runner.Do["merge"] = func(*action.Action) *action.Result { return &action.Result{ExitCode: 1} }
	if _, err := Run(t.Context(), r.in); err == nil {
		t.Fatal("the merge did not fail")
	}
	want := []string{"of b", "requested LTO but 'b.ptx' not built for LTO so doing partial LTO", "of c",
		"requested LTO but 'c.ptx' not built for LTO so doing partial LTO", "of libnvvm", "of lto"}
	if !slices.Equal(r.said, want) {
		t.Errorf("said %q, want %q", r.said, want)
	}
}

// TestFailedAssembly ends like nvlink, which reads no further than what it cannot
// assemble.
func TestFailedAssembly(t *testing.T) {
	r := newRig(t, nil, "a.ltoir", ltoIR(), "b.ptx", ptxHead+"// b\n", "c.ptx", ptxHead+"// c\n")
	r.runner.Do["assemble"] = func(a *action.Action) *action.Result {
		text, _ := a.Inputs[0].Read()
		if strings.Contains(string(text), "// c") {
			return &action.Result{ExitCode: 1, Stderr: []byte("ptxas error   : wrong\n")}
		}
		return actiontest.Wrote(a, engine.CubinFile, "cubin")
	}
	r.in.Runners.InFlight = 1
	result, err := Run(t.Context(), r.in)
	if err == nil || !strings.Contains(err.Error(), "wrong") {
		t.Fatalf("the link gives %v", err)
	}
	want := []string{"requested LTO but 'b.ptx' not built for LTO so doing partial LTO"}
	if !slices.Equal(r.said, want) {
		t.Errorf("said %q, want %q", r.said, want)
	}
	if result.Steps.Native[1].Action() == nil || result.Steps.Merging != nil {
		t.Error("the steps are not those up to the failure")
	}
}

func TestRetry(t *testing.T) {
	const split = "-split-compile-extended=4"
	for _, test := range []struct {
		name   string
		result action.Result // while there is a split
		runs   int
		said   string
	}{
		{"a crash", action.Result{Signal: "segmentation fault"}, 3, "compiled without it"},
		{"wrong shards", action.Result{ExitCode: engine.InvalidShards}, 3, "compiled without it"},
		{"a division by zero", action.Result{Signal: divideByZero}, 2, "compiled without it"},
		{"an end by time", action.Result{TimedOut: true}, 1, ""},
	} {
		r := newRig(t, []string{split}, "a.ltoir", ltoIR())
		r.runner.Do["compile"] = func(a *action.Action) *action.Result {
			if slices.Contains(jobOf(t, a).Options, split) {
				result := test.result
				return &result
			}
			return compiled(a, engine.Answer{Module: -1}, ptxHead)
		}
		_, err := Run(t.Context(), r.in)
		if runs := len(r.runner.Ran("compile")); runs != test.runs || (err == nil) != (test.said != "") {
			t.Errorf("%s: %d runs, want %d, error %v", test.name, runs, test.runs, err)
		}
		if last := strings.Join(r.said, "; "); !strings.HasSuffix(last, test.said) {
			t.Errorf("%s: said %q", test.name, last)
		}
	}
}

func TestShards(t *testing.T) {
	r := newRig(t, []string{"--warpld-merge=vendor"}, "a.ltoir", ltoIR())
	other := ptxHead + "// 2"
	r.runner.Do["compile"] = func(a *action.Action) *action.Result {
		sizes := []int64{int64(len(other)), int64(len(ptxHead))}
		return compiled(a, engine.Answer{Module: -1, Shards: sizes}, other+ptxHead)
	}
	r.runner.Do["merge"] = func(*action.Action) *action.Result { return &action.Result{ExitCode: 1} }
	result, _ := Run(t.Context(), r.in)
	if want := []string{"the program comes in 2 shards, which are merged"}; !slices.Equal(result.Decisions, want) {
		t.Errorf("decided %q, want %q", result.Decisions, want)
	}
	if first, _ := result.Steps.Shards[0].PTX.Read(); string(first) != ptxHead {
		t.Errorf("the first shard is %q", first)
	}
}

// scanOf answers a scan of modules, each with a text by its place in the link.
func scanOf(t *testing.T, texts ...string) func(*action.Action) *action.Result {
	return func(a *action.Action) *action.Result {
		if !jobOf(t, a).Apart {
			return &action.Result{ExitCode: 1} // a lookup
		}
		var files []string
		for i, m := range slices.DeleteFunc(slices.Clone(a.Inputs), func(f action.File) bool { return f.Origin == "" }) {
			place := strings.IndexByte("abcdef", filepath.Base(m.Origin)[0])
			answer := engine.Answer{Module: -1}
			if texts[place] == "" {
				answer.Call = "nvvmCompileProgram"
			}
			data, _ := json.Marshal(answer)
			files = append(files, engine.SeparateFile(i, engine.AnswerFile), string(data),
				engine.SeparateFile(i, engine.PTXFile), texts[place])
		}
		return actiontest.Wrote(a, files...)
	}
}

func TestBlame(t *testing.T) {
	r := newRig(t, nil, "a.ltoir", ltoIR(), "b.ltoir", ltoIR(), "c.ltoir", ltoIR())
	r.runner.Do["scan"] = scanOf(t, ptxHead+".extern .func f();\n", "", ptxHead+".visible .func g()\n{\n\tret;\n}\n")
	missing := &message.Message{Severity: message.Error, Text: "Undefined reference to 'f' in 'lto.cubin'"}
	twice := &message.Message{Severity: message.Error,
		Text: "Multiple definition of 'g' in 'x.o', first defined in 'lto.cubin'"}
	known := &message.Message{Severity: message.Error, Text: "Undefined reference to 'h' in 'x.o'"}
	Blame(t.Context(), r.in, message.List{missing, twice, known})
	is := func(notes []string, begin, end string) bool {
		return len(notes) == 1 && strings.HasPrefix(notes[0], begin) && strings.HasSuffix(notes[0], end)
	}
	if !is(missing.Notes, "referred to by ", "a.ltoir") {
		t.Errorf("of the missing function: %q", missing.Notes)
	}
	if !is(twice.Notes, "defined in ", "c.ltoir") {
		t.Errorf("of the function that is there twice: %q", twice.Notes)
	}
	if known.Symbol != "h" || len(known.Notes) > 0 {
		t.Errorf("of the one whose object is known: symbol %q, notes %q", known.Symbol, known.Notes)
	}
}

// TestScan has results of which the cache knows one.
func TestScan(t *testing.T) {
	r := newRig(t, nil, "a.ltoir", ltoIR(), "b.ltoir", ltoIR())
	r.runner.Do["scan"] = scanOf(t, "of a", "of b")
	var lookUps, stored atomic.Int32
	r.in.Runners.Remember = func(next action.Runner) action.Runner {
		return runnerFunc(func(ctx context.Context, a *action.Action) (*action.Result, error) {
			result, err := next.Run(ctx, a)
			if err == nil && result.OK() {
				stored.Add(1)
			} else if strings.HasSuffix(a.Inputs[0].Origin, "a.ltoir") {
				lookUps.Add(1)
				return compiled(a, engine.Answer{Module: -1}, "known"), nil
			}
			return result, err
		})
	}
	found, err := Scan(t.Context(), &r.in, func(_ int, text []byte) (string, error) { return string(text), nil })
	if want := []string{"known", "of b"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("found %q, %v, want %q", found, err, want)
	}
	if lookUps.Load() != 1 || stored.Load() != 1 {
		t.Errorf("%d found and %d stored", lookUps.Load(), stored.Load())
	}
	wrong := errors.New("wrong")
	if _, err := Scan(t.Context(), &r.in, func(int, []byte) (int, error) { return 0, wrong }); !errors.Is(err, wrong) {
		t.Errorf("an error of a reader gives %v", err)
	}
}

// TestScanRetries: after a crash of a process with several modules each of them gets a
// process of its own, and only one that crashes there is lost.
func TestScanRetries(t *testing.T) {
	texts, files := []string{"of a", "of b", "of c", "of d", "of e", "of f"}, []string(nil)
	for _, text := range texts {
		files = append(files, text[3:]+".ltoir", ltoIR())
	}
	crashing := func(t *testing.T, alone string) *rig {
		r := newRig(t, nil, files...)
		r.in.Runners.Jobs = 1 // so that three modules are a batch
		r.runner.Do["scan"] = func(a *action.Action) *action.Result {
			first := filepath.Base(a.Inputs[0].Origin)
			if (len(jobOf(t, a).Modules) > 1 && first == "a.ltoir") || first == alone {
				return &action.Result{Signal: "segmentation fault"}
			}
			return scanOf(t, texts...)(a)
		}
		return r
	}
	read := func(_ int, text []byte) (string, error) { return string(text), nil }
	tolerant := func(r *rig) ([]string, error) {
		s := &scanner[string]{in: &r.in, modules: Modules(r.in.Plan), read: read, tolerant: true}
		err := s.scan(t.Context())
		return s.found, err
	}

	r := crashing(t, "")
	var said []*message.Message
	r.in.Report = func(m *message.Message) { said = append(said, m) }
	if found, err := tolerant(r); err != nil || !slices.Equal(found, texts) || len(said) > 0 {
		t.Errorf("after a crash: found %q, %v, said %v", found, err, said)
	}
	found, err := Scan(t.Context(), &r.in, read)
	if err != nil || !slices.Equal(found, texts) {
		t.Errorf("after a crash: found %q, %v", found, err)
	}
	if len(said) != 1 || !strings.Contains(said[0].Text, "crashed (segmentation fault)") {
		t.Fatalf("after a crash: said %v", said)
	}
	for i, file := range []string{"a.ltoir", "b.ltoir", "c.ltoir", "d.ltoir"} {
		if named := strings.Contains(said[0].Notes[0], file); named != (i < 3) {
			t.Errorf("the note is %q", said[0].Notes[0])
		}
	}

	r = crashing(t, "b.ltoir")
	without := []string{"of a", "", "of c", "of d", "of e", "of f"}
	if found, err := tolerant(r); err != nil || !slices.Equal(found, without) {
		t.Errorf("with a module that crashes: found %q, %v", found, err)
	}
	_, err = Scan(t.Context(), &r.in, read)
	all := message.Of(err)
	if len(all) != 1 || len(all[0].Notes) != 1 || !strings.HasSuffix(all[0].Notes[0], "b.ltoir") {
		t.Errorf("with a module that crashes: %v", err)
	}
}

// TestFastFallsBack: a link that cannot be cut, or whose attempt fails, is linked as in
// exact mode.
func TestFastFallsBack(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		said string
	}{
		"an option":      {[]string{"--verbose-keep"}, "--verbose-keep shows the steps"},
		"a failed tool":  {nil, "linked without slices"},
		"relocatable":    {[]string{"-r"}, "-r asks for code that is linked again"},
		"PTX is emitted": {[]string{"-emit-ptx"}, "-emit-ptx asks for the PTX"},
	} {
		r := newRig(t, append([]string{"--warpld-mode=fast", "--warpld-merge=vendor"}, test.args...), "a.ltoir", ltoIR())
		r.runner.Do["scan"] = func(*action.Action) *action.Result { return &action.Result{Signal: "killed"} }
		r.runner.Do["merge"] = func(*action.Action) *action.Result { return &action.Result{ExitCode: 1} }
		result, err := Run(t.Context(), r.in)
		if result == nil || (err != nil) != (name == "relocatable") {
			t.Errorf("%s: %v", name, err)
		}
		if count(r.said, test.said) != 1 {
			t.Errorf("%s: said %q", name, r.said)
		}
	}
}

// TestTimes has a link of three pieces of native code, of which ptxas refuses one, and of
// two shards; the steps end in no particular order.
func TestTimes(t *testing.T) {
	native := func(file string) plan.Piece {
		return plan.Piece{Object: &object.Object{Origin: message.Origin{File: file}}}
	}
	p := &plan.Plan{Native: []plan.Piece{native("b.o"), native("bad.o"), native("c.o")}}
	b := &build{in: &Input{Plan: p}}
	b.tookNVVM(time.Millisecond)
	b.tookAssembly(&Assembly{Piece: &p.Native[2], place: 2}, 2*time.Millisecond)
	b.tookAssembly(&Assembly{}, 3*time.Millisecond)
	b.tookAssembly(&Assembly{Piece: &p.Native[1], place: 1, failed: true}, time.Millisecond)
	b.tookAssembly(&Assembly{Piece: &p.Native[0]}, 1500*time.Microsecond)
	b.tookAssembly(&Assembly{failed: true}, 4*time.Millisecond)
	want := []Time{
		{3, "cicc", "lto.nvvm", "", "lto.ptx", time.Millisecond},
		{2, "ptxas", "ptx", "c.o", "cubin", 2 * time.Millisecond},
		{3, "ptxas", "lto.ptx", "", "lto.cubin", 7 * time.Millisecond},
		{0, "ptxas", "ptx", "b.o", "cubin", 1500 * time.Microsecond},
	}
	if !slices.Equal(b.result.Times, want) {
		t.Errorf("the rows are %v, want %v", b.result.Times, want)
	}
}

func TestWhy(t *testing.T) {
	one := []text{{}}
	for want, test := range map[string]struct {
		c     code
		whole bool
		mode  plan.Mode
	}{
		"the reason": {code{texts: one, decision: "the reason"}, false, plan.Whole},
		"the program is not closed: what it lacks is sought in native code": {code{texts: one}, false, plan.Whole},
		"the optimized part is merged with the rest":                        {code{texts: one}, false, plan.Partial},
	} {
		if got := test.c.why(test.whole, test.mode); got != want {
			t.Errorf("%v: %q, want %q", fmt.Sprint(test), got, want)
		}
	}
}

// What a program does not use of the device runtime is counted, not listed.
func TestShowRemoved(t *testing.T) {
	var shown []string
	verbosef := func(format string, args ...any) { shown = append(shown, fmt.Sprintf(format, args...)) }
	b := &build{in: &Input{Verbosef: verbosef}}
	b.result.Steps.Parts = []Part{{Merge: merge.Part{Origin: "a.o"}},
		{Merge: merge.Part{Origin: "libcudadevrt.a:runtime.o", Runtime: true}}}
	b.showRemoved([]device.Removal{{Symbol: "f", From: "a.o", Reason: "nothing calls it"},
		{Symbol: "cudaMalloc", From: "libcudadevrt.a:runtime.o"}, {Symbol: "cudaFree", From: "libcudadevrt.a:runtime.o"}})
	want := []string{"f of a.o is not in the result: nothing calls it",
		"2 functions of the device runtime are not in the result, because nothing uses them"}
	if !slices.Equal(shown, want) {
		t.Errorf("%q, want %q", shown, want)
	}
}
