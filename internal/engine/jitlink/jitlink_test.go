package jitlink

import (
	"slices"
	"testing"
)

func TestShards(t *testing.T) {
	const (
		first  = "//\n// Generated\n//\n\n.version 9.0\n.func f() // .version 1\n{\n}\n// end\n\n"
		second = "// Generated\n.version 9.0\n"
	)
	tests := []struct {
		text string
		want []int64
	}{
		{"", nil},
		{first, nil},
		{first + second, []int64{int64(len(first)), int64(len(second))}},
		{second + first + second, []int64{int64(len(second)), int64(len(first)), int64(len(second))}},
	}
	for _, test := range tests {
		if got := shards([]byte(test.text)); !slices.Equal(got, test.want) {
			t.Errorf("shards(%q) = %d, want %d", test.text, got, test.want)
		}
	}
}
