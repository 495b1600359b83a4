package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/build"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/options"
)

// TestTimes has rows that the build gave in the order in which steps ended.
func TestTimes(t *testing.T) {
	var out strings.Builder
	j := New(Streams{Stdout: &out, Stderr: &out})
	o := &options.Options{TimeFile: "-", Arch: options.Target{Kind: options.SM, Arch: gpu.Arch{Number: 80}}}
	j.SetOptions(o)
	times := []build.Time{
		{Place: 3, Phase: "cicc", From: "lto.nvvm", To: "lto.ptx", Wall: time.Millisecond},
		{Place: 2, Phase: "ptxas", From: "ptx", Inputs: "c.o", To: "cubin", Wall: 2 * time.Millisecond},
		{Place: 3, Phase: "ptxas", From: "lto.ptx", To: "lto.cubin", Wall: 7 * time.Millisecond},
		{Place: 0, Phase: "ptxas", From: "ptx", Inputs: "b.o", To: "cubin", Wall: 1500 * time.Microsecond},
	}
	if err := j.WriteTimes(times); err != nil {
		t.Fatal(err)
	}
	rows := `ptx , ptxas , b.o , cubin , sm_80 , nvlink , 1.5000 , ms
ptx , ptxas , c.o , cubin , sm_80 , nvlink , 2.0000 , ms
lto.nvvm , cicc ,  , lto.ptx , sm_80 , nvlink , 1.0000 , ms
lto.ptx , ptxas ,  , lto.cubin , sm_80 , nvlink , 7.0000 , ms
`
	if want := timeHeader + rows; out.String() != want {
		t.Errorf("the table is\n%swant\n%s", out.String(), want)
	}
	o.TimeFile = filepath.Join(t.TempDir(), "times")
	for range 2 {
		if err := j.WriteTimes(times); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(o.TimeFile)
	if want := timeHeader + rows + rows; err != nil || string(text) != want {
		t.Errorf("the file is\n%s%v\nwant\n%s", text, err, want)
	}
}

func TestRounded(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 312345: "312µs", 12345678: "12ms", 1234567890: "1.235s"} {
		if got := rounded(d).String(); got != want {
			t.Errorf("%d: %s, not %s", d, got, want)
		}
	}
}
