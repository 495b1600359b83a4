package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// A unit is one source of a program, with the options that it is compiled with.
type unit struct {
	Dir    string   // the working folder of the compiler
	Source string   // relative to that, or absolute
	Flags  []string // without those about targets, outputs and libraries
}

// path returns where the source is.
func (u unit) path() string {
	if filepath.IsAbs(u.Source) {
		return u.Source
	}
	return filepath.Join(u.Dir, u.Source)
}

// A command is what a call of nvcc compiles or links.
type command struct {
	units   []unit
	objects []string // that it reads
	output  string
	links   bool // neither -c nor -dc is given
}

// dropped are options that the trial chooses itself, and those of the host's link.
var dropped = []string{
	"-c", "-dc", "-dw", "-dlto", "-dlink", "-lto", "-shared", "-MD", "-MMD", "-M", "-MM", "-MP", "--compile",
	"--device-c", "--device-w", "--device-link", "--shared", "--dlink-time-opt", "-res-usage", "--resource-usage",
	"--verbose", "-v", "-keep", "--keep",
}

// compileOnly are those of the dropped options without which nvcc links.
var compileOnly = []string{"-c", "-dc", "-dw", "--compile", "--device-c", "--device-w"}

// droppedValues are such options that have a value, as the next word or behind "=".
var droppedValues = []string{
	"-o", "--output-file", "-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code", "-rdc",
	"--relocatable-device-code", "-MF", "-MT", "-MQ", "-L", "--library-path", "-l", "--library", "-Xlinker",
	"--linker-options", "-Xnvlink", "--nvlink-options", "-t", "--threads", "-split-compile", "--split-compile",
	"-split-compile-extended", "-cudart", "--cudart", "-keep-dir", "--keep-dir",
}

// keptValues are options whose value is the next word. It could look like a source.
var keptValues = []string{
	"-I", "-D", "-U", "-x", "-std", "-O", "-include", "-isystem", "-Xcompiler", "-Xptxas", "-Xcudafe", "-Xfatbin",
	"-ccbin", "-maxrregcount", "-Xcicc",
}

// droppedPrefixes begin options with a value in the same word.
var droppedPrefixes = []string{"-L", "-l", "-Wl,"}

// hostSources are the endings of files that have device code only if -x cu says so.
var hostSources = []string{".c", ".cc", ".cpp", ".cxx"}

// parseCommand reads the words of a call of nvcc, and reports false for another program's.
func parseCommand(dir string, words []string) (command, bool) {
	if len(words) == 0 || !strings.HasPrefix(filepath.Base(words[0]), "nvcc") {
		return command{}, false
	}
	c := command{links: true}
	var flags, files []string
	for i := 1; i < len(words); i++ {
		word := words[i]
		name, value, joined := strings.Cut(word, "=")
		hasNext := !joined && i+1 < len(words)
		switch {
		case slices.Contains(dropped, word):
			c.links = c.links && !slices.Contains(compileOnly, word)
		case slices.Contains(droppedValues, name):
			if hasNext {
				i++
				value = words[i]
			}
			if name == "-o" || name == "--output-file" {
				c.output = value
			}
		case slices.Contains(keptValues, word) && hasNext:
			i++
			flags = append(flags, word, words[i])
		case hasPrefixOf(word, droppedPrefixes) && word != "-lineinfo":
		case strings.HasPrefix(word, "-"):
			flags = append(flags, word)
		default:
			files = append(files, word)
		}
	}
	c.sort(dir, files, flags)
	return c, true
}

// sort divides the files of a call into sources and objects.
func (c *command) sort(dir string, files, flags []string) {
	language := slices.Index(flags, "-x")
	isCUDA := slices.Contains(flags, "-x=cu") || (language >= 0 && flags[language+1] == "cu")
	for _, file := range files {
		switch ext := filepath.Ext(file); {
		case ext == ".cu" || (isCUDA && slices.Contains(hostSources, ext)):
			c.units = append(c.units, unit{dir, file, flags})
		case ext == ".o":
			c.objects = append(c.objects, file)
		}
	}
	if c.output == "" && len(c.units) == 1 && !c.links {
		base := filepath.Base(c.units[0].Source)
		c.output = strings.TrimSuffix(base, filepath.Ext(base)) + ".o"
	}
}

func hasPrefixOf(word string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(word, p) })
}

// splitWords cuts a command line as a shell does: at blanks, with quotes and backslashes.
// Commands that are joined with "&&", ";" or "|" are returned apart.
func splitWords(line string) (commands [][]string) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		inWord = false
		word.Reset()
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			inWord = true
		case quote != 0:
			word.WriteByte(c)
		case c == '"' || c == '\'':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			end()
		case c == ';' || c == '&' || c == '|':
			end()
			commands, words = append(commands, words), nil
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	end()
	return slices.DeleteFunc(append(commands, words), func(words []string) bool { return len(words) == 0 })
}
