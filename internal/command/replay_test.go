package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/reproduce"
)

func TestPlaced(t *testing.T) {
	got, err := placed([]string{"--arch=sm_80", "--library-path=libraries/00000", "--library=m", "inputs/00000-a.o",
		"--time=time"}, "/dir")
	want := "--arch=sm_80 --library-path=/dir/libraries/00000 --library=m /dir/inputs/00000-a.o --time=/dir/time"
	if text := strings.Join(got, " "); err != nil || text != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

// TestHostileArguments checks that a packed link can't make its replay run, load, read
// or write what is not in it.
func TestHostileArguments(t *testing.T) {
	hostile := []string{
		"/etc/passwd", "../a.o", "a.o", "@inputs/00000-x", "--output-file=x", "-o=x", "--time=/x",
		"--register-link-binaries=x", "--dot-file=../x", "--library-path=/",
		"--library-path=libraries/../..", "--nvvmpath=inputs", "--warpld-cuda=inputs",
		"--warpld-llvm=inputs", "--warpld-record=x", "--warpld-trace=x", "--warpld-remarks=x",
		"--warpld-temp-dir=x", "--warpld-remote-helper=inputs/x", "--warpld-remote=grpc://x",
		"--warpld-reproduce=x", "--verbose-keep", "--warpld-keep", "--options-file=inputs/x",
		"--host-ccbin=inputs/x", "--gen-host-linker-script=lcs-abs", "--Xptxas=--output-file=/x",
		"--Xnvvm=-x=/x", "--warpld-llvm-options=-x=/x", "--no-such-option",
	}
	for _, argument := range hostile {
		if got, err := placed([]string{"--arch=sm_80", argument}, "/dir"); !errors.Is(err, reproduce.ErrFormat) {
			t.Errorf("%s became %q, %v", argument, got, err)
		}
	}
}
