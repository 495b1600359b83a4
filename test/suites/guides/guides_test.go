//go:build realtools

// Package guides runs the commands of the guides and of the README from their own
// text, as a reader would, with one shell for each.
package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// A block is a fenced part of a document. The first word after the fence is the
// language; a second one is the name of the file that the text is.
type block struct{ language, file, text string }

var fenced = regexp.MustCompile("(?ms)^```([a-z]+)(?: (\\S+))?\n(.*?)^```$")

func blocks(t *testing.T, path string) (list []block) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fenced.FindAllStringSubmatch(string(text), -1) {
		list = append(list, block{m[1], m[2], m[3]})
	}
	return list
}

// notRun says in the first lines of a guide that CI does not run it.
var notRun = regexp.MustCompile(`(?m)^\*Not run by CI: .*\*$`)

func TestGuides(t *testing.T) {
	paths, err := filepath.Glob("../../../docs/guides/*.md")
	if err != nil || len(paths) < 7 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		commands := strings.Contains(string(text), "```sh\n")
		if filepath.Base(path) == "README.md" || notRun.Match(text) {
			if commands {
				t.Errorf("%s has commands that are not run", path)
			}
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			follow(t, path, t.TempDir())
		})
	}
}

// TestReadme follows the README in a copy of the repository.
func TestReadme(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copied := exec.Command("bash", "-c",
		`git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$1"`, "-", dir)
	copied.Dir = "../../.."
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	follow(t, "../../../README.md", dir)
}

// follow writes the files of a document and runs its commands. At least one link or assembly
// must have been warpld's; a link has a record, which the environment asks for.
func follow(t *testing.T, path, dir string) {
	t.Helper()
	script := "set -eux\n"
	for _, b := range blocks(t, path) {
		switch {
		case b.file != "":
			if err := os.WriteFile(filepath.Join(dir, b.file), []byte(b.text), 0o666); err != nil {
				t.Fatal(err)
			}
		case b.language == "sh":
			script += b.text
		}
	}
	tk, home, records := kit.Toolkits(t)[0], t.TempDir(), t.TempDir()
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kit.Binary(t), filepath.Join(bin, "warpld")); err != nil {
		t.Fatal(err)
	}
	// Go keeps what it has built and loaded below the home folder, too.
	kept, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Fields(string(kept))
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+tk.Tool("")+":"+os.Getenv("PATH"), "CUDA_HOME="+tk.Root, "HOME="+home,
		"XDG_CACHE_HOME="+filepath.Join(home, "cache"), "WARPLD_CACHE_DIR="+filepath.Join(home, "warpld-cache"),
		"WARPLD_FLAGS=--warpld-record="+records, "GOCACHE="+folders[0], "GOMODCACHE="+folders[1])
	if filepath.Base(path) == "pytorch.md" {
		cmd.Env = append(cmd.Env, forPyTorch(t, bin)...)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
	if filepath.Base(path) == "without-lto.md" { // there is no link, and so no record
		if !strings.Contains(string(out), "assemble: from the cache") {
			t.Errorf("%s: warpld did not assemble:\n%s", path, out)
		}
		return
	}
	if linked, err := filepath.Glob(filepath.Join(records, "*.json")); err != nil || len(linked) == 0 {
		t.Errorf("%s: warpld did not link:\n%s", path, out)
	}
}

// forPyTorch makes Debian's PyTorch, which is for Debian's python3 and made without CUDA,
// build extensions for it: it is told a version, and has empty libraries to link with.
func forPyTorch(t *testing.T, bin string) (env []string) {
	t.Helper()
	dir := t.TempDir()
	script := `ln -s /usr/bin/python3 "$1/python3"
		echo 'import torch; torch.version.cuda = "13.0"' >sitecustomize.py
		for name in c10_cuda torch_cuda; do gcc -shared -x c /dev/null -o lib$name.so; done`
	cmd := exec.Command("bash", "-ec", script, "-", bin)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return []string{"PYTHONPATH=" + dir, "LIBRARY_PATH=" + dir}
}
