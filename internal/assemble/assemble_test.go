package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/compose/units"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// A bench assembles without processes. A program is words, each of which is a kernel and a
// unit; its cubin is the words, each in brackets.
type bench struct {
	t        *testing.T
	settings Settings
	// ptxas returns the result for a text.
	ptxas func(text string) *action.Result

	mu       sync.Mutex
	texts    []string // that ptxas got
	observed []string // labels and sources of results
	cache    map[string]*action.Result
	said     []string
	differ   []Difference
}

func newBench(t *testing.T, mode string) *bench {
	b := &bench{t: t, cache: map[string]*action.Result{}, ptxas: bracketed}
	b.settings = Settings{Mode: mode, InFlight: 4, Runner: runnerFunc(b.run), Remember: b.remember,
		Watch:    func(next action.Runner) action.Runner { return runnerFunc(b.observe(next)) },
		Report:   func(m *message.Message) { b.note(m.Text) },
		Verbosef: func(format string, args ...any) { b.note(fmt.Sprintf(format, args...)) },
		Differs: func(d Difference) error {
			b.differ = append(b.differ, d)
			return nil
		}}
	return b
}

func (b *bench) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, text)
}

func cubinOf(text string) *action.Result {
	return &action.Result{Outputs: map[string]action.Content{engine.CubinFile: action.Bytes([]byte(text))},
		Usage: action.Usage{Wall: time.Second, CPU: time.Second}}
}

func bracketed(text string) *action.Result {
	var out strings.Builder
	for _, word := range strings.Fields(text) {
		out.WriteString("[" + word + "]")
	}
	return cubinOf(out.String())
}

// run is ptxas behind the cache.
func (b *bench) run(ctx context.Context, a *action.Action) (*action.Result, error) {
	return b.remember(runnerFunc(func(context.Context, *action.Action) (*action.Result, error) {
		text, err := a.Inputs[0].Read()
		b.mu.Lock()
		b.texts = append(b.texts, string(text))
		b.mu.Unlock()
		return b.ptxas(string(text)), err
	})).Run(ctx, a)
}

// remember is a cache that keeps good results.
func (b *bench) remember(next action.Runner) action.Runner {
	return runnerFunc(func(ctx context.Context, a *action.Action) (*action.Result, error) {
		key, err := a.Key(action.ReadDigest)
		if err != nil {
			b.t.Error(err)
		}
		b.mu.Lock()
		known := b.cache[key.Hash]
		b.mu.Unlock()
		if known != nil {
			hit := *known
			hit.Cached = true
			return &hit, nil
		}
		r, err := next.Run(ctx, a)
		if err == nil && r.OK() {
			b.mu.Lock()
			b.cache[key.Hash] = r
			b.mu.Unlock()
		}
		return r, err
	})
}

func (b *bench) observe(next action.Runner) runnerFunc {
	return func(ctx context.Context, a *action.Action) (*action.Result, error) {
		r, err := next.Run(ctx, a)
		b.mu.Lock()
		defer b.mu.Unlock()
		label := a.Label
		if err == nil && r.Cached {
			label += " (cache)"
		}
		b.observed = append(b.observed, label)
		return r, err
	}
}

// cut makes a unit of each word.
func cut(text []byte, _ units.Settings) (*units.Program, error) {
	p := &units.Program{}
	for i, word := range strings.Fields(string(text)) {
		if word == "uncuttable" {
			return nil, errors.New("it cannot be cut")
		}
		p.Kernels = append(p.Kernels, units.Kernel{Name: word, Unit: i})
		p.Units = append(p.Units, units.Unit{Text: []byte(word), Kernels: []int{i}})
	}
	return p, nil
}

func join(_ *units.Program, cubins [][]byte) ([]byte, error) {
	var all []byte
	for _, c := range cubins {
		if string(c) == "[panic]" {
			panic("a bug")
		}
		if string(c) == "[odd]" {
			return nil, errors.New("no rule covers it")
		}
		all = append(all, c...)
	}
	return all, nil
}

// assemble assembles a text and returns the cubin.
func (b *bench) assemble(text string, arguments ...string) string {
	b.t.Helper()
	cubin, _ := b.result(text, arguments...).Outputs[engine.CubinFile].Read()
	return string(cubin)
}

func (b *bench) result(text string, arguments ...string) *action.Result {
	b.t.Helper()
	r, err := b.runProgram(text, arguments...)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) runProgram(text string, arguments ...string) (*action.Result, error) {
	a := New(b.settings)
	a.cut, a.compose = cut, join
	b.texts, b.observed, b.said = nil, nil, nil
	return a.Run(context.Background(), engine.Assemble(engine.Tools{PTXAS: "/dev/null"}, action.Bytes([]byte(text)),
		append([]string{"-arch", "sm_80"}, arguments...)))
}

// want checks which texts ptxas got.
func (b *bench) want(what string, texts ...string) {
	b.t.Helper()
	slices.Sort(b.texts)
	if !slices.Equal(b.texts, texts) {
		b.t.Errorf("%s: ptxas got %.100q, want %.100q; %.200q", what, b.texts, texts, b.said)
	}
}

func TestByKernel(t *testing.T) {
	b := newBench(t, Kernels)
	if got := b.assemble("a b c"); got != "[a][b][c]" {
		t.Errorf("made %s", got)
	}
	b.want("first", "a", "b", "c")
	if got := b.assemble("a b2 c"); got != "[a][b2][c]" {
		t.Errorf("made %s", got)
	}
	b.want("after an edit", "b2")
	if b.assemble("a b c"); len(b.texts) > 0 || !slices.Equal(b.observed, []string{"assemble (cache)"}) {
		t.Errorf("again: ptxas got %q, seen %q", b.texts, b.observed)
	}
	b.assemble("a b", "-c")
	b.want("relocatable", "a b")
	b.settings.Mode = Whole
	b.assemble("a b")
	b.want("whole", "a b")
}

// TestFallsBack: what can't be composed is one run of ptxas, and the reason is told.
func TestFallsBack(t *testing.T) {
	for text, reason := range map[string]string{
		"a uncuttable": "it cannot be cut", "a odd": "no rule covers it", "a panic": "the composer crashed (a bug)",
		"a warned": "ptxas has a message about 'warned': ptxas warning : look out", "a failing": "ptxas fails on 'failing'",
		"a crashing": "ptxas crashed (segmentation fault) on 'crashing'",
	} {
		b := newBench(t, Kernels)
		b.ptxas = func(text string) *action.Result {
			r := bracketed(text)
			switch text {
			case "warned":
				r.Stderr = []byte("ptxas warning : look out\nmore\n")
			case "failing":
				return &action.Result{ExitCode: 255}
			case "crashing":
				return &action.Result{Signal: "segmentation fault"}
			}
			return r
		}
		r := b.result(text)
		if !r.OK() || b.texts[len(b.texts)-1] != text { // the last one
			t.Errorf("%s: %+v, ptxas got %q", text, r, b.texts)
		}
		want := "ptxas assembles the program as a whole: " + reason
		if !slices.Contains(b.said, want) {
			t.Errorf("%s: said %q, want %q", text, b.said, want)
		}
	}
}

// padding makes a program large without adding to its words.
var padding = strings.Repeat(" ", worthwhile)

func TestAuto(t *testing.T) {
	b := newBench(t, Auto)
	b.assemble("a b")
	b.want("small", "a b")
	b.assemble("c d" + padding)
	b.want("large", "c", "d")
	b.assemble("e" + padding)
	b.want("one unit", "e"+padding)
	b.assemble("f g"+padding, "-Ofc", "max")
	b.want("not composed", "f g"+padding)
	b.settings.InFlight = 1
	b.assemble("h i" + padding)
	b.want("one processor", "h i"+padding)
}

// TestAutoTakesWhole: a result of ptxas on the whole that is in the cache is used, and a composed
// result is not taken for one.
func TestAutoTakesWhole(t *testing.T) {
	b := newBench(t, Whole)
	b.assemble("a b" + padding)
	b.settings.Mode = Auto
	if b.assemble("a b" + padding); len(b.texts) > 0 || !slices.Equal(b.observed, []string{"assemble (cache)"}) {
		t.Errorf("after a whole run: ptxas got %d texts, seen %q", len(b.texts), b.observed)
	}
	b.assemble("c d" + padding)
	b.want("composed", "c", "d")
	b.settings.Mode = Whole
	b.assemble("c d" + padding)
	b.want("whole", "c d"+padding)
}

func TestVerify(t *testing.T) {
	b := newBench(t, Kernels)
	b.settings.Verify = 1
	if got := b.assemble("a b"); got != "[a][b]" || len(b.differ) > 0 {
		t.Errorf("made %s, %d differences", got, len(b.differ))
	}
	b.want("equal", "a", "a b", "b")
	b.ptxas = func(text string) *action.Result {
		if strings.Contains(text, " ") {
			return cubinOf("other")
		}
		return bracketed(text)
	}
	if got := b.assemble("c d"); got != "other" || len(b.differ) != 1 {
		t.Fatalf("made %s, %d differences", got, len(b.differ))
	}
	d := b.differ[0]
	if string(d.PTX) != "c d" || string(d.Composed) != "[c][d]" || string(d.Whole) != "other" ||
		!slices.Equal(d.Arguments, []string{"-arch", "sm_80"}) {
		t.Errorf("%s, %s, %s, %q", d.PTX, d.Composed, d.Whole, d.Arguments)
	}
	b = newBench(t, Kernels)
	b.settings.Verify = 0.25
	for i := range 200 {
		b.assemble(fmt.Sprintf("a b%d", i))
	}
	whole := 0
	for key := range b.cache {
		if data, _ := b.cache[key].Outputs[engine.CubinFile].Read(); strings.Count(string(data), "[") == 2 {
			whole++
		}
	}
	if whole -= 200; whole < 25 || whole > 75 {
		t.Errorf("%d of 200 were verified", whole)
	}
}

// account returns what ptxas prints with -v.
func accountOf(memory string, kernels ...string) []byte {
	text := ""
	for _, k := range kernels {
		text += "ptxas info    : Overriding maximum register limit 256 for '" + k + "' with  32 of maxrregcount option\n"
	}
	text += "ptxas info    : " + memory + "\n"
	for _, k := range kernels {
		text += "ptxas info    : Compiling entry function '" + k + "' for 'sm_80'\nptxas info    : Function properties for " +
			k + "\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n" +
			"ptxas info    : Used 8 registers, used 0 barriers\nptxas info    : Compile time = 1.0 ms\n"
	}
	return []byte(text)
}

func TestVerbose(t *testing.T) {
	b := newBench(t, Kernels)
	odd := ""
	b.ptxas = func(text string) *action.Result {
		r, memory := bracketed(text), "4 bytes gmem, 8 bytes cmem[4]"
		if text == "b" {
			memory = "4 bytes gmem, 16 bytes cmem[4]" + odd
		}
		r.Stderr = accountOf(memory, "stub", text)
		return r
	}
	r := b.result("a b", "-v")
	if want := accountOf("4 bytes gmem, 16 bytes cmem[4]", "a", "b"); string(r.Stderr) != string(want) {
		t.Errorf("printed:\n%s\nwant:\n%s", r.Stderr, want)
	}
	odd = ", 4 bytes cmem[3]"
	b.cache = map[string]*action.Result{}
	b.result("a b", "-v")
	b.want("memory that differs", "a", "a b", "b")
	odd = "\nptxas info    : (C7510) something else"
	b.result("a b", "-v", "-O1")
	if !slices.Contains(b.texts, "a b") {
		t.Errorf("after a message ptxas got %q", b.texts)
	}
}

func TestSlow(t *testing.T) {
	b := newBench(t, Kernels)
	b.settings.Slow = 2 * time.Second
	b.ptxas = func(text string) *action.Result {
		r := bracketed(text)
		if text == "_Z1kPi" {
			r.Usage.Wall = 3 * time.Second
		}
		return r
	}
	b.assemble("a _Z1kPi")
	want := "ptxas took 3.0 s for 'k(int*)', 75 % of the time for the program"
	if !slices.Contains(b.said, want) {
		t.Errorf("said %q, want %q", b.said, want)
	}
	b.ptxas = func(string) *action.Result { return &action.Result{TimedOut: true} }
	if _, err := b.runProgram("c d"); err == nil || !strings.Contains(err.Error(), "time limit on '") {
		t.Errorf("a unit that reaches the limit: %v", err)
	}
}
