package options

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
)

// files stands for the file system: contents by name.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	text, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// lines collects messages as "severity: text".
type lines []string

func (l *lines) report(m *message.Message) { *l = append(*l, m.Severity.String()+": "+m.Text) }

func ptr[T any](v T) *T { return &v }

// with gives the defaults, changed.
func with(change func(o *Options)) *Options {
	o := newOptions()
	change(o)
	return o
}

func TestParseValues(t *testing.T) {
	tests := []struct {
		args string
		want func(o *Options)
	}{
		{"", func(o *Options) {}},
		{"-lfoo -l foo -l=foo --library=foo --library foo",
			func(o *Options) { o.Libraries = []string{"foo", "foo", "foo", "foo", "foo"} }},
		{"-lineinfo -la=b -L=d -Le,f -l -o", func(o *Options) {
			o.Libraries, o.LibraryPaths = []string{"ineinfo", "a=b", "-o"}, []string{"d", "e", "f"}
		}},
		{"-o x a.o - -g b.o", func(o *Options) { o.Output, o.Debug, o.Inputs = "x", true, []string{"a.o", "-", "b.o"} }},
		{"--warpld-assemble=kernels --warpld-verify=0.5 --warpld-slow-kernel=7", func(o *Options) {
			o.Own.Assembly = Assembly{How: "kernels", Slow: 7 * time.Second, Verify: 0.5}
		}},
		{"-nvvmpath=a=b,c", func(o *Options) { o.NVVMPath = "a=b,c" }},
		{"-nvvmpath --foo=3", func(o *Options) { o.NVVMPath = "--foo=3" }},
		{"-arch=sm_90a --dlto", func(o *Options) { o.Arch, o.LTO = Target{SM, gpu.Arch{Number: 90, Suffix: "a"}}, true }},
		{"--link-time-opt -r -emit-ptx", func(o *Options) { o.LTO, o.Relocatable, o.EmitPTX = true, true, true }},
		{"-m64 -m 0x40 --machine=64", func(o *Options) {}},
		{"-maxrregcount=0x20", func(o *Options) { o.MaxRegCount = ptr(32) }},
		{"-maxrregcount 010", func(o *Options) { o.MaxRegCount = ptr(8) }},
		{"-maxrregcount -1", func(o *Options) { o.MaxRegCount = ptr(-1) }},
		{"-maxrregcount=", func(o *Options) { o.MaxRegCount = ptr(0) }},
		{"-split-compile 0 -split-compile-extended=-2147483648", func(o *Options) {
			o.SplitCompile, o.SplitCompileExtended = 0, -2147483648
		}},
		{"-device-stack-protector true", func(o *Options) { o.DeviceStackProtector = ptr(true) }},
		{"-device-stack-protector=false", func(o *Options) { o.DeviceStackProtector = ptr(false) }},
		{"-Ofc", func(o *Options) { o.FastCompile = "0" }},
		{"-Ofc -g", func(o *Options) { o.FastCompile, o.Debug = "0", true }},
		{"-Ofc a.o -Ofc=a.o", func(o *Options) { o.FastCompile = "a.o" }},
		{"-Ofc -", func(o *Options) { o.FastCompile = "-" }},
		{"-ghls", func(o *Options) { o.GenHostLinkerScript = "lcs-abs" }},
		{"--gen-host-linker-script lcs-aug", func(o *Options) { o.GenHostLinkerScript = "lcs-aug" }},
		{"-kernels-used=a,b -kernels-used=a -variables-used=", func(o *Options) { o.KernelsUsed = []string{"a", "b", "a"} }},
		{"-Xnvvm=-a,-b -Xnvvm -c --Xptxas -v,-O1", func(o *Options) {
			o.Xnvvm, o.Xptxas = []string{"-a", "-b", "-c"}, []string{"-v", "-O1"}
		}},
		{"-w -Werror -disable-infos", func(o *Options) {
			o.Messages = message.Policy{WarningsAsErrors: true, NoWarnings: true, NoInfos: true}
		}},
		{"--warpld-engine=vendor -warpld-time-limit 90 --warpld-keep", func(o *Options) {
			o.Own = Own{Cache: "on", CacheLimit: 10240, LTO: "full", Merge: "auto", Mode: "exact", Progress: "auto",
				Assembly:  Assembly{How: "whole"},
				Remote:    Remote{Keep: 60},
				SliceSize: 128, Engine: "vendor", TimeLimit: 90 * time.Second, KeepWorkDirs: true}
		}},
	}
	for _, test := range tests {
		var reported lines
		got, err := Parse(strings.Fields(test.args), "", files{}.read, reported.report)
		if err != nil || reported != nil {
			t.Errorf("%q: error %v, reported %q", test.args, err, reported)
			continue
		}
		ignored := cmpopts.IgnoreFields(Options{}, "Raw")
		if diff := cmp.Diff(with(test.want), got, ignored, cmpopts.IgnoreUnexported(Options{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
}

func TestParseFatal(t *testing.T) {
	included := files{
		"self": "-optf self", "open": `-l "a`, "end": `-la\`, "value": "-l", "own": "--warpld-keep",
		"binary": "-la\x00-lb", "atself": "@atself", "bad": "--foo", "big": strings.Repeat(" ", maxFileBytes+1),
	}
	tests := []struct{ args, want, hint string }{
		{"--foo", "Unknown option '-foo'", ""},
		{"-foo=3", "Unknown option 'foo'", ""},
		{"-vkept", "Unknown option 'vkept'", ""},
		{"---foo", "Unknown option '--foo'", ""},
		{"--", "Unknown option '-'", ""},
		{"-=x", "Unknown option ''", ""},
		{"-verbose", "Unknown option 'verbose'", "did you mean '--verbose'?"},
		{"--verb", "Unknown option '-verb'", "did you mean '--verbose'?"},
		{"--lto", "Unknown option '-lto'", "did you mean '-lto'?"},
		{"--relocateable-link", "Unknown option '-relocateable-link'", "did you mean '--relocatable-link'?"},
		{"-register-link-binaries x", "Unknown option 'register-link-binaries'", "did you mean '--register-link-binaries'?"},
		{"-ox", "Unknown option 'ox'", ""},
		{"-Xnvvm-a", "Unknown option 'Xnvvm-a'", "did you mean '--Xnvvm'?"},
		{"-l", "argument expected after '-l'", ""},
		{"--output-file", "argument expected after '--output-file'", ""},
		{"--debug=true", "no argument expected after '--debug'", ""},
		{"-g=", "no argument expected after '-g'", ""},
		{"-device-stack-protector -o", "'-o': expected true or false", ""},
		{"-maxrregcount=32x", "'32x': expected a number", ""},
		{"-maxrregcount=0x", "'0x': expected a number", ""},
		{"-maxrregcount=08", "'08': expected a number", ""},
		{"-maxrregcount=--5", "'--5': expected a number", ""},
		{"-maxrregcount=2147483648x", "32-bit integer value (2147483648x) out of range", ""},
		{"--warpld-verify=2", "Value '2' is not defined for option 'warpld-verify'", ""},
		{"--warpld-verify=NaN", "Value 'NaN' is not defined for option 'warpld-verify'", ""},
		{"-m32", "Value '32' is not defined for option 'machine'", ""},
		{"-arch=sm_91", "Value 'sm_91' is not defined for option 'arch'", "did you mean 'sm_90'?"},
		{"-arch=", "Value '' is not defined for option 'arch'", ""},
		{`-l a"b`, `Stray '"' character`, ""},
		{"-optf nosuch", "Could not open options file 'nosuch'", ""},
		{"-optf self", "Too many options file opened 'self'", "look for a file that includes itself"},
		{"-optf open", `Stray '"' character`, ""},
		{"-optf end", "Stray '' character", ""},
		{"-optf value x", "argument expected after '-l'", ""},
		{"-optf bad,nosuch", "Unknown option '-foo'", ""},
		{"-optf own", "Option '--warpld-keep' is not allowed in an options file",
			"give it on the command line, in an @file or in WARPLD_FLAGS"},
		{"-optf binary", "Options file 'binary' is not text: it holds a NUL byte", ""},
		{"@nosuch", "Could not open options file 'nosuch'", ""},
		{"@atself", "Too many options file opened 'atself'", "look for a file that includes itself"},
		{"@big", "Options files up to 'big' hold more than 64 MiB", ""},
		{"--warpld-engine=fast", "Value 'fast' is not defined for option 'warpld-engine'", ""},
		{"--warpld-time-limit=-1", "Value '-1' is not defined for option 'warpld-time-limit'", ""},
	}
	for _, test := range tests {
		_, err := Parse(strings.Fields(test.args), "", included.read, func(*message.Message) {})
		m := new(message.Message)
		if !errors.As(err, &m) || m.Severity != message.Fatal || m.Text != test.want || m.Hint != test.hint {
			t.Errorf("%q: %v %q, hint %q; want %q, hint %q", test.args, m.Severity, m.Text, m.Hint, test.want, test.hint)
		}
	}
}

func TestMissingFileKeepsItsCause(t *testing.T) {
	for _, arg := range []string{"@nosuch", "-optf=nosuch"} {
		if _, err := Parse([]string{arg}, "", files{}.read, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v does not wrap fs.ErrNotExist", arg, err)
		}
	}
}

func TestParseReports(t *testing.T) {
	redefined := func(name string) string {
		return "warning: incompatible redefinition for option '" + name + "', the last value of this option was used"
	}
	tests := []struct {
		args string
		want lines
	}{
		{"-time=a -time=b -time=a", lines{redefined("time"), redefined("time")}},
		{"-time=a -w -Werror -time=b", lines{redefined("time")}},
		{"-arch=sm_80 -arch=sm_80 -g -g -m64 -m0x40", nil},
		{"-maxrregcount=0x20 -maxrregcount=32 -maxrregcount=33", lines{redefined("maxrregcount")}},
		{"-device-stack-protector=true -device-stack-protector=false", lines{redefined("device-stack-protector")}},
		{"-split-compile=2", nil},
		{"-o x -optf file", lines{redefined("output-file")}},
		{"-link-time-opt", lines{"info: '-link-time-opt' is read as '-l ink-time-opt'"}},
	}
	for _, test := range tests {
		var got lines
		if _, err := Parse(strings.Fields(test.args), "", files{"file": "-o y"}.read, got.report); err != nil {
			t.Errorf("%q: %v", test.args, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
}

func TestOptionsFile(t *testing.T) {
	tests := []struct {
		text string
		libs []string
		ins  []string
	}{
		{"-la -l b\n-l\r\nc", []string{"a", "b", "c"}, nil},
		{`-l "a b" "-lc" -l"d"e`, []string{"a b", "c", "de"}, nil},
		{`-l "a,b"`, []string{"a", "b"}, nil},
		{`-l a\"b -l "\"c,d\""`, []string{"ab", "c", "d"}, nil},
		{`-la\ b -l\c`, []string{"a b", "c"}, nil},
		{`'a b' # "" @g`, nil, []string{"'a", "b'", "#", "", "@g"}},
		{"-la -optf=g,h -lb", []string{"a", "G", "H", "b"}, nil},
	}
	for _, test := range tests {
		contents := files{"f": test.text, "g": "-lG", "h": "-lH"}
		o, err := Parse([]string{"-optf", "f"}, "", contents.read, nil)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if diff := cmp.Diff([][]string{test.libs, test.ins}, [][]string{o.Libraries, o.Inputs}); diff != "" {
			t.Errorf("%q: libraries and inputs (-want +got):\n%s", test.text, diff)
		}
		if diff := cmp.Diff([]string{"-optf", "f"}, o.Raw); diff != "" {
			t.Errorf("%q: Raw (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestFilesNestFifteenDeep(t *testing.T) {
	for _, prefix := range []string{"-optf=", "@"} {
		contents := files{}
		for depth := 'a'; depth < 'a'+maxFileDepth-1; depth++ {
			contents[string(depth)] = prefix + string(depth+1)
		}
		last := string(rune('a' + maxFileDepth - 1))
		contents[last] = "-lZ"
		if o, err := Parse([]string{prefix + "a"}, "", contents.read, nil); err != nil || len(o.Libraries) != 1 {
			t.Errorf("%s: %d deep: %v", prefix, maxFileDepth, err)
		}
		contents[last] = prefix + "z"
		contents["z"] = "-lZ"
		if _, err := Parse([]string{prefix + "a"}, "", contents.read, nil); err == nil ||
			err.Error() != "Too many options file opened 'z'" {
			t.Errorf("%s: %d deep: %v", prefix, maxFileDepth+1, err)
		}
	}
}

func TestManyFilesAreTooMany(t *testing.T) {
	contents := files{"a": strings.Repeat("-optf b ", 100), "b": strings.Repeat("-optf c ", 100), "c": ""}
	if _, err := Parse([]string{"-optf", "a"}, "", contents.read, nil); err == nil ||
		err.Error() != "Too many options file opened 'c'" {
		t.Errorf("got %v", err)
	}
}

func TestRawIsForTheVendor(t *testing.T) {
	args := []string{"-arch", "sm_80", "--warpld-engine", "vendor", "@f", "-warpld-keep", "-Xptxas=-v,-O1", "-o", "x",
		"-optf=g"}
	contents := files{"f": "'a b.o' --warpld-verbose -lc @g", "g": "-Ofc=max -dlto"}
	want := []string{"-arch", "sm_80", "a b.o", "-lc", "-Ofc=max", "-dlto", "-Xptxas=-v,-O1", "-o", "x", "-optf=g"}
	o, err := Parse(args, "--warpld-time-limit=3", contents.read, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, o.Raw); diff != "" {
		t.Errorf("Raw (-want +got):\n%s", diff)
	}
	own := Own{Cache: "on", CacheLimit: 10240, LTO: "full", Merge: "auto", Mode: "exact", Progress: "auto",
		Assembly:  Assembly{How: "whole"},
		Remote:    Remote{Keep: 60},
		SliceSize: 128, Engine: "vendor", Verbose: true, KeepWorkDirs: true, TimeLimit: 3 * time.Second}
	if diff := cmp.Diff(own, o.Own); diff != "" {
		t.Errorf("Own (-want +got):\n%s", diff)
	}
}

func TestEnvironment(t *testing.T) {
	tests := []struct {
		env, args string
		engine    string
		fatal     string
	}{
		{"--warpld-engine=nvvm", "", "nvvm", ""},
		{"--warpld-engine 'nvvm'", "--warpld-engine=vendor", "vendor", ""},
		{"-g", "", "", "'-g' is not allowed in WARPLD_FLAGS"},
		{"--warpld-engin=nvvm", "", "", "Unknown option '-warpld-engin'"},
		{"--warpld-engine", "", "", "argument expected after '--warpld-engine'"},
		{"@f", "", "", "'@f' is not allowed in WARPLD_FLAGS"},
		{"'", "", "", "Stray ''' character"},
	}
	for _, test := range tests {
		var reported lines
		o, err := Parse(strings.Fields(test.args), test.env, files{}.read, reported.report)
		for _, m := range message.Of(err) {
			if !slices.Contains(m.Notes, "in the environment variable WARPLD_FLAGS") {
				t.Errorf("%q: no note says where the mistake is: %q", test.env, m.Notes)
			}
		}
		switch {
		case reported != nil:
			t.Errorf("%q: reported %q", test.env, reported)
		case test.fatal != "" && (err == nil || err.Error() != test.fatal):
			t.Errorf("%q: error %v, want %s", test.env, err, test.fatal)
		case test.fatal == "" && (err != nil || o.Own.Engine != test.engine):
			t.Errorf("%q: %+v, %v, want engine %s", test.env, o, err, test.engine)
		}
	}
}

func TestTableIsSorted(t *testing.T) {
	for i := 1; i < len(table); i++ {
		a, b := table[i-1], table[i]
		if a.group > b.group || (a.group == b.group && a.long >= b.long) {
			t.Errorf("%s comes before %s", a.long, b.long)
		}
	}
}

func TestEachOptionHasItsOwnField(t *testing.T) {
	o := &Options{}
	owner := map[any]string{}
	for _, r := range table {
		if r.long == "dlto" {
			continue // another name of --link-time-opt
		}
		if other, taken := owner[r.field(o)]; taken {
			t.Errorf("%s and %s share a field", other, r.long)
		}
		owner[r.field(o)] = r.long
	}
}

func TestArchNames(t *testing.T) {
	for _, name := range targetNames() {
		if got := targetNamed(name).String(); got != name {
			t.Errorf("%s becomes %s", name, got)
		}
	}
	if got := targetNamed("lto_120f"); got != (Target{LTO, gpu.Arch{Number: 120, Suffix: "f"}}) {
		t.Errorf("lto_120f is %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-arch=sm_80\x00-o\x00x\x00a.o\x00@f", "--warpld-keep", `-l "a b" -optf g`)
	f.Add("-Xnvvm\x00\"a\\\\\"b c\\\\\" d\"\x00-maxrregcount=-0x7f", "", "@g 'x'")
	f.Add("-Ofc\x00--warpld-time-limit\x009\x00-lineinfo\x00--verbos", "''", "\\")
	f.Fuzz(func(t *testing.T, args, env, file string) {
		read := func(name string) ([]byte, error) { return []byte(file), nil }
		report := func(m *message.Message) {
			if m.Severity == message.Fatal {
				t.Errorf("fatal message was reported: %s", m.Text)
			}
		}
		o, err := Parse(strings.Split(args, "\x00"), env, read, report)
		if err != nil {
			if m := new(message.Message); !errors.As(err, &m) || m.Severity != message.Fatal {
				t.Fatalf("not a fatal message: %v", err)
			}
			return
		}
		again, err := Parse(o.Raw, "", read, report)
		if err != nil {
			t.Fatalf("Raw %q: %v", o.Raw, err)
		}
		again.Own = o.Own
		if diff := cmp.Diff(o, again, cmpopts.IgnoreUnexported(Options{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("Raw means something else: %s", diff)
		}
		o.Check(report)
		o.CheckCompile(report)
	})
}

// TestTargetInKeys: the JSON form of a target is part of the keys of the cache.
func TestTargetInKeys(t *testing.T) {
	text, err := json.Marshal(targetNamed("sm_100f"))
	if want := `{"Kind":"sm","Number":100,"Suffix":"f"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}
