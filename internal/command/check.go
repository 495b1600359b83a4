package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/doctor"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/inventory"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/container"
	"github.com/warpld/warpld/internal/size"
)

// checkProgram reports what is wrong with the device code of a program.
func checkProgram(_ context.Context, c link.Caller, args []string) error {
	var driver gpu.Release
	var paths []string
	for _, arg := range args {
		text, isDriver := cutFlag(arg, "driver")
		known := true
		if isDriver {
			driver, known = gpu.ParseRelease(text)
		}
		if !known || (!isDriver && strings.HasPrefix(arg, "-")) {
			return usage("check")
		}
		if !isDriver {
			paths = append(paths, arg)
		}
	}
	if len(paths) == 0 {
		return usage("check")
	}
	meter := size.NewMeter()
	inputs, warnings, err := inventory.Read(paths, func(f *container.File) (*doctor.Input, error) {
		return doctor.Examine(f, meter)
	})
	if err != nil {
		return err
	}
	log := message.NewLog(c.Stderr, message.Style{Terminal: c.Terminal})
	found := doctor.Check(inputs, driver)
	for _, m := range append(warnings, found...) {
		m.Tool = "warpld"
		log.Report(m)
	}
	if len(found) == 0 {
		fmt.Fprintf(c.Stdout, "%d files: nothing is wrong with the device links\n", len(inputs))
	}
	return exitCode(log.ExitCode())
}
