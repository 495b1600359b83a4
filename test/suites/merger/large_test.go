//go:build realtools

package merger

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/test/kit"
)

// TestLargePrograms links the generated program and that of Thrust and CUB algorithms as
// relocatable code, for one target; the larger ones only with WARPLD_TEST_FULL=1.
func TestLargePrograms(t *testing.T) {
	programs := map[string]func(dir string) ([]string, error){"8 modules": modules(8)}
	if kit.Full() {
		programs["64 modules"], programs["256 modules"], programs["Thrust"] = modules(64), modules(256), kit.Thrust
	}
	for _, tk := range kit.Toolkits(t) {
		for name, write := range programs {
			t.Run(tk.Release()+"/"+name, func(t *testing.T) {
				sources, err := write(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				s := setting{tk, "sm_80"}
				p, built := s.compileLarge(t, sources)
				s.compare(t, p, built)
				for _, removal := range s.removals(t, rand.New(rand.NewPCG(17, 17)), p, built) {
					s.compare(t, removal, built)
				}
			})
		}
	}
}

func modules(count int) func(dir string) ([]string, error) {
	return func(dir string) ([]string, error) { return kit.Generate(dir, "--modules", fmt.Sprint(count)) }
}

// compileLarge compiles the sources of a program, two at a time.
func (s setting) compileLarge(t *testing.T, sources []string) (program, map[string]string) {
	t.Helper()
	outs := make([]string, len(sources))
	var group errgroup.Group
	group.SetLimit(2)
	for i, source := range sources {
		text := read(t, source)
		group.Go(func() (err error) {
			outs[i], err = s.compileOnce(source, filepath.Base(source)+".cubin", text, []string{"-w", "-std=c++17",
				"-arch=" + s.arch, "-rdc=true", "-cubin"})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	p, built := program{}, map[string]string{}
	for i, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".cu")
		p.names, built[name] = append(p.names, name), outs[i]
	}
	return p, built
}
