//go:build realtools

package clang

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/test/kit"
)

// Check 6: damaged inputs, a thousand with flipped bits and a thousand cut off, bare
// and in clang's objects. The linker ends by itself each time, with a message if it
// ends badly; LLVM crashes on some of them.
func Test06Damaged(t *testing.T) {
	const each = 500
	bare, err := os.ReadFile(compile(t, clang22, "a.cu", "a.bc", bitcode()...))
	if err != nil {
		t.Fatal(err)
	}
	object, err := os.ReadFile(compile(t, clang22, "a.cu", "a.o", "-foffload-lto", "-fwhole-program-vtables"))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(8, 2026))
	var damaged []string
	dir := t.TempDir()
	add := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		damaged = append(damaged, path)
	}
	for i := range each {
		for _, whole := range []struct {
			extension string
			data      []byte
		}{{"bc", bare}, {"o", object}} {
			flipped := bytes.Clone(whole.data)
			flipped[random.IntN(len(flipped))] ^= 1 << random.IntN(8)
			add(fmt.Sprintf("flipped%d.%s", i, whole.extension), flipped)
			add(fmt.Sprintf("cut%d.%s", i, whole.extension), whole.data[:random.IntN(len(whole.data))])
		}
	}
	linker := kit.Warpld(t, "--warpld-time-limit=60 --warpld-cuda="+toolkit(t).Root)
	var group errgroup.Group
	group.SetLimit(4)
	refused, died := make([]bool, len(damaged)), make([]bool, len(damaged))
	for i, path := range damaged {
		group.Go(func() error {
			work := filepath.Join(dir, fmt.Sprintf("work%d", i))
			if err := os.Mkdir(work, 0o777); err != nil {
				return err
			}
			r, err := linker.Run(kit.Job{Dir: work, Args: []string{"-dlto", "-arch=" + arch, "-emit-ptx",
				"-force-partial-lto", "-o", "out", path}})
			switch {
			case err != nil:
				return err
			case r.Exit != 0 && r.Exit != 1 && r.Exit != 255, strings.Contains(r.Stderr, "goroutine"):
				return fmt.Errorf("%s: exit %d\n%s", path, r.Exit, r.Stderr)
			case r.Exit != 0 && !strings.Contains(r.Stderr, "fatal   : "):
				return fmt.Errorf("%s: exit %d without a message\n%s", path, r.Exit, r.Stderr)
			}
			refused[i] = r.Exit != 0
			died[i] = strings.Contains(r.Stderr, "libLLVM.so crashed") || strings.Contains(r.Stderr, "libLLVM.so ended")
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d damaged inputs: %d refused, LLVM itself crashed or exited %d times", len(damaged), count(refused),
		count(died))
}

func count(set []bool) (n int) {
	for _, is := range set {
		if is {
			n++
		}
	}
	return n
}

// TestWorkerKilled: a libLLVM that ends its process, however it does, is a message.
func TestWorkerKilled(t *testing.T) {
	files := sample(t, ".bc", bitcode()...)
	for how, want := range map[string]string{"raise(9);": "crashed (killed)",
		"raise(11);": "crashed (segmentation fault)", "_exit(0);": "ended the process"} {
		dir := t.TempDir()
		source := filepath.Join(dir, "fake.c")
		text := "#include <signal.h>\n#include <unistd.h>\n__attribute__((constructor)) static void start(void) { " +
			how + " }\n"
		if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		library := filepath.Join(dir, "libLLVM.so")
		run(t, "gcc", "-shared", "-fPIC", "-Wl,-soname,libLLVM.so.22.1", "-o", library, source)
		refused(t, want, files, "--warpld-llvm="+library)
	}
}
