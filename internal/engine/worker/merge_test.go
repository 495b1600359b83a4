package worker

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/object/objecttest"
)

const record = "-record= -record=warpld -record=v -record=b -record=o "

func TestMergeStage(t *testing.T) {
	t.Chdir(t.TempDir())
	code := func(number int) []byte {
		note := append([]byte{12, 0, 0, 0, 8, 0, 0, 0, 0xe8, 3, 0, 0}, "NVIDIA Corp\x00\x02\x00P\x00\x82\x00\x00\x00"...)
		return objecttest.ELF(objecttest.ELFFile{Type: 1, Machine: 190, ABIVersion: 8, Flags: uint32(number)<<8 | 4,
			Sections: []objecttest.Section{{Name: ".note.nv.cuinfo", Type: 7, Flags: 0x1000000, Data: note}}})
	}
	for name, data := range map[string][]byte{
		"a.cubin": code(80), "b.o": hostelf.Carry(fatbin.Stored(code(80), gpu.Arch{Number: 80}), "_b", nil),
		"other.cubin": code(90), "damaged.cubin": code(80)[:100], "two.fatbin": objecttest.Fatbin(
			objecttest.Member{Kind: 2, Arch: 80, Payload: code(80)}, objecttest.Member{Kind: 2, Arch: 86, Payload: code(86)}),
	} {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ words, covered, failed string }{
		{"-arch=sm_80 -m64 -w a.cubin b.o", "", ""},
		{"-arch=sm_80 -v a.cubin", "", ""},
		{"-arch=sm_80 -dump-callgraph a.cubin", "the option -dump-callgraph", ""},
		{"-arch=sm_80 -r a.cubin", "", ""},
		{"-arch=sm_80 other.cubin", "code for sm_90", ""},
		{"-arch=sm_80 two.fatbin", "just one cubin", ""},
		{"-arch=sm_80 damaged.cubin", "", "is damaged"},
		{"-arch=sm_80 nosuch.o", "", "nosuch.o"},
	} {
		if err := mergeParts(strings.Fields("-toolkit=130 " + record + "-o out --register-link-binaries=reg " +
			test.words)); err != nil {
			t.Errorf("%s: %v", test.words, err)
			continue
		}
		var a merge.Answer
		text, err := os.ReadFile(merge.AnswerFile)
		if err != nil || json.Unmarshal(text, &a) != nil {
			t.Fatalf("%s: answer %q, %v", test.words, text, err)
		}
		if (a.NotCovered == "") != (test.covered == "") || !strings.Contains(a.NotCovered, test.covered) ||
			a.Failed != (test.failed != "") || !strings.Contains(a.Messages.Error(), test.failed) {
			t.Errorf("%s: %+v %v", test.words, a, a.Messages)
		}
		out, err := os.ReadFile("out")
		if well := test.covered+test.failed == ""; err != nil || well != (len(out) > 0) {
			t.Errorf("%s: an output of %d bytes, %v", test.words, len(out), err)
		}
	}
	if err := mergeParts([]string{"a.cubin"}); !errors.Is(err, merge.ErrUsage) {
		t.Errorf("without an output: %v", err)
	}
}
