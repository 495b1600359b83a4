//go:build realtools

package cache

import (
	"os"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// TestNoRoom: a cache that cannot be written to, or not for long, is mentioned once,
// and the link goes on without it.
func TestNoRoom(t *testing.T) {
	for name, mount := range map[string]string{
		"read-only":         "ro,size=1m",
		"full":              "size=16k",
		"full after a step": "size=100k",
	} {
		t.Run(name, func(t *testing.T) {
			tk := kit.Toolkits(t)[0]
			dir := t.TempDir()
			warpld := mounted(t, kit.Caching(t, dir, "--warpld-cuda="+tk.Root), dir, mount)
			p := programs[len(programs)-1]
			job := p.job(t, tk)
			got := link(t, warpld, job)
			p.check(t, name, tk.Reference(t, job), got)
			if n := strings.Count(got.Stderr, "goes without the cache"); n != 1 {
				t.Errorf("%d notes:\n%s", n, got.Stderr)
			}
		})
	}
}

// mounted runs a linker in a world of its own, where a small file system is at dir.
func mounted(t *testing.T, l kit.Linker, dir, options string) kit.Linker {
	t.Helper()
	script := t.TempDir() + "/nvlink"
	text := "#!/bin/sh\nexec unshare --user --map-root-user --mount sh -c 'mount -t tmpfs -o " + options + " none " + dir +
		" && exec " + l.Exe + ` "$@"' nvlink "$@"` + "\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return kit.Linker{Exe: script, Env: l.Env}
}
