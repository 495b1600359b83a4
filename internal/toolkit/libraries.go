package toolkit

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/pattern"
)

// ofTheSystem are the libraries that belong to the kernel and the loader of a machine
// and can't be brought along: the C library and its parts.
var ofTheSystem = pattern.Lazy(`^(ld-linux.*|ld64|libc|libm|libdl|libpthread|librt|libresolv|libutil)\.so(\.|$)`)

// Program returns the file of a program that is called by a name or a path.
func Program(name string, env func(string) string) (string, error) {
	path := name
	if !strings.ContainsRune(name, filepath.Separator) {
		s := search{q: Query{Env: env}}
		if path = s.lookPath(name); path == "" {
			return "", fmt.Errorf("%s is not in PATH", name)
		}
	}
	return resolve(path), checkTool(path)
}

// Libraries returns the paths of the shared libraries that a program loads when it is started,
// by the names that it records, without those of the C library.
func Libraries(program string, env func(string) string) (map[string]string, error) {
	found := map[string]string{}
	for queue := []string{program}; len(queue) > 0; queue = queue[1:] {
		needed, dirs, err := dynamic(queue[0], env)
		if err != nil {
			return nil, err
		}
		for _, name := range needed {
			if _, known := found[name]; known || ofTheSystem().MatchString(name) {
				continue
			}
			at := slices.IndexFunc(dirs, func(dir string) bool { return checkLibrary(filepath.Join(dir, name)) == nil })
			if at < 0 {
				return nil, fmt.Errorf("cannot find %s, which %s needs", name, queue[0])
			}
			found[name] = resolve(filepath.Join(dirs[at], name))
			queue = append(queue, found[name])
		}
	}
	return found, nil
}

// dynamic reads what a program or library needs, and where it is sought.
func dynamic(path string, env func(string) string) (needed, dirs []string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		lists, _ := f.DynString(tag)
		for _, list := range lists {
			origin := strings.NewReplacer("$ORIGIN", filepath.Dir(path), "${ORIGIN}", filepath.Dir(path))
			dirs = append(dirs, filepath.SplitList(origin.Replace(list))...)
		}
	}
	dirs = append(append(dirs, filepath.SplitList(env("LD_LIBRARY_PATH"))...),
		"/lib/"+host.triple, "/usr/lib/"+host.triple, "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
	needed, err = f.ImportedLibraries()
	return needed, dirs, err
}
