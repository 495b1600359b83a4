package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShards(t *testing.T) {
	tests := []struct {
		text  string
		sizes []int64
		want  []string // nil: an error
	}{
		{"whole", nil, []string{"whole"}},
		{"whole", []int64{5}, []string{"whole"}},
		{"bbbaacd", []int64{3, 2, 2}, []string{"aa", "bbb", "cd"}},
		{"aab", []int64{2, 2}, nil},
		{"aab", []int64{1, 1}, nil},
		{"aab", []int64{-1, 2}, nil},
	}
	for _, test := range tests {
		shards, err := Shards([]byte(test.text), test.sizes)
		var got []string
		for _, s := range shards {
			got = append(got, string(s))
		}
		if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != (test.want == nil) {
			t.Errorf("Shards(%q, %d): error %v, difference\n%s", test.text, test.sizes, err, diff)
		}
	}
}

func TestShardFile(t *testing.T) {
	if got := ShardFile("lto.ptx", 0, 1); got != "lto.ptx" {
		t.Errorf("the only one is called %q", got)
	}
	if got := ShardFile("x/lto.ptx", 7, 12); got != "x/shard-00007/lto.ptx" {
		t.Errorf("one of twelve is called %q", got)
	}
}
