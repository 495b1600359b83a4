//go:build realtools

package modes

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/test/kit"
)

// Every corrupted input must end in a diagnostic or in a link, and soon.
const (
	corruptions  = 10000
	withBinary   = 300 // of them are linked from the command line to the output
	corruptLimit = 10 * time.Second
	linkLimit    = 60 * time.Second // nvlink may write 4 GB of zeros until it is stopped
	corruptSeed  = 1
	truncateStep = 64
)

// sound are the files that are corrupted: one of each format, stored and in
// each compression.
var sound = []string{
	"stored.o", "default.o", "lz4.o", "zstd.o", "elf-lz4.o", "hostref.o",
	"plain.a", "thin.a", "long-names.a",
	"stored.fatbin", "default.fatbin", "lz4.fatbin", "zstd.fatbin",
	"relocatable-80.cubin", "plain.ltoir",
}

// beside are the files that thin archives name.
var beside = []string{"default.o", "stored.o"}

// A corruption is a file with one thing wrong.
type corruption struct {
	file string
	cut  int // the length that is left, or -1 for all of it
	flip int // the bit that is not as it was
}

func (c corruption) String() string {
	if c.cut >= 0 {
		return fmt.Sprintf("%s cut to %d bytes", c.file, c.cut)
	}
	return fmt.Sprintf("%s with bit %d flipped", c.file, c.flip)
}

func (c corruption) of(data []byte) []byte {
	if c.cut >= 0 {
		return data[:c.cut]
	}
	data = bytes.Clone(data)
	data[c.flip/8] ^= 1 << (c.flip % 8)
	return data
}

// readSound reads the files before they are corrupted.
func readSound(tb testing.TB, tk kit.Toolkit) map[string][]byte {
	tb.Helper()
	compiler, err := tk.Compiler()
	if err != nil {
		tb.Fatal(err)
	}
	dir := os.Getenv("WARPLD_TEST_FILES")
	if dir == "" {
		tb.Fatal("WARPLD_TEST_FILES is not set; .ci/run sets it to what test/tools/buildcorpus built")
	}
	files := map[string][]byte{}
	for _, name := range sound {
		data, err := os.ReadFile(filepath.Join(dir, compiler.Release(), name))
		if err != nil {
			tb.Fatal(err)
		}
		files[name] = data
	}
	return files
}

// corrupt lists all truncations, and as many flipped bits as it takes to reach
// the number that is wanted, the same number in each file.
func corrupt(files map[string][]byte) []corruption {
	var list []corruption
	for _, name := range sound {
		for cut := 0; cut < len(files[name]); cut += truncateStep {
			list = append(list, corruption{file: name, cut: cut})
		}
	}
	random := rand.New(rand.NewPCG(corruptSeed, 0))
	for i := 0; len(list) < corruptions; i++ {
		name := sound[i%len(sound)]
		list = append(list, corruption{file: name, cut: -1, flip: random.IntN(len(files[name]) * 8)})
	}
	return list
}

// TestCorruptInputs reads and plans with every corrupted file in this process.
func TestCorruptInputs(t *testing.T) {
	files := readSound(t, kit.Toolkits(t)[0])
	list := corrupt(files)
	var refused, taken atomic.Int64
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for worker := range runtime.NumCPU() {
		dir := corruptFolder(t, files)
		group.Go(func() error {
			for i := worker; i < len(list); i += runtime.NumCPU() {
				path := filepath.Join(dir, "input"+filepath.Ext(list[i].file))
				if err := os.WriteFile(path, list[i].of(files[list[i].file]), 0o644); err != nil {
					return err
				}
				for _, lto := range []bool{true, false} {
					err, ended := within(corruptLimit, func() error { return readAndPlan(path, lto) })
					if !ended {
						return fmt.Errorf("%s: not done after %s", list[i], corruptLimit)
					}
					if err == nil {
						taken.Add(1)
					} else if why := notDiagnostic(err); why != "" {
						return fmt.Errorf("%s, LTO %t: %s", list[i], lto, why)
					} else {
						refused.Add(1)
					}
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d corrupted inputs, each read with and without -dlto: %d times refused, %d times taken\n", len(list),
		refused.Load(), taken.Load())
	if refused.Load() < corruptions/10 || taken.Load() < corruptions/10 {
		t.Error("nearly all are treated alike: the corruptions are not what they should be")
	}
}

// corruptFolder is a folder with the files in it that thin archives name.
func corruptFolder(tb testing.TB, files map[string][]byte) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, name := range beside {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// within runs f, which has not ended if it takes longer. A panic is an error.
func within(limit time.Duration, f func() error) (err error, ended bool) {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Errorf("panic: %v", r)
			}
		}()
		done <- f()
	}()
	select {
	case err := <-done:
		return err, true
	case <-time.After(limit):
		return nil, false
	}
}

// readAndPlan does all that a link does before it starts a tool.
func readAndPlan(path string, lto bool) error {
	args := []string{"-arch=sm_80", path, "-o", "linked"}
	if lto {
		args = append(args, "-dlto")
	}
	ignore := func(*message.Message) {}
	o, err := options.Parse(args, "", os.ReadFile, ignore)
	if err != nil {
		return err
	}
	objects, err := object.ReadAll(object.Inputs{Files: o.Inputs, LTO: o.LTO}, ignore)
	if err != nil {
		return err
	}
	p, err := plan.Make(plan.Input{Options: o, Objects: objects, Release: gpu.Release{Major: 13}})
	if err != nil {
		return err
	}
	for _, pieces := range [][]plan.Piece{p.IR, p.Native} {
		for _, piece := range pieces {
			if _, err := piece.Module.Data(); err != nil && !errors.Is(err, object.ErrObfuscated) {
				return err
			}
			if _, err := piece.Module.Container(); err != nil {
				return err
			}
		}
	}
	return nil
}

// notDiagnostic returns what keeps an error from being one for the user, or nothing.
func notDiagnostic(err error) string {
	list := message.Of(err)
	last := list[len(list)-1]
	switch {
	case strings.HasPrefix(err.Error(), "panic: "):
		return err.Error()
	case last.ID == "internal":
		return "an error without a message: " + err.Error()
	case last.Severity < message.Error || last.Text == "":
		return fmt.Sprintf("the last message does not end a link: %+v", last)
	}
	return ""
}

// TestCorruptLinks links some of the corrupted files with the program itself.
func TestCorruptLinks(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	files := readSound(t, tk)
	list := corrupt(files)
	linker := kit.Warpld(t, "--warpld-cuda="+tk.Root)
	var linked, refused atomic.Int64
	t.Run("links", func(t *testing.T) {
		for i := range withBinary {
			c := list[i*len(list)/withBinary]
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				inputs := corruptFolder(t, files)
				name := "input" + filepath.Ext(c.file)
				if err := os.WriteFile(filepath.Join(inputs, name), c.of(files[c.file]), 0o644); err != nil {
					t.Fatal(err)
				}
				paths := []string{filepath.Join(inputs, name)}
				for _, member := range beside {
					paths = append(paths, filepath.Join(inputs, member))
				}
				job := kit.NewJob(t, paths, "-arch=sm_80", "-dlto", "-nvvmpath="+tk.NVVM(), name, "-L"+tk.Lib(), "-lcudadevrt",
					"-o", output)
				started := time.Now()
				got, err := linker.Run(job)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(started); took > linkLimit {
					t.Errorf("took %s", took)
				}
				if got.Exit == 0 {
					linked.Add(1)
				} else {
					refused.Add(1)
				}
				if why := badEnd(got); why != "" {
					t.Errorf("%s\n%s", why, got.Stderr)
				}
			})
		}
	})
	fmt.Printf("%d corrupted inputs linked from end to end: %d times refused, %d times linked\n", withBinary,
		refused.Load(), linked.Load())
}

// badEnd says what is wrong with the end of a link, however it ended.
func badEnd(got kit.Result) string {
	failed := strings.Contains(got.Stderr, "nvlink fatal   : ") || strings.Contains(got.Stderr, "nvlink error   : ")
	switch data := got.Files[output]; {
	case strings.Contains(got.Stderr, "goroutine ") || strings.Contains(got.Stderr, "panic: "):
		return "it panicked"
	case got.Exit == message.ExitOK && failed:
		return "exit code 0 in spite of an error"
	case got.Exit == message.ExitOK:
		if _, err := cubin.Parse(data); err != nil {
			return "the output is no cubin: " + err.Error()
		}
		return ""
	case got.Exit != message.ExitFatal && got.Exit != message.ExitErrors:
		return fmt.Sprintf("exit code %d", got.Exit)
	case !failed:
		return "it failed without a message"
	case len(got.Files) > 0:
		return "it failed but left an output"
	}
	return ""
}
