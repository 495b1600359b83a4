package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A program is what is linked together.
type program struct {
	Name  string
	Units []unit
}

// listName is the file of a folder that lists programs.
const listName = "programs.txt"

// findPrograms returns the programs of a folder in all layouts that it has, or those of a
// list.
func findPrograms(root string) ([]program, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	var found []program
	if !info.IsDir() {
		found, err = fromList(root)
	} else {
		for _, layout := range []func(string) ([]program, error){
			fromLists, fromMakefiles, fromSamples, fromLibrary,
		} {
			programs, layoutErr := layout(root)
			err = errors.Join(err, layoutErr)
			found = append(found, programs...)
		}
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: no programs in a known layout", root)
	}
	return found, err
}

// fromLists reads compile_commands.json and programs.txt, if they are in the folder.
func fromLists(root string) (found []program, err error) {
	for _, name := range []string{"compile_commands.json", listName} {
		path := filepath.Join(root, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		programs, err := fromList(path)
		if err != nil {
			return nil, err
		}
		found = append(found, programs...)
	}
	return found, nil
}

func fromList(path string) ([]program, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(path) == ".json" {
		return fromCompileCommands(text)
	}
	return fromText(filepath.Dir(path), string(text))
}

// A programSet collects units by the names of programs, in the order of their first units.
type programSet struct {
	list  []program
	index map[string]int
}

func (s *programSet) add(name string, u unit) {
	if s.index == nil {
		s.index = map[string]int{}
	}
	at, known := s.index[name]
	if !known {
		at = len(s.list)
		s.index[name] = at
		s.list = append(s.list, program{Name: name})
	}
	s.list[at].Units = append(s.list[at].Units, u)
}

// fromText reads lines "program: file.cu flags". Lines of one program need not follow each
// other. Empty lines and those that begin with "#" don't count.
func fromText(dir, text string) ([]program, error) {
	var set programSet
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, ok := strings.Cut(line, ":")
		words := splitWords(rest)
		if !ok || len(words) != 1 {
			return nil, fmt.Errorf("%s:%d: want \"program: file.cu flags\"", listName, i+1)
		}
		call, _ := parseCommand(dir, append([]string{"nvcc", "-c"}, words[0]...))
		if len(call.units) != 1 {
			return nil, fmt.Errorf("%s:%d: want one source", listName, i+1)
		}
		set.add(strings.TrimSpace(name), call.units[0])
	}
	return set.list, nil
}

// targetFolder is the folder that CMake has the objects of a target in.
var targetFolder = regexp.MustCompile(`CMakeFiles/([^/]+)\.dir/`)

// fromCompileCommands reads a compilation database. Sources are of one program if CMake's
// folder of their objects is the same; other build systems have one program in each folder
// of sources.
func fromCompileCommands(text []byte) ([]program, error) {
	var entries []struct {
		Directory, File, Command, Output string
		Arguments                        []string
	}
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("compile_commands.json: %w", err)
	}
	var set programSet
	for _, e := range entries {
		words := e.Arguments
		if lines := splitWords(e.Command); len(words) == 0 && len(lines) > 0 {
			words = lines[0]
		}
		call, ok := parseCommand(e.Directory, words)
		if !ok {
			continue
		}
		for _, u := range call.units {
			name := filepath.Base(filepath.Dir(u.path()))
			if m := targetFolder.FindStringSubmatch(call.output + " " + e.Output); m != nil {
				name = m[1]
			}
			set.add(name, u)
		}
	}
	return set.list, nil
}

// fromMakefiles finds NAME/Makefile and src/NAME/Makefile, as HeCBench has them, with
// sources for nvcc, and asks make what it would run.
func fromMakefiles(root string) (found []program, err error) {
	for _, pattern := range []string{"*", filepath.Join("src", "*")} {
		paths, err := filepath.Glob(filepath.Join(root, pattern, "Makefile"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			dir := filepath.Dir(path)
			if sources, err := filepath.Glob(filepath.Join(dir, "*.cu")); err != nil || len(sources) == 0 {
				continue
			}
			units, err := makeUnits(dir)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
				continue
			}
			found = append(found, program{filepath.Base(dir), units})
		}
	}
	return found, nil
}

// makeUnits returns what a Makefile compiles for its last program.
func makeUnits(dir string) ([]unit, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "make", "-n", "-B", "-w")
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	units := unitsOfMake(dir, string(out))
	if err == nil && len(units) == 0 {
		err = errors.New("nothing is compiled by nvcc")
	}
	if len(units) > 0 {
		err = nil // what make cannot build may be data
	}
	return units, err
}

var entering = regexp.MustCompile(`^make(?:\[\d+\])?: (Entering|Leaving) directory '(.*)'$`)

// unitsOfMake reads the lines that "make -n -w" printed. If several programs are linked, the
// sources of the last one are returned.
func unitsOfMake(dir, text string) []unit {
	dirs := []string{dir}
	var all []unit
	byOutput := map[string]unit{}
	var last []unit
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if m := entering.FindStringSubmatch(line); m != nil {
			if m[1] == "Entering" {
				dirs = append(dirs, m[2])
			} else if len(dirs) > 1 {
				dirs = dirs[:len(dirs)-1]
			}
			continue
		}
		here := dirs[len(dirs)-1]
		for _, words := range splitWords(line) {
			call, ok := parseCommand(here, words)
			if !ok { // the host's compiler may link what nvcc compiled
				call = hostLink(words)
			}
			all = append(all, call.units...)
			if !call.links && len(call.units) == 1 {
				byOutput[filepath.Join(here, call.output)] = call.units[0]
			}
			if linked := linkedUnits(here, call, byOutput); call.links && len(linked) > 0 {
				last = linked
			}
		}
	}
	if last != nil {
		return last
	}
	return all
}

// hostLink reads a link by another program than nvcc.
func hostLink(words []string) command {
	if slices.Contains(words, "-c") {
		return command{}
	}
	c := command{links: true}
	for _, word := range words {
		if filepath.Ext(word) == ".o" {
			c.objects = append(c.objects, word)
		}
	}
	return c
}

// linkedUnits returns the sources that a call links, compiled by it or before.
func linkedUnits(dir string, call command, byOutput map[string]unit) []unit {
	linked := slices.Clone(call.units)
	for _, object := range call.objects {
		if u, ok := byOutput[filepath.Join(dir, object)]; ok {
			linked = append(linked, u)
		}
	}
	return linked
}

// fromSamples finds Samples/CHAPTER/NAME with the folder Common beside Samples, as
// cuda-samples has them. All sources of a folder are of one program.
func fromSamples(root string) (found []program, err error) {
	dirs, err := filepath.Glob(filepath.Join(root, "Samples", "*", "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		sources, err := filepath.Glob(filepath.Join(dir, "*.cu"))
		if err != nil || len(sources) == 0 {
			continue
		}
		p := program{Name: filepath.Base(dir)}
		for _, source := range sources {
			flags := []string{"-O3", "-I" + filepath.Join(root, "Common")}
			p.Units = append(p.Units, unit{dir, filepath.Base(source), flags})
		}
		found = append(found, p)
	}
	return found, nil
}

// fromLibrary finds LIBRARY/src/NAME-cuda, whose sources in all folders below are one
// program, as ggml has them. The folders LIBRARY/include and LIBRARY/src have headers.
func fromLibrary(root string) (found []program, err error) {
	dirs, err := filepath.Glob(filepath.Join(root, "*", "src", "*-cuda"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		src := filepath.Dir(dir)
		flags := []string{"-O3", "-I" + filepath.Join(filepath.Dir(src), "include"), "-I" + src}
		p := program{Name: filepath.Base(dir)}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".cu" {
				return err
			}
			name, err := filepath.Rel(dir, path)
			p.Units = append(p.Units, unit{dir, name, flags})
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(p.Units) > 0 {
			found = append(found, p)
		}
	}
	return found, nil
}
