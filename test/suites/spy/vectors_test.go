//go:build realtools

package spy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// A row is a link whose option vector is recorded.
type row struct {
	inputs []string
	// options of nvlink; LIB stands for the toolkit's libraries. Without
	// -arch the target is sm_80.
	options string
}

var (
	fatbins  = []string{"stored/a.fatbin", "stored/b.fatbin"}
	pair     = []string{"stored/a.o", "stored/b.o"}
	few      = []string{"stored/hostref.o", "stored/w1.o", "stored/w2.o"}
	lineinfo = []string{"stored-lineinfo/hostref.o", "stored-lineinfo/w1.o", "stored-lineinfo/w2.o"}
	maxreg   = []string{"stored-maxreg/hostref.o", "stored-maxreg/w1.o", "stored-maxreg/w2.o"}
)

const devrt = "-LLIB -lcudadevrt "

// special are the rows whose inputs count.
var special = map[string]row{
	"fatbins":                   {inputs: fatbins},
	"objects":                   {inputs: few, options: devrt},
	"objects without cudadevrt": {inputs: few},
	"fatbins and cudadevrt":     {inputs: fatbins, options: devrt},
	"cudadevrt after a fatbin":  {inputs: []string{"stored/a.fatbin", "stored/b.o"}, options: devrt},
	"cudadevrt before objects":  {inputs: few, options: "FIRST=LIB/libcudadevrt.a"},
	"ltoir":                     {inputs: []string{"ltoir/a.ltoir", "ltoir/b.ltoir"}},
	"ltoir and object": {inputs: []string{"ltoir/a.ltoir", "stored/hostref.o", "stored/b.o"},
		options: devrt},
	"archive":            {inputs: []string{"stored/a.o", "stored/libparts.a"}, options: devrt},
	"no kernel launched": {inputs: []string{"stored/r1_calls.o", "stored/r2_def.o"}, options: devrt},
	"many references": {inputs: []string{"stored/launch.o", "stored/names.o", "stored/hostref.o",
		"stored/w1.o", "stored/w2.o"}, options: devrt},
	"host object":  {inputs: []string{"stored/hostref.o", "host/host.o"}, options: devrt},
	"host archive": {inputs: []string{"host/libhost.a", "stored/hostref.o"}, options: devrt},
	"as CMake": {inputs: few, options: "--shared " + devrt +
		"-lcudart_static -lrt -lpthread -ldl -lcudadevrt"},
	"lineinfo objects": {inputs: lineinfo, options: devrt},
	"some lineinfo objects": {inputs: []string{"stored/hostref.o", "stored-lineinfo/w1.o", "stored/w2.o"},
		options: devrt},
	"maxrregcount objects":      {inputs: maxreg, options: devrt},
	"maxrregcount over objects": {inputs: maxreg, options: devrt + "-maxrregcount=40"},
	"fast-math objects and -Xnvvm": {inputs: []string{"stored-fastmath/w1.o", "stored-fastmath/w2.o"},
		options: devrt + "-Xnvvm=-opt=3"},
	"everything together": {inputs: lineinfo, options: devrt +
		"-split-compile=2 -Ofc=mid -maxrregcount=32 -g -Xnvvm=-opt=3"},
	"relocatable objects":            {inputs: few, options: devrt + "-r"},
	"relocatable fatbins":            {inputs: fatbins, options: "-r"},
	"native object":                  {inputs: []string{"stored/a.o", "rdc/b.o"}, options: devrt},
	"native cubin":                   {inputs: []string{"stored/a.o", "rdc/b.cubin"}, options: devrt},
	"dynamic parallelism":            {inputs: []string{"stored/cdp.o"}, options: devrt},
	"dynamic parallelism, no devrt":  {inputs: []string{"stored/cdp.o"}},
	"dynamic parallelism, fatbin":    {inputs: []string{"stored/cdp.fatbin"}, options: devrt},
	"force-partial-lto":              {inputs: few, options: devrt + "-force-partial-lto"},
	"force-whole-lto":                {inputs: few, options: devrt + "-force-whole-lto"},
	"force-whole-lto, native object": {inputs: []string{"stored/a.o", "rdc/b.o"}, options: devrt + "-force-whole-lto"},
}

// plain are options, each of them added to three objects and to two fatbins.
var plain = []string{
	"-arch=sm_75", "-arch=sm_86", "-arch=sm_89", "-arch=sm_90", "-arch=sm_100", "-arch=sm_120",
	"-arch=sm_90a", "-arch=sm_100a", "-arch=sm_100f", "-arch=compute_80",
	"-maxrregcount=32", "-maxrregcount=-1",
	"-Ofc=0", "-Ofc=min", "-Ofc=mid", "-Ofc=max",
	"-split-compile=0", "-split-compile=1", "-split-compile=2", "-split-compile=4",
	"-split-compile-extended=0", "-split-compile-extended=1", "-split-compile-extended=2", "-split-compile-extended=4",
	"-split-compile=4 -split-compile-extended=2",
	"-emit-ptx", "-emit-ptx -split-compile-extended=4", "-emit-ptx -split-compile-extended=4 -split-compile=2",
	"-device-stack-protector=true", "-Xptxas=-v", "-g",
	"-ignore-host-info", "-use-host-info",
	"-kernels-used=kw2,kw1", "-kernels-used=", "-kernels-used=kw1 -ignore-host-info", "-kernels-used=ka -use-host-info",
	"-variables-used=sv", "-variables-used=gvar,sv -kernels-used=kb",
	"-Xnvvm=-opt=3", "-Xnvvm=-opt=3,-ftz=1", "-Xnvvm -ftz=1 -Xnvvm=-fma=0", "-Xnvvm=-prec-div=0",
	"-Xnvvm=-link-lto", "-Xnvvm=-compile-time", "-Xnvvm=-g -g", "-Xnvvm=-Ofast-compile=max -Ofc=0",
	"-Xnvvm=-has-global-host-info",
}

func rows() map[string]row {
	all := map[string]row{}
	for name, r := range special {
		all[name] = r
	}
	for _, options := range plain {
		all["objects "+options] = row{inputs: few, options: devrt + options}
		all["fatbins "+options] = row{inputs: fatbins, options: options}
	}
	return all
}

// job puts the row's words on nvlink's command line.
func (r row) job(t *testing.T, tk kit.Toolkit, spy string) kit.Job {
	options := strings.Fields(strings.ReplaceAll(r.options, "LIB", tk.Lib()))
	if !strings.Contains(r.options, "-arch=") {
		options = append(options, "-arch=sm_80")
	}
	var first []string
	if len(options) > 0 {
		if file, ok := strings.CutPrefix(options[0], "FIRST="); ok {
			first, options = []string{filepath.Clean(file)}, options[1:]
		}
	}
	job := link(t, tk, spy, r.inputs, options...)
	job.Args = slices.Concat(first, job.Args)
	return job
}

// TestOptionVectors compares what both linkers pass to libnvvm.
func TestOptionVectors(t *testing.T) {
	spy := build(t)
	forEachToolkit(t, func(t *testing.T, tk kit.Toolkit) {
		for name, r := range rows() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := watched{tk: tk, job: r.job(t, tk, spy)}
				_, theirs := w.nvlink(t)
				if len(theirs) != 1 {
					t.Fatalf("nvlink loaded libnvvm %d times, not once: %q", len(theirs), w.job.Args)
				}
				result, ours := w.warpld(t)
				check(t, theirs[0], ours, result.Exit == 0)
				links.Same(tk, !t.Failed())
			})
		}
	})
}

// check wants the same vector and the same calls. Only a link that failed may
// compile once more, to find out what to say.
func check(t *testing.T, theirs session, ours []session, linked bool) {
	t.Helper()
	if len(ours) == 0 {
		t.Fatal("libnvvm was not loaded")
	}
	if linked && len(ours) > 1 {
		t.Errorf("libnvvm was loaded %d times", len(ours))
	}
	first := ours[0]
	if strings.Contains(first.process, "-dlto") {
		t.Errorf("the link was handed over: %s", first.process)
	}
	if !slices.Equal(first.options, theirs.options) {
		t.Errorf("options of nvvmCompileProgram:\n%q\nwant:\n%q", first.options, theirs.options)
	}
	if !slices.Equal(first.calls, theirs.calls) {
		t.Errorf("calls:\n%q\nwant:\n%q", first.calls, theirs.calls)
	}
}
