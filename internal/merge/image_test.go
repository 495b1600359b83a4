package merge

import (
	"bytes"
	"testing"
	"testing/iotest"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/merge/device"
)

func TestImage(t *testing.T) {
	for _, test := range []struct {
		passThrough []device.PassThrough
		want        string
	}{
		{nil, "0000000000"},
		{[]device.PassThrough{{Offset: 0, Data: []byte("ab")}, {Offset: 2, Data: []byte("c")},
			{Offset: 8, Data: []byte("yz")}}, "abc00000yz"},
		{[]device.PassThrough{{Offset: 3, Data: []byte("mnop")}}, "000mnop000"},
	} {
		content := action.Content{Stream: newImage(&device.Output{Cubin: []byte("0000000000"),
			PassThrough: test.passThrough})}
		got, err := content.Read()
		if err != nil || string(got) != test.want || content.Size() != int64(len(test.want)) {
			t.Errorf("%v: read %q of %d bytes, %v", test.passThrough, got, content.Size(), err)
		}
		var written bytes.Buffer
		if n, err := content.Stream.WriteTo(&written); err != nil || n != content.Size() || written.String() != test.want {
			t.Errorf("%v: written %q, %d, %v", test.passThrough, written.String(), n, err)
		}
		r, err := content.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(r, []byte(test.want)); err != nil {
			t.Errorf("%v: %v", test.passThrough, err)
		}
	}
	if got, err := (action.Content{Stream: newImage(&device.Output{})}).Read(); len(got) > 0 || err != nil {
		t.Errorf("of nothing: %q, %v", got, err)
	}
}
