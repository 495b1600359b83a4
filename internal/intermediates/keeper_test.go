package intermediates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/message"
)

func TestQuote(t *testing.T) {
	tests := []struct{ word, want string }{
		{"", "''"},
		{"-arch=sm_80", "-arch=sm_80"},
		{"/a/b-c_d.o", "/a/b-c_d.o"},
		{"-host-ref-ek=_Z1k*,m", "'-host-ref-ek=_Z1k*,m'"},
		{"two words", "'two words'"},
		{"it's", `'it'\''s'`},
		{"$HOME", "'$HOME'"},
		{"~", "'~'"},
		{"a\nb", "'a\nb'"},
		{"Größe.o", "'Größe.o'"},
	}
	for _, test := range tests {
		if got := quote(test.word); got != test.want {
			t.Errorf("quote(%q) = %s, want %s", test.word, got, test.want)
		}
	}
}

func TestLongArguments(t *testing.T) {
	long := strings.Repeat("k", longestWord+1)
	k := &keeper{worker: []string{"/warpld", "worker"}}
	k.stage("-lto-carry", "-arch=sm_80", "-host-ref-ek="+long[:longestWord/2])
	k.stage("-lto-carry", "-arch=sm_80", "-host-ref-ek="+long)
	want := "/warpld worker -lto-carry -arch=sm_80 -host-ref-ek=" + long[:longestWord/2] + "\n" +
		"printf '%s\\000' -arch=sm_80 -host-ref-ek=" + long + " >arguments\n" +
		"/warpld worker -lto-carry @arguments\n"
	if got := k.commands.String(); got != want {
		t.Errorf("printed:\n%s", strings.ReplaceAll(got, long, "LONG"))
	}
}

func TestReadable(t *testing.T) {
	tests := []struct {
		origin message.Origin
		want   string
	}{
		{message.Origin{File: "a.o"}, "a"},
		{message.Origin{File: "/x/y.z/b.cu.o"}, "b.cu"},
		{message.Origin{File: "../lib/libparts.a", Member: "dir/b.o"}, "libparts-b"},
		{message.Origin{File: "it's $a b.o"}, "it_s_a_b"},
		{message.Origin{File: "noextension"}, "noextension"},
	}
	for _, test := range tests {
		if got := readable(test.origin); got != test.want {
			t.Errorf("readable(%v) = %q, want %q", test.origin, got, test.want)
		}
	}
}

// TestClear: a folder of an earlier link loses what that link kept, and nothing else.
func TestClear(t *testing.T) {
	k := &keeper{folder: filepath.Join(t.TempDir(), "out.keep")}
	stale := []string{"module-00000-a.nvvm", "shard-00001/lto.ptx", "native-00000-b/lto.cubin", "part-00002.o",
		"lto.ptx", "linked.cubin", "linked_lto.bc"}
	foreign := []string{"notes.txt", "module-a", "lto.ptx.orig", "mine/lto.ptx"}
	for _, name := range append(stale[:len(stale):len(stale)], foreign...) {
		path := filepath.Join(k.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.clear(); err != nil {
		t.Fatal(err)
	}
	for _, name := range stale {
		if _, err := os.Stat(filepath.Join(k.folder, name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range foreign {
		if _, err := os.Stat(filepath.Join(k.folder, name)); err != nil {
			t.Errorf("%s was removed", name)
		}
	}
}
