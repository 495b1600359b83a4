package engine

import "testing"

func TestRepairNames(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"call f.llvm.123, (x);", "call f$llvm$123, (x);"},
		{"a.llvm.1.llvm.2 b", "a$llvm$1$llvm$2 b"},
		{".func _Zf.llvm.9(\n", ".func _Zf$llvm$9(\n"},
		{"ld.global.b32 %r1, [tbl.llvm.7+4];", "ld.global.b32 %r1, [tbl$llvm$7+4];"},
		{"// f.llvm.1\nf.llvm.1 /* f.llvm.1 */", "// f.llvm.1\nf$llvm$1 /* f.llvm.1 */"},
		{`"f.llvm.1 \" f.llvm.2" f.llvm.3`, `"f.llvm.1 \" f.llvm.2" f$llvm$3`},
		{`"open f.llvm.1`, `"open f.llvm.1`},
		{" .llvm.1", " .llvm.1"},
		{"f.llvm.", "f.llvm."},
	} {
		if got := string(RepairNames([]byte(test.text))); got != test.want {
			t.Errorf("RepairNames(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzRepairNames(f *testing.F) {
	f.Add([]byte("// c\n\"s\" f.llvm.1(x)/*"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := RepairNames(text); len(got) != len(text) {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	})
}
