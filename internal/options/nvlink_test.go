//go:build realtools

package options

import (
	"errors"
	"go/version"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/message"
)

// These tests ask the nvlink of each toolkit in WARPLD_TEST_CUDA, a list of
// directories, whether it agrees.

// A cudaToolkit is a CUDA installation, with a directory to run its tools in.
type cudaToolkit struct {
	root, release string
	dir           string
}

func eachToolkit(t *testing.T, test func(t *testing.T, k *cudaToolkit)) {
	roots := filepath.SplitList(os.Getenv("WARPLD_TEST_CUDA"))
	if len(roots) == 0 {
		t.Fatal("WARPLD_TEST_CUDA must list the toolkits to compare with")
	}
	for _, root := range roots {
		k := &cudaToolkit{root: root, dir: t.TempDir()}
		said, _ := k.nvlink(t, "--version")
		found := regexp.MustCompile(`release (\d+\.\d+)`).FindStringSubmatch(strings.Join(said, "\n"))
		if found == nil {
			t.Fatalf("no release in the version of %s: %q", root, said)
		}
		k.release = found[1]
		t.Run(k.release, func(t *testing.T) { test(t, k) })
	}
}

// olderThan compares releases. Those of Go are written like those of CUDA.
func (k *cudaToolkit) olderThan(release string) bool {
	return version.Compare("go"+k.release, "go"+release) < 0
}

// nvlink gives the lines that the real tool prints, and its exit code.
func (k *cudaToolkit) nvlink(t *testing.T, args ...string) ([]string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(k.root, "bin", "nvlink"), args...)
	cmd.Dir = k.dir
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if len(out) == 0 {
		return nil, cmd.ProcessState.ExitCode()
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), cmd.ProcessState.ExitCode()
}

func (k *cudaToolkit) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// warpld gives the lines and exit code that nvlink should show, if none of the
// inputs exist and more is checked where more is known of the inputs.
func (k *cudaToolkit) warpld(args []string, more func(*Options, func(*message.Message)) error) ([]string, int) {
	var out strings.Builder
	log := message.NewLog(&out, message.Style{})
	read := func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(k.dir, name)) }
	report := func(m *message.Message) {
		log.Report(&message.Message{Severity: m.Severity, ID: m.ID, Text: m.Text}) // notes and hints are ours
	}
	o, err := Parse(args, "", read, report)
	if err == nil {
		log.SetPolicy(o.Messages)
		err = o.Check(report)
	}
	if err == nil {
		err = more(o, report)
	}
	for _, m := range message.Of(err) {
		report(m)
	}
	if out.Len() == 0 {
		return nil, log.ExitCode()
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), log.ExitCode()
}

// noSuchInput is how nvlink ends when nothing is wrong but the first input.
func noSuchInput(o *Options, _ func(*message.Message)) error {
	if len(o.Inputs) == 0 {
		return nil
	}
	return fatal("", "Could not open input file '%s'", o.Inputs[0])
}

func (k *cudaToolkit) compare(t *testing.T, more func(*Options, func(*message.Message)) error, args ...string) {
	t.Helper()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "$NVVM", filepath.Join(k.root, "nvvm"))
	}
	want, wantCode := k.nvlink(t, args...)
	got, gotCode := k.warpld(args, more)
	if diff := cmp.Diff(want, got); diff != "" || wantCode != gotCode {
		t.Errorf("%q: exit code %d, want %d; messages (-nvlink +warpld):\n%s", args, gotCode, wantCode, diff)
	}
}

// probes are command lines with blanks between words; $LINK and $LTO stand for
// links in which only the input is missing.
var probes = strings.Split(strings.TrimSpace(`
-foo
--foo=3
---foo
--
-=x
--=x
-edbg
-keep
-verbose
--verbos
--lto
--L=dir
--lfoo
--libraryfoo
-options-file f
-register-link-binaries=x
-ox
-Ofcmax
-gfoo
-vv
-archsm_80
-Xnvvm-a
-l
-L
--library
-o
-m
-Xptxas
--register-link-binaries
--device-stack-protector
-host-ccbin
-g=true
--debug=
--help=x
-lto=true
-uumn=5
-marm
-m32
-m064
-m64k
$LINK -m64 -m=64 -m0x40 --machine=64
-device-stack-protector=1
-device-stack-protector -o x
$LINK -device-stack-protector true
$LINK -device-stack-protector=true -device-stack-protector=false
-verbose-tkinfo=yes
-disable-smem-reservation=TRUE
$LINK -enable-extended-smem=true
-arch=sm_99
-arch=SM_80
-arch="sm_80"
-arch=
-cpu-arch=x
-ghls=foo
-ghls foo
$LINK -g true
$LINK -lto-keep -lineinfo
$LINK -arch=sm_90
$LINK -time=a -time=b -time=a -w -Werror
$LINK -time=a -time=b --foo
$LINK -o y -o=y
$LINK -maxrregcount=0x20 -maxrregcount=32 -maxrregcount=33
$LINK -kernels-used=a -kernels-used=b -la -la -Xlinker=a -Xlinker=b
$LINK -dot=a --dot-file=b -tool-name=nvlink
-optf nosuch
-optf=
-optf self
-optf bad,nosuch
-optf value x
-optf open
-optf end
-optf redefine -o b
-h --bar
-V -arch=sm_99

-g
nosuch.o
-arch=sm_80
-arch=sm_80 -o x
-arch=sm_80 -o x -lfoo
-arch=sm_80 nosuch.o
-arch=compute_80
-arch=compute_80 nosuch.o
-arch=lto_80
-arch=lto_80 nosuch.o
-arch=lto_80 -o x nosuch.o -suppress-debug-info
-arch=lto_80 -o x nosuch.o -use-host-info -ignore-host-info
-arch=lto_80 -o x nosuch.o -use-host-info -kernels-used=k
-arch=lto_80 -o x nosuch.o -force-whole-lto
-arch=sm_80 nosuch.o -suppress-debug-info
-arch=sm_80 -o x -suppress-debug-info
nosuch.o -ghls
-ghls= nosuch.o
$LINK -suppress-debug-info -use-host-info -ignore-host-info
$LINK -suppress-debug-info -g
$LINK -use-host-info -ignore-host-info -kernels-used=k -emit-ptx
$LINK -use-host-info -kernels-used=k -disable-infos
$LINK -use-host-info -variables-used= -kernels-used=
$LINK -use-host-info -variables-used=v -emit-ptx
$LINK -force-partial-lto -force-whole-lto
$LINK -force-whole-lto -r -emit-ptx
$LINK -emit-ptx -Ofc
$LINK -Ofc=foo -cuda-api-version=x
$LINK -split-compile=2 -split-compile-extended=2
$LTO
$LTO -emit-ptx -Ofc=max -force-whole-lto
$LTO -force-partial-lto -force-whole-lto -emit-ptx -split-compile-extended=2
$LTO -r -force-whole-lto -Ofc=foo
$LTO -emit-ptx -split-compile-extended=0 -Ofc=foo
$LTO -emit-ptx -split-compile-extended=2 -split-compile=2 -disable-infos
$LTO -split-compile=2 -split-compile-extended=2
$LTO -Ofc=
$LTO -Ofc=MAX -cuda-api-version=x
$LTO -Ofc
$LTO -Ofc -g
$LTO -Ofc -
$LTO -Ofc max -Ofc
$LTO -Ofc nosuch.o
$LTO -Xnvvm \ -Xptxas \
$LINK -cuda-api-version=13
$LINK -cuda-api-version=13.0
$LINK -cuda-api-version=+013.9
$LINK -cuda-api-version=-13.0
$LINK -cuda-api-version=13.-1
$LINK -cuda-api-version=13.0.1
$LINK -cuda-api-version=12.9
$LINK -cuda-api-version=0x13.0
$LINK -cuda-api-version=
`), "\n")

func TestNvlinkAgreesOnCommandLines(t *testing.T) {
	eachToolkit(t, func(t *testing.T, k *cudaToolkit) {
		for name, text := range map[string]string{
			"self": "-optf self", "bad": "--foo", "value": "-l", "open": `-l "a`, "end": `-la\`, "redefine": "-o a",
		} {
			k.write(t, name, text)
		}
		stand := strings.NewReplacer("$LINK", "-arch=sm_80 -o x nosuch.o", "$LTO",
			"-arch=sm_80 -o x nosuch.o -dlto -nvvmpath=$NVVM")
		for _, p := range probes {
			k.compare(t, noSuchInput, strings.Fields(stand.Replace(p))...)
		}
	})
}

// random gives a text of up to eight of the given pieces.
func random(r *rand.Rand, pieces ...string) string {
	var b strings.Builder
	for range 1 + r.IntN(8) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func TestNvlinkAgreesOnNumbers(t *testing.T) {
	eachToolkit(t, func(t *testing.T, k *cudaToolkit) {
		r := rand.New(rand.NewPCG(1, 1))
		for range 300 {
			value := random(r, "0", "0x", "8", "1", "f", "-", "+", " ", "_", "2147483647")
			k.compare(t, noSuchInput, "-arch=sm_80", "-o", "x", "nosuch.o", "-maxrregcount="+value)
		}
	})
}

// The items of a list show in the name of the first options file.
func TestNvlinkAgreesOnLists(t *testing.T) {
	eachToolkit(t, func(t *testing.T, k *cudaToolkit) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			k.compare(t, noSuchInput, "-arch=sm_80", "-o", "x", "nosuch.o", "-optf",
				random(r, "a", "b", ",", `"`, `\`, " ", "\t", "'"))
		}
	})
}

// The words of an options file show in the name of the first input.
func TestNvlinkAgreesOnOptionsFiles(t *testing.T) {
	eachToolkit(t, func(t *testing.T, k *cudaToolkit) {
		r := rand.New(rand.NewPCG(1, 3))
		for range 300 {
			text := random(r, "a", "b", ",", `"`, `\`, " ", "\t", "'", "\r", "#", "@", "-l")
			k.write(t, "f", text)
			k.compare(t, noSuchInput, "-arch=sm_80", "-o", "x", "-optf", "f", "nosuch.o")
			if t.Failed() {
				t.Fatalf("the file held %q", text)
			}
		}
	})
}

func TestNvlinkHasTheOptionsOfTheTable(t *testing.T) {
	eachToolkit(t, func(t *testing.T, k *cudaToolkit) {
		for _, r := range table {
			for _, option := range []string{"--" + r.long, "-" + r.short} {
				if r.group == own || option == "-" {
					continue
				}
				said, _ := k.nvlink(t, option)
				unknown := strings.HasPrefix(strings.Join(said, ""), "nvlink fatal   : Unknown option")
				if unknown != k.olderThan(r.since) {
					t.Errorf("%s, since %q: nvlink says %.60q", option, r.since, said)
				}
			}
		}
	})
}

func TestNvlinkDocumentsTheOptionsOfTheTable(t *testing.T) {
	eachToolkit(t, func(t *testing.T, k *cudaToolkit) {
		var want []string
		for _, r := range table {
			if r.group == documented && !k.olderThan(r.since) {
				want = append(want, r.long+" "+r.short)
			}
		}
		said, _ := k.nvlink(t, "--help")
		listed := regexp.MustCompile(`(?m)^--(\S+)(?:.*\(-(\S+)\))?`).FindAllStringSubmatch(strings.Join(said, "\n"), -1)
		var got []string
		for _, l := range listed {
			got = append(got, l[1]+" "+l[2])
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("-nvlink +table:\n%s", diff)
		}
	})
}

func TestNvlinkHasTheValuesOfTheTable(t *testing.T) {
	eachToolkit(t, func(t *testing.T, k *cudaToolkit) {
		for _, r := range table {
			if r.group == own || r.allowed == nil {
				continue
			}
			for _, value := range append(slices.Clone(r.allowed), "1", "sm_70") {
				if newer := strings.Contains(value, "_107") || value == "RISCV64"; newer && k.olderThan("13.4") {
					continue
				}
				// A good value is followed by an error that both find next.
				k.compare(t, noSuchInput, "--"+r.long+"="+value, "--help=")
			}
		}
	})
}

func TestNvlinkAgreesWhenItCompiles(t *testing.T) {
	eachToolkit(t, func(t *testing.T, k *cudaToolkit) {
		k.write(t, "k.cu", "__global__ void k(int *p) { *p = 1; }\n")
		nvcc := exec.CommandContext(t.Context(), filepath.Join(k.root, "bin", "nvcc"), "-ltoir", "-dlto", "-rdc=true",
			"-arch=lto_80", "k.cu", "-o", "k.ltoir")
		nvcc.Dir = k.dir
		if out, err := nvcc.CombinedOutput(); err != nil {
			t.Fatalf("nvcc: %v\n%s", err, out)
		}
		link := []string{"-arch=sm_80", "-o", "x", "k.ltoir", "-dlto", "-nvvmpath=$NVVM"}
		for _, more := range [][]string{
			{},
			{"-split-compile=2", "-split-compile-extended=2"},
			{"-split-compile=0", "-split-compile-extended=0", "-disable-infos"},
			{"-split-compile=1", "-split-compile-extended=2"},
			{"-split-compile=2", "-split-compile-extended=2", "-emit-ptx"},
			{"-split-compile=2", "-split-compile-extended=2", "-Xnvvm", `-a\`},
			{"-Xnvvm", `"a\\"b c d"`},
			{"-Xnvvm", `-opt=3 `, "-Xptxas", "-O1"},
		} {
			k.compare(t, (*Options).CheckCompile, append(slices.Clone(link), more...)...)
		}
	})
}
