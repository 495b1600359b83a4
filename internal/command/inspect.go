package command

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/cubin"
)

// inspect prints what the linker sees in its inputs.
func inspect(_ context.Context, c link.Caller, args []string) error {
	if len(args) == 0 {
		return usage("inspect")
	}
	c.Stdout = printable{c.Stdout}
	report := func(m *message.Message) { fmt.Fprintf(c.Stdout, "%s: %s\n", m.Severity, m.Text) }
	objects, err := object.ReadAll(object.Inputs{Files: args, LTO: true}, report)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if err := inspectObject(c, obj); err != nil {
			return fmt.Errorf("%s: %w", obj.Origin, err)
		}
	}
	return nil
}

// inspectObject prints one input, or one member of an archive.
func inspectObject(c link.Caller, obj *object.Object) error {
	fmt.Fprintf(c.Stdout, "%s: %s\n", obj.Origin, obj.Kind)
	// The result of a link has no modules, but its kernels can be listed.
	isResult := obj.Kind == object.Cubin && len(obj.Modules) == 0 && obj.Origin.Member == ""
	switch {
	case isResult && !obj.Damaged:
		fmt.Fprintln(c.Stdout, "  the result of a link; it is not linked again")
	case obj.Ignored != "":
		fmt.Fprintf(c.Stdout, "  not linked: %s\n", obj.Ignored)
	}
	if isResult {
		result := func() ([]byte, error) { return os.ReadFile(obj.Origin.File) }
		if err := inspectKernels(c, result); err != nil {
			return err
		}
	}
	for i := range obj.Modules {
		if err := inspectModule(c, &obj.Modules[i]); err != nil {
			return err
		}
	}
	if r := obj.HostRefs; r != nil {
		inspectReferences(c, r)
	}
	if obj.RegisterID != "" {
		fmt.Fprintf(c.Stdout, "  registered as %s\n", obj.RegisterID)
	}
	return nil
}

// inspectModule prints one piece of device code.
func inspectModule(c link.Caller, m *object.Module) error {
	form := ""
	if m.Obfuscated {
		form = ", readable by NVIDIA's tools only"
	}
	fmt.Fprintf(c.Stdout, "  %s, %d bytes%s\n", m, m.Size, form)
	for _, b := range m.Bitcode {
		fmt.Fprintf(c.Stdout, "    of %s, made by %s\n", b.SourceFile, b.Producer)
	}
	if m.Kind == object.ELF {
		return inspectKernels(c, m.Data)
	}
	if m.Options != "" {
		fmt.Fprintf(c.Stdout, "    compiled with %s\n", m.Options)
	}
	return nil
}

// inspectReferences prints what host code refers to.
func inspectReferences(c link.Caller, r *object.HostRefs) {
	for _, list := range r.Lists() {
		for _, pattern := range *list.Patterns {
			fmt.Fprintf(c.Stdout, "  host code refers to %s %s\n", list.What, pattern)
		}
	}
}

// inspectKernels prints the kernels of native code and the resources of each.
func inspectKernels(c link.Caller, read func() ([]byte, error)) error {
	data, err := read()
	if err != nil {
		return err
	}
	f, err := cubin.Parse(data)
	if err != nil {
		return err
	}
	kernels, err := f.Resources()
	for _, k := range kernels {
		fmt.Fprintf(c.Stdout, "    kernel %s: %s\n", message.Demangle(k.Kernel), describe(&k))
	}
	return err
}

// describe returns the resources of a kernel. Those that it does not use are left out.
func describe(k *cubin.Resources) string {
	parts := []string{fmt.Sprintf("%d bytes of code", k.Code), fmt.Sprintf("%d registers", k.Registers)}
	add := func(n uint64, what string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, fmt.Sprintf(what, args...)))
		}
	}
	add(uint64(k.Stack), "bytes of stack")
	add(uint64(k.Spills), "instructions that spill registers")
	add(k.Shared, "bytes shared")
	add(uint64(k.Barriers), "barriers")
	add(uint64(k.Images.Textures), "textures")
	add(uint64(k.Images.Surfaces), "surfaces")
	add(uint64(k.Images.Samplers), "samplers")
	for _, b := range k.Constant {
		add(b.Bytes, "bytes in constant bank %d", b.Bank)
	}
	return strings.Join(parts, ", ")
}
