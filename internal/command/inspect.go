package command

import (
	"context"
	"fmt"

	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
)

// inspect shows what reading the inputs of a link finds.
func inspect(_ context.Context, c link.Caller, args []string) error {
	if len(args) == 0 {
		return usage("inspect")
	}
	report := func(m *message.Message) { fmt.Fprintf(c.Stdout, "%s: %s\n", m.Severity, m.Text) }
	objects, err := object.ReadAll(object.Inputs{Files: args, LTO: true}, report)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		fmt.Fprintf(c.Stdout, "%s: %s\n", obj.Origin, obj.Kind)
		if obj.Ignored != "" {
			fmt.Fprintf(c.Stdout, "  not linked: %s\n", obj.Ignored)
		}
		for i := range obj.Modules {
			m := &obj.Modules[i]
			form := ""
			if m.Obfuscated {
				form = ", readable by NVIDIA's tools only"
			}
			fmt.Fprintf(c.Stdout, "  %s, %d bytes%s\n", m, m.Size, form)
			if m.Options != "" && m.Kind != object.ELF {
				fmt.Fprintf(c.Stdout, "    compiled with %s\n", m.Options)
			}
		}
		if r := obj.HostRefs; r != nil {
			inspectReferences(c, r)
		}
		if obj.RegisterID != "" {
			fmt.Fprintf(c.Stdout, "  registered as %s\n", obj.RegisterID)
		}
	}
	return nil
}

func inspectReferences(c link.Caller, r *object.HostRefs) {
	for _, list := range []struct {
		what     string
		patterns []string
	}{
		{"kernels", r.Kernels.External}, {"static kernels", r.Kernels.Internal},
		{"variables", r.Devices.External}, {"static variables", r.Devices.Internal},
		{"constants", r.Constants.External}, {"static constants", r.Constants.Internal},
	} {
		for _, pattern := range list.patterns {
			fmt.Fprintf(c.Stdout, "  host code refers to %s %s\n", list.what, pattern)
		}
	}
}
