package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/options"
)

// comparedOutput is the name of both results in the folders in which the links run.
const comparedOutput = "output"

// compareLinks runs a link with both linkers and compares the results, which are not kept.
func compareLinks(ctx context.Context, c link.Caller, args []string) error {
	var arguments []string
	var err error
	switch {
	case len(args) == 0:
		return usage("compare")
	case len(args) == 1 && strings.HasSuffix(args[0], ".tar.zst"):
		var p *packedLink
		if p, err = unpack(c, args[0], ""); err == nil {
			defer os.RemoveAll(p.dir)
			arguments = p.arguments
		}
	default:
		arguments, err = absoluteArguments(c, args)
	}
	if err != nil {
		return err
	}
	o, err := options.Parse(arguments, "", os.ReadFile, func(*message.Message) {})
	if err != nil {
		return err
	}
	runner, err := local.New("", false)
	if err != nil {
		return err
	}
	defer runner.Close()
	nvlink, err := runner.Run(ctx, linkAction(c, "nvlink", append(slices.Clone(o.Raw), "--warpld-engine=vendor")))
	if err != nil {
		return err
	}
	warpld, err := runner.Run(ctx, linkAction(c, "warpld", append(arguments, "--warpld-cache=off")))
	if err != nil {
		return err
	}
	return showComparison(c, nvlink, warpld)
}

// absoluteArguments returns a command line that can be run in any folder.
func absoluteArguments(c link.Caller, args []string) ([]string, error) {
	o, err := options.Parse(args, c.Env("WARPLD_FLAGS"), os.ReadFile, func(*message.Message) {})
	if err != nil {
		return nil, err
	}
	absolute := func(path string) string {
		if a, err := filepath.Abs(path); err == nil {
			return a
		}
		return path
	}
	arguments, err := o.Portable(options.Places{
		Input:  absolute,
		Folder: func(place int) string { return `"` + absolute(o.LibraryPaths[place]) + `"` },
		Output: func(option string) string { return option },
	})
	if o.Own.CUDA != "" {
		arguments = append(arguments, "--warpld-cuda="+absolute(o.Own.CUDA))
	}
	return arguments, err
}

// linkAction returns the action that runs this program as a linker.
func linkAction(c link.Caller, label string, arguments []string) *action.Action {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WARPLD_FLAGS=") })
	return &action.Action{
		Label:   label,
		Tool:    action.File{Name: c.Origin, Content: action.AtPath(c.Self)},
		Env:     env,
		Args:    append(arguments, "--output-file="+comparedOutput),
		Outputs: []string{comparedOutput},
	}
}

// showComparison prints how the two links went, and fails if their results differ. What
// the results record about the command lines is not compared.
func showComparison(c link.Caller, nvlink, warpld *action.Result) error {
	a, errA := linked(c, "nvlink", nvlink)
	b, errB := linked(c, "warpld", warpld)
	switch {
	case errA != nil || errB != nil:
		return fmt.Errorf("a result cannot be read: %v, %v", errA, errB)
	case nvlink.ExitCode != warpld.ExitCode:
		return different("the links did not end in the same way")
	case a == nil && b == nil:
		fmt.Fprintln(c.Stdout, "neither link has a result")
		return nil
	case bytes.Equal(a, b):
		fmt.Fprintln(c.Stdout, "the results are the same in every byte")
		return nil
	}
	fileA, errA := cubin.Parse(a)
	fileB, errB := cubin.Parse(b)
	if errA != nil || errB != nil {
		return different("the results differ, and are not both cubins")
	}
	differences := cubin.Compare(fileA, fileB, false)
	for _, d := range differences {
		fmt.Fprintf(c.Stdout, "%s: %s: nvlink has %s, warpld %s\n", d.Where, d.What, d.A, d.B)
	}
	if err := compareKernels(c, fileA, fileB); err != nil {
		return err
	}
	if len(differences) > 0 {
		return different(fmt.Sprintf("the results differ in %d places", len(differences)))
	}
	fmt.Fprintln(c.Stdout, "the results are the same but for the record of the command line")
	return nil
}

// different returns the error of a comparison that found a difference.
func different(text string) error {
	return &message.Message{Severity: message.Error, ID: "different", Text: text}
}

// linked prints how a link went and returns its result, or nil if there is none.
func linked(c link.Caller, who string, r *action.Result) ([]byte, error) {
	output, ok := r.Outputs[comparedOutput]
	if !ok {
		fmt.Fprintf(c.Stdout, "%s: exit code %d, no result\n%s%s", who, r.ExitCode, r.Stdout, r.Stderr)
		return nil, nil
	}
	data, err := output.Read()
	wall, cpu := r.Usage.Wall.Round(time.Millisecond), r.Usage.CPU.Round(time.Millisecond)
	fmt.Fprintf(c.Stdout, "%s: exit code %d, %v, %v CPU, %d bytes\n%s%s",
		who, r.ExitCode, wall, cpu, len(data), r.Stdout, r.Stderr)
	return data, err
}

// compareKernels prints the kernels that are in one result only or use other resources.
func compareKernels(c link.Caller, a, b *cubin.File) error {
	kernels, err := a.Resources()
	if err != nil {
		return err
	}
	others, err := b.Resources()
	if err != nil {
		return err
	}
	byName := map[string]string{}
	for _, k := range others {
		byName[k.Kernel] = describe(&k)
	}
	for _, k := range kernels {
		other, both := byName[k.Kernel]
		delete(byName, k.Kernel)
		switch name := message.Demangle(k.Kernel); {
		case !both:
			fmt.Fprintf(c.Stdout, "kernel %s: only nvlink has it\n", name)
		case other != describe(&k):
			fmt.Fprintf(c.Stdout, "kernel %s: nvlink has %s; warpld %s\n", name, describe(&k), other)
		}
	}
	for _, k := range others {
		if _, only := byName[k.Kernel]; only {
			fmt.Fprintf(c.Stdout, "kernel %s: only warpld has it\n", message.Demangle(k.Kernel))
		}
	}
	return nil
}
