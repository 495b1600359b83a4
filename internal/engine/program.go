package engine

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/toolkit"
)

// FindProgram returns a program of LLVM's, by its name or path, with its libraries.
func FindProgram(name string, env func(string) string) (p Program, err error) {
	file, err := toolkit.Program(name, env)
	var libraries map[string]string
	if err == nil {
		libraries, err = toolkit.Libraries(file, env)
	}
	if err != nil {
		return p, &message.Message{Severity: message.Fatal, ID: "llvm-tool", Text: fmt.Sprintf("'%s' can't be used", name),
			Notes: []string{err.Error()}, Hint: "name the program itself, not a script around it", Cause: err}
	}
	p = Program{Name: filepath.Base(name), File: digestedOnce(file)}
	for _, name := range slices.Sorted(maps.Keys(libraries)) {
		p.Libraries = append(p.Libraries, action.File{Name: name, Content: digestedOnce(libraries[name])})
	}
	return p, nil
}

// digestedOnce returns the content of a file that many actions have.
func digestedOnce(path string) action.Content {
	c := action.AtPath(path)
	c.Sum = sync.OnceValues(action.AtPath(path).Digest)
	return c
}
