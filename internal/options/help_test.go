package options_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/command"
	"github.com/warpld/warpld/internal/options"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGoldenTexts(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	for golden, got := range map[string]string{filepath.Join("testdata", "help.txt"): options.Help("nvlink"),
		filepath.Join(docs, "warpld.1"): options.ManPage(command.List())} {
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got, -update accepts it):\n%s", golden, diff)
		}
	}
}
