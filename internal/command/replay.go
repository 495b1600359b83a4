package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/reproduce"
	"github.com/warpld/warpld/internal/toolkit"
)

// replay runs a packed link. Its result must not depend on this machine's settings, so
// WARPLD_FLAGS is ignored and the cache is not used.
func replay(ctx context.Context, c link.Caller, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return usage("replay")
	}
	more, err := parseMore(args[1:])
	if err != nil {
		return err
	}
	p, err := unpack(c, args[0], more.Own.CUDA)
	if err != nil {
		return err
	}
	defer os.RemoveAll(p.dir)
	if !more.Given("output-file") && p.contents.Output != "" {
		p.arguments = append(p.arguments, "--output-file="+p.contents.Output)
	}
	env := c.Env
	c.Env = func(name string) string {
		if name == "WARPLD_FLAGS" {
			return "--warpld-cache=off" + p.llvm(env)
		}
		return env(name)
	}
	c.Recorded = p.contents.Record
	return exitCode(link.Run(ctx, c, slices.Concat(p.arguments, args[1:])))
}

// parseMore parses the options that are added to those of the packed link.
func parseMore(args []string) (*options.Options, error) {
	o, err := options.Parse(args, "", os.ReadFile, func(*message.Message) {})
	if err == nil && len(o.Inputs) > 0 {
		err = usage("replay")
	}
	return o, err
}

// A packedLink is a packed link that was unpacked.
type packedLink struct {
	contents  *reproduce.Package
	dir       string
	arguments []string // with the paths of the unpacked files
}

// unpack unpacks a link into a temporary folder. Files of the toolkit are not packed;
// they are taken from the toolkit of this machine.
func unpack(c link.Caller, path, cuda string) (*packedLink, error) {
	dir, err := os.MkdirTemp("", "warpld-replay-")
	if err != nil {
		return nil, err
	}
	p := &packedLink{dir: dir}
	if err = p.read(path); err == nil {
		err = p.useToolkit(c, cuda)
	}
	if err == nil {
		return p, nil
	}
	os.RemoveAll(dir)
	var known *message.Message
	if errors.As(err, &known) {
		return nil, err
	}
	return nil, &message.Message{Severity: message.Fatal, ID: "replay", Origin: message.Origin{File: path},
		Text: fmt.Sprintf("%s: %v", path, err), Cause: err,
		Hint: "give a file that a link with --warpld-reproduce=FILE wrote"}
}

// read unpacks the file at path.
func (p *packedLink) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if p.contents, err = reproduce.Unpack(f, info.Size(), p.dir); err != nil {
		return err
	}
	p.arguments, err = placed(p.contents.Arguments, p.dir)
	return err
}

// placed returns the arguments of a packed link with the paths of its files in dir. The
// arguments are not trusted: they must be exactly what --warpld-reproduce writes, so that
// no option among them starts, loads, reads or writes any other file.
func placed(arguments []string, dir string) ([]string, error) {
	noFiles := func(string) ([]byte, error) { return nil, os.ErrPermission }
	o, err := options.Parse(arguments, "", noFiles, func(*message.Message) {})
	if err != nil {
		return nil, fmt.Errorf("%w: %v", reproduce.ErrFormat, err)
	}
	same, err := o.Portable(options.Places{
		Input:  func(name string) string { return name },
		Folder: func(place int) string { return o.LibraryPaths[place] },
		Output: func(option string) string { return option },
	})
	isOutside := func(name string) bool { return !reproduce.Inside(name) }
	outside := slices.ContainsFunc(o.Inputs, isOutside) || slices.ContainsFunc(o.LibraryPaths, isOutside)
	if err != nil || outside || !slices.Equal(same, arguments) {
		return nil, fmt.Errorf("%w: its arguments are not produced by --warpld-reproduce", reproduce.ErrFormat)
	}
	return o.Portable(options.Places{
		Input:  func(name string) string { return filepath.Join(dir, name) },
		Folder: func(place int) string { return filepath.Join(dir, o.LibraryPaths[place]) },
		Output: func(option string) string { return filepath.Join(dir, option) },
	})
}

// useToolkit links the toolkit's files into the folder, and reports a toolkit of another
// version.
func (p *packedLink) useToolkit(c link.Caller, cuda string) error {
	tk, err := toolkit.Find(toolkit.Query{CUDA: cuda, Origin: c.Origin, Env: c.Env, ForLink: true})
	if err != nil {
		return err
	}
	if here := tk.Version.String(); here != p.contents.CUDA {
		fmt.Fprintf(c.Stderr, "warpld: the link was packed with CUDA %s and runs with %s, so its result may be another\n",
			p.contents.CUDA, here)
	}
	return p.contents.LinkToolkit(p.dir, tk.Library)
}

// llvm returns the option for the LLVM that the link was packed with, or nothing if that
// is not installed.
func (p *packedLink) llvm(env func(string) string) string {
	version := strconv.Itoa(p.contents.LLVM)
	if _, err := toolkit.FindLLVM(version, env); p.contents.LLVM == 0 || err != nil {
		return ""
	}
	return " --warpld-llvm=" + version
}
