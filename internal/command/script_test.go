package command

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/warpld/warpld/internal/reproduce"
	"github.com/warpld/warpld/test/kit/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m, Run) }

func TestScripts(t *testing.T) {
	scripts.Run(t, "testdata/script", map[string]func(ts *testscript.TestScript, neg bool, args []string){"pack": pack})
}

// pack packs a link that no warpld made: pack LINK.json FILE.tar.zst [INPUT...].
// Inputs are packed under their own names.
func pack(ts *testscript.TestScript, _ bool, args []string) {
	var p reproduce.Package
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &p))
	var files []reproduce.File
	for _, name := range args[2:] {
		files = append(files, reproduce.File{Name: name, Path: ts.MkAbs(name)})
	}
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(reproduce.Write(f, &p, files))
	ts.Check(f.Close())
}
