package gate_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/gate"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/size"
)

func file(kernels ...cubin.Resources) *size.File {
	p := size.Piece{Arch: gpu.Arch{Number: 80}}
	for i := range kernels {
		p.Functions = append(p.Functions, size.Function{Name: kernels[i].Kernel, Kernel: true, Resources: &kernels[i]})
	}
	return &size.File{Pieces: []size.Piece{p}}
}

func baseline(files ...*size.File) *gate.Baseline {
	b := gate.New()
	b.FromFiles(files)
	return b
}

func TestCompare(t *testing.T) {
	plain := cubin.Resources{Kernel: "k", Registers: 32, Code: 1000, Shared: 100,
		Constant: []cubin.BankUsage{{Bank: 0, Bytes: 360}, {Bank: 2, Bytes: 8}}}
	with := func(change func(*cubin.Resources)) *size.File {
		k := plain
		change(&k)
		return file(k)
	}
	for name, test := range map[string]struct {
		now           *size.File
		worse, better int
		text          string
	}{
		"same": {file(plain), 0, 0, ""},
		"one register": {with(func(k *cubin.Resources) { k.Registers++ }), 2, 0,
			"k for sm_80: registers: 33, before 32"},
		"a first spill": {with(func(k *cubin.Resources) { k.Spills = 1 }), 1, 0, "k for sm_80: spills: 1, before 0"},
		"stack":         {with(func(k *cubin.Resources) { k.Stack = 8 }), 1, 0, "k for sm_80: stack: 8, before 0"},
		"shared memory": {with(func(k *cubin.Resources) { k.Shared = 101 }), 1, 0,
			"k for sm_80: shared: 101, before 100"},
		"constants": {with(func(k *cubin.Resources) { k.Constant = nil }), 0, 1,
			"k for sm_80: constant: 0, before 368"},
		"code, tolerated": {with(func(k *cubin.Resources) { k.Code = 1050 }), 0, 0, ""},
		"code":            {with(func(k *cubin.Resources) { k.Code = 1051 }), 1, 0, "k for sm_80: code: 1051, before 1000"},
		"fewer registers": {with(func(k *cubin.Resources) { k.Registers = 30 }), 0, 1,
			"k for sm_80: registers: 30, before 32"},
		"lost": {file(), 1, 0, "k for sm_80: the kernel is gone"},
		"new": {file(plain, cubin.Resources{Kernel: "n"}), 0, 1,
			"n for sm_80: a new kernel, which the baseline does not have"},
	} {
		list := gate.Compare(baseline(file(plain)), baseline(test.now))
		if gate.Count(list, gate.Worse) != test.worse || gate.Count(list, gate.Better) != test.better ||
			(test.text != "" && list[0].String() != test.text) {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// The order of files and units, and the folder of a build, change nothing.
func TestNoFalseAlarm(t *testing.T) {
	const static = "_ZN%d_GLOBAL__N__%08x_4_a_cu_%08x1kEv"
	build := func(r *rand.Rand) *gate.Baseline {
		var files []*size.File
		for i := range 20 {
			// The same template in two units, with other numbers in each.
			files = append(files, file(cubin.Resources{Kernel: "shared", Registers: 10 + i},
				cubin.Resources{Kernel: fmt.Sprintf("k%d", i), Registers: i}))
		}
		id := r.Uint32()
		files = append(files, file(cubin.Resources{Kernel: fmt.Sprintf(static, 37, id, id+1), Registers: 7},
			cubin.Resources{Kernel: fmt.Sprintf("_ZN34_GLOBAL__N__%08x_4_x_cu__Z1fPi6hiddenEPi", id), Registers: 9}))
		r.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		return baseline(files...)
	}
	r := rand.New(rand.NewPCG(1, 2))
	first := build(r)
	for range 50 {
		if list := gate.Compare(first, build(r)); len(list) != 0 {
			t.Fatalf("%v", list)
		}
	}
	for _, k := range first.Kernels {
		if k.Name == "shared" && k.Registers != 29 {
			t.Errorf("%+v", k)
		}
	}
}

func TestRecord(t *testing.T) {
	b := gate.New()
	b.FromRecord(&record.Record{Target: "sm_90", Kernels: []record.Kernel{{Name: "k", Registers: 9, Code: 64,
		Constant: map[string]uint64{"0": 8}}}})
	if len(b.Kernels) != 1 || b.Kernels[0].Arch != "sm_90" || b.Kernels[0].Constant != 8 {
		t.Errorf("%+v", b.Kernels)
	}
}

func TestReadWrite(t *testing.T) {
	b := baseline(file(cubin.Resources{Kernel: "k", Registers: 9}, cubin.Resources{Kernel: "<l>", Registers: 8}))
	var text bytes.Buffer
	if err := b.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := gate.Read(bytes.NewReader(text.Bytes()))
	if err != nil || len(gate.Compare(b, again)) != 0 || len(gate.Compare(again, b)) != 0 {
		t.Errorf("%v: %s", err, text.String())
	}
	// The lines that findings name are those of the kernels.
	lines := strings.Split(text.String(), "\n")
	for _, f := range gate.Compare(again, gate.New()) {
		var k gate.Kernel
		line := strings.TrimSuffix(strings.TrimSpace(lines[f.Line-1]), ",")
		if err := json.Unmarshal([]byte(line), &k); err != nil || k.Name != f.Kernel {
			t.Errorf("line %d of %s is %s", f.Line, f.Kernel, line)
		}
	}
	for _, text := range []string{"", "{}", `{"format":1,"tolerances":{"speed":1}}`} {
		if _, err := gate.Read(strings.NewReader(text)); !errors.Is(err, gate.ErrFormat) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Whatever names kernels have, the files for CI can be read.
func TestForms(t *testing.T) {
	before := baseline(file(cubin.Resources{Kernel: "a<\"&|`\n>", Registers: 8}, cubin.Resources{Kernel: "gone"}))
	now := baseline(file(cubin.Resources{Kernel: "a<\"&|`\n>", Registers: 9}, cubin.Resources{Kernel: "new"}))
	result := &gate.Result{Baseline: "b.json", Kernels: now.Kernels, Findings: gate.Compare(before, now)}
	if !result.Failed() {
		t.Error("it passes")
	}
	for form, write := range gate.Writers {
		var text bytes.Buffer
		if err := write(result, &text); err != nil {
			t.Fatal(err)
		}
		switch form {
		case "sarif":
			if !json.Valid(text.Bytes()) {
				t.Errorf("%s", text.String())
			}
		case "junit":
			for d := xml.NewDecoder(&text); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
		case "markdown":
			for line := range strings.Lines(text.String()) {
				if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 7 {
					t.Errorf("%s", line)
				}
			}
		}
	}
}

// Ten thousand kernels take no time to speak of.
func TestMany(t *testing.T) {
	var kernels []cubin.Resources
	for i := range 10_000 {
		kernels = append(kernels, cubin.Resources{Kernel: fmt.Sprintf("_Z%dkernel%05dPf", 11, i), Registers: i % 255})
	}
	start := time.Now()
	b := baseline(file(kernels...))
	result := &gate.Result{Kernels: b.Kernels, Findings: gate.Compare(b, gate.New())}
	for _, write := range gate.Writers {
		if err := write(result, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if taken := time.Since(start); taken > 30*time.Second {
		t.Errorf("%v", taken)
	}
}

func FuzzRead(f *testing.F) {
	var text bytes.Buffer
	if err := baseline(file(cubin.Resources{Kernel: "k"})).Write(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := gate.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if list := gate.Compare(b, b); gate.Count(list, gate.Better) > 0 {
			t.Fatalf("a baseline is better than itself: %v", list)
		}
	})
}
