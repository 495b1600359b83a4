//go:build realtools

package reapi

import (
	"bytes"
	"testing"

	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/action/remote"
)

// TestCompression stores and finds a large result on a server that knows zstd.
func TestCompression(t *testing.T) {
	address, sent := meter(t, cacheServer(t))
	a := script(t, "yes warpld | head -c 8000000 >out")
	want := bytes.Repeat([]byte("warpld\n"), 8000000/7+1)[:8000000]
	for _, cached := range []bool{false, true} {
		here, err := local.New(t.TempDir(), false)
		if err != nil {
			t.Fatal(err)
		}
		client := connect(t, address, remote.Config{Upload: true, Dir: here.Dir,
			Note: func(without string, err error) { t.Errorf("without %s: %v", without, err) }})
		r, err := client.Cache(here).Run(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Outputs["out"].Read()
		if err != nil || !bytes.Equal(out, want) || r.Cached != cached {
			t.Errorf("%d bytes, error %v, cached %v, want %v", len(out), err, r.Cached, cached)
		}
		client.Close()
	}
	if n := sent.Load(); n > 1_000_000 {
		t.Errorf("%d bytes were sent", n)
	}
}
