//go:build realtools

package compare

import (
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

var few = []string{"hostref", "w1", "w2"}

// compiledWith is the program whose objects were compiled with an option.
func compiledWith(kind string) link { return link{inputs: filesOf("FORM-"+kind, ".o", few)} }

// mixed has one object that was compiled with an option and two that were not.
func mixed(kind string) link {
	return link{inputs: append(filesOf("FORM-"+kind, ".o", few[:1]), objects(few[1:]...)...)}
}

// optionLinks are command lines with options, by what they show.
func optionLinks() map[string]link {
	plain := link{inputs: objects(few...)}
	links := map[string]link{
		"lineinfo objects":            compiledWith("lineinfo"),
		"lineinfo objects to PTX":     compiledWith("lineinfo").with("-emit-ptx"),
		"some lineinfo objects":       mixed("lineinfo"),
		"maxrregcount objects":        compiledWith("maxreg"),
		"some maxrregcount objects":   mixed("maxreg"),
		"maxrregcount over objects":   compiledWith("maxreg").with("-maxrregcount=40"),
		"fast-math objects":           compiledWith("fastmath"),
		"fast-math objects and nvvm":  compiledWith("fastmath").with("-Xnvvm", "-opt=3"),
		"many and split-compile":      programs["launched many"].with("-split-compile=2"),
		"many and Ofc":                programs["launched many"].with("-Ofc=max"),
		"one file and split-extended": programs["host references"].with("-split-compile-extended=2"),
		"archive and kernels-used":    programs["archive"].with("-kernels-used=ka,km"),
		"relocatable":                 {inputs: objects(few...), options: []string{"-r"}, merges: true},
		"force-partial-lto":           {inputs: objects(few...), options: []string{"-force-partial-lto"}, merges: true},
		"debug":                       {inputs: objects(few...), options: []string{"-g"}, merges: true},
		"native and -v":               programs["native object"].with("-v"),
	}
	for _, options := range []string{
		"-maxrregcount=32", "-maxrregcount=255",
		"-Ofc=0", "-Ofc=min", "-Ofc=mid", "-Ofc=max", "--Ofast-compile=max",
		"-split-compile=0", "-split-compile=1", "-split-compile=2", "-split-compile-extended=1",
		"-Xptxas=-O1", "-Xptxas -v", "-Xptxas -O2,-v -Xptxas=-warn-spills", "-maxrregcount=32 -Xptxas=-v",
		"-Xnvvm -opt=0", "-Xnvvm=-ftz=1", "-Xnvvm -opt=3,-fma=0 -Ofc=0", "-Xnvvm=-link-lto", "-Xnvvm=--trace-lto",
		"-kernels-used=kw1", "-kernels-used=k_ext_unused,kw2", "-variables-used=sv",
		"-variables-used=d_ext_unused,c_int_unused",
		"-kernels-used=kw1 -variables-used=sv", "-kernels-used=kw1 -ignore-host-info", "-kernels-used=kw1 -use-host-info",
		"-ignore-host-info", "-use-host-info", "-ignore-host-info -emit-ptx",
		"-device-stack-protector=true", "-device-stack-protector=false", "-device-stack-protector=true -Ofc=mid",
		"-force-whole-lto", "-emit-ptx -split-compile-extended=4", "-emit-ptx -maxrregcount=32 -Ofc=min",
		"-v", "-w", "-Werror", "-disable-infos", "-time=times.csv", "-time=- -emit-ptx", "--host-ccbin gcc", "-lto",
	} {
		links[options] = plain.with(strings.Fields(options)...)
	}
	return links
}

func TestOptions(t *testing.T) {
	links := optionLinks()
	forEachSetting(t, kit.Archs, func(t *testing.T, s setting) {
		for name, l := range links {
			t.Run(name, func(t *testing.T) { t.Parallel(); s.compare(t, l) })
		}
	})
}
