//go:build realtools

package inspect

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/test/kit"
)

const imagesSource = `.version 8.0
.target sm_80, texmode_independent
.address_size 64
.global .texref first;
.global .texref second;
.global .samplerref sampler;
.global .surfref surface;
.visible .entry k(.param .u64 p)
{
	.reg .u64 %rd<2>;
	.reg .f32 %f<9>;
	.reg .b32 %r<3>;
	ld.param.u64 %rd1, [p];
	mov.f32 %f1, 0f3F800000;
	mov.u32 %r1, 4;
	tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [first, sampler, {%f1, %f1}];
	tex.2d.v4.f32.f32 {%f6, %f3, %f4, %f5}, [second, sampler, {%f1, %f1}];
	suld.b.1d.b32.trap {%r2}, [surface, {%r1}];
	add.f32 %f2, %f2, %f6;
	st.global.f32 [%rd1], %f2;
	st.global.u32 [%rd1+4], %r2;
	ret;
}
`

// What nvlink -v counts of textures and the like is what inspect and records have, before
// and after the link.
func TestImages(t *testing.T) {
	said := regexp.MustCompile(`, 2 textures, 1 surfaces, 1 samplers\n`)
	want := cubin.Images{Textures: 2, Surfaces: 1, Samplers: 1}
	for _, tk := range kit.Toolkits(t) {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		if err := os.WriteFile(at("k.ptx"), []byte(imagesSource), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"ptxas", "-c", "-arch=sm_80", at("k.ptx"), "-o", at("k.cubin")},
			{"nvlink", "-v", "-arch=sm_80", at("k.cubin"), "-o", at("linked.cubin")}} {
			out, err := exec.Command(tk.Tool(command[0]), command[1:]...).CombinedOutput()
			if err != nil || (command[0] == "nvlink" && !said.Match(out)) {
				t.Fatalf("%q: %v\n%s", command, err, out)
			}
		}
		for _, name := range []string{"k.cubin", "linked.cubin"} {
			data, err := os.ReadFile(at(name))
			if err != nil {
				t.Fatal(err)
			}
			f, err := cubin.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if kernels, err := f.Resources(); err != nil || len(kernels) != 1 || kernels[0].Images != want {
				t.Errorf("%s: %+v, %v, want %+v", name, kernels, err, want)
			}
		}
	}
}
