//go:build realtools

package merger

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/test/kit"
)

// kernels are those of a cubin.
func kernels(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// some are a random part of a list.
func some(r *rand.Rand, list []string) []string {
	var chosen []string
	for _, x := range list {
		if r.IntN(2) == 0 {
			chosen = append(chosen, x)
		}
	}
	return chosen
}

// TestRemoval links programs of which some kernels are not used, by the
// options and by host references.
func TestRemoval(t *testing.T) {
	andMercury(t, func(t *testing.T, s setting) {
		all := names(t)
		built := s.buildAll(t, all)
		r := rand.New(rand.NewPCG(3, uint64(kit.Number(t, "WARPLD_TEST_MERGER_SEED", 3))))
		list := append(singles(t), programs()...)
		for range kit.Number(t, "WARPLD_TEST_MERGER_RANDOM", randomLinks) {
			list = append(list, randomProgram(t, r, all, built))
		}
		for _, launched := range []string{"khost", "khost2", "khost*"} {
			p := program{names: []string{"host_names"}, launched: map[string][]string{"host_names": {launched}}}
			t.Run(p.String(), func(t *testing.T) { s.compare(t, p, built) })
		}
		for _, p := range list {
			for _, removal := range s.removals(t, r, p, built) {
				t.Run(removal.String(), func(t *testing.T) { s.compare(t, removal, built) })
			}
		}
	})
}

// removals are ways to link a program without some of its kernels.
func (s setting) removals(t *testing.T, r *rand.Rand, p program, built map[string]string) []program {
	byOption, byHost := p, p
	byHost.launched = map[string][]string{}
	var used []string
	for _, name := range p.names {
		list := kernels(t, built[name])
		used = append(used, some(r, list)...)
		for _, k := range some(r, list) {
			byHost.launched[name] = append(byHost.launched[name], strings.TrimSuffix(k, "Pi")+"*")
		}
	}
	list := []program{byHost}
	if len(used) > 0 {
		byOption.options = []string{"-kernels-used=" + strings.Join(used, ",")}
		list = append(list, byOption)
	}
	if r.IntN(8) == 0 {
		byOption.options = slices.Concat(byOption.options, []string{"-variables-used=g"})
		list = append(list, byOption)
		byHost.options = []string{"-ignore-host-info"}
		list = append(list, byHost)
	}
	if r.IntN(8) == 0 {
		byOption.options, byHost.options = append([]string{"-g"}, byOption.options...), []string{"-g"}
		list = append(list, byOption, byHost)
	}
	return list
}
