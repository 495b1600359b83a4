package intermediates

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/build"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
)

// A keeper writes files into a folder and collects the commands for them.
type keeper struct {
	folder   string
	worker   []string
	commands strings.Builder
	cubins   map[*build.Assembly]string // the names of those that are kept
	err      error                      // the first one
}

// ours matches the names that a keeper gives.
var ours = pattern.Lazy(`^(module|native|shard|part)-\d{5}|^llvm$|^(lto|linked|linked_lto)\.(ptx|cubin|bc)$`)

// clear makes the folder and removes what an earlier link has left in it.
func (k *keeper) clear() error {
	if err := os.MkdirAll(k.folder, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(k.folder)
	for _, e := range entries {
		if err == nil && ours().MatchString(e.Name()) {
			err = os.RemoveAll(filepath.Join(k.folder, e.Name()))
		}
	}
	return err
}

// save keeps a file, unless the link failed before there was one.
func (k *keeper) save(name string, c action.Content) {
	if k.err != nil || !made(c) {
		return
	}
	data, err := c.Read()
	if len(data) == 0 && err == nil {
		return
	}
	path := filepath.Join(k.folder, name)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	k.err = err
}

// made reports whether a build came to a content.
func made(c action.Content) bool { return c.Path != "" || c.Load != nil || c.Stream != nil }

// assembly keeps a run of ptxas, if it came to that.
func (k *keeper) assembly(folder string, a *build.Assembly) {
	run := a.Action()
	if run == nil {
		return
	}
	k.cubins[a] = filepath.Join(folder, engine.CubinFile)
	k.action(folder, run)
	k.save(k.cubins[a], a.Cubin)
}

// action prints the command of an action whose files are in a folder.
func (k *keeper) action(folder string, a *action.Action) {
	words := append([]string{absolute(a.Tool.Path)}, a.Args...)
	if folder == "." {
		k.command(words...)
	} else {
		fmt.Fprintf(&k.commands, "(cd %s && %s)\n", quote(folder), quoteAll(words))
	}
}

// cameTo reports whether a build came to a step.
func cameTo(s *action.Step) bool { return s != nil && s.Action() != nil }

// What Linux takes at the start of a process, with room for the environment: the
// lists of host references of a large program can be longer.
const (
	longestWord = 100 << 10
	longestLine = 1 << 20
)

// stage prints a command of the worker. Arguments that are too long for one go
// through a file, which the shell writes without starting a process.
func (k *keeper) stage(name string, args ...string) {
	total, longest := 0, 0
	for _, a := range args {
		total, longest = total+len(a)+1, max(longest, len(a))
	}
	if longest > longestWord || total > longestLine {
		const file = "arguments"
		fmt.Fprintf(&k.commands, "printf '%%s\\000' %s >%s\n", quoteAll(args), file)
		args = []string{engine.ArgumentsFrom + file}
	}
	k.command(slices.Concat(k.worker, []string{name}, args)...)
}

func (k *keeper) command(words ...string) { k.commands.WriteString(quoteAll(words) + "\n") }

func quoteAll(words []string) string {
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, quote(w))
	}
	return strings.Join(quoted, " ")
}

var plainWord = pattern.Lazy(`^[\w@%+=:,./-]+$`)

// quote writes a word as a POSIX shell reads it.
func quote(word string) string {
	if plainWord().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var unreadable = pattern.Lazy(`[^\w.+-]+`)

// readable returns the name of an origin for a part of a file name: "libparts-b" for
// lib/libparts.a:b.o.
func readable(o message.Origin) string {
	name := stem(o.File)
	if o.Member != "" {
		name += "-" + stem(o.Member)
	}
	return unreadable().ReplaceAllString(name, "_")
}

func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// absolute returns a path that is the same in every folder.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
