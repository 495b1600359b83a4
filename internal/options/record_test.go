package options

import (
	"strings"
	"testing"
)

func TestRecord(t *testing.T) {
	tests := map[string]string{
		"-arch=sm_80 a.o -o x":                "-arch sm_80 ",
		"-Werror -w --arch sm_90 -m64 -r a.o": "-arch sm_90 -m 64 -w  -Werror  -r  ",
		"-L. -lx -L=/usr -Xptxas -O3,-v -arch=sm_80 -kernels-used=a -kernels-used b": "-arch sm_80 -l x -L " +
			".,/usr -kernels-used a,b -Xptxas -O3,-v ",
		"-dlto -nvvmpath=/n -arch=sm_80 -split-compile=2 -Ofc=min -device-stack-protector=true": "-arch sm_80 -dlto  " +
			"-nvvmpath /n -split-compile 2 -Ofc min -device-stack-protector true ",
		"-arch=sm_80 --warpld-keep --register-link-binaries=r.c -time=t -tool-name=x": "-arch sm_80 ",
		"-arch=sm_80 -v -g d/a.o --register-link-binaries=d/r.c b.o -o d/x -L. -w": "a.o,b.o -o x -g  -arch sm_80 -L . " +
			"- r.c -v  -w  ",
	}
	for line, want := range tests {
		o, err := Parse(strings.Fields(line), "", files{}.read, (&lines{}).report)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := o.Record(); got != want {
			t.Errorf("%s is recorded as\n%q, want\n%q", line, got, want)
		}
	}
}
