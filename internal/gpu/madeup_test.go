package gpu_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/objecttest"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/report"
)

var release = gpu.Release{Major: 13, Minor: 4}

// fatbin writes a fat binary with code for several architectures.
func fatbin(t *testing.T, name string, numbers ...int) string {
	t.Helper()
	var members []objecttest.Member
	for _, number := range numbers {
		code := objecttest.Cubin(objecttest.CubinFile{Arch: number, Kernels: []string{"k"}})
		members = append(members, objecttest.Member{Kind: 2, Arch: uint32(number), Payload: code})
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, objecttest.Fatbin(members...), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// makePlan reads the inputs and plans a link for the made-up architecture.
func makePlan(t *testing.T, suffix string, files ...string) (*plan.Plan, error) {
	t.Helper()
	ignore := func(*message.Message) {}
	args := append([]string{"-arch=" + gpu.MadeUp.String() + suffix, "-o", "out.cubin"}, files...)
	o, err := options.Parse(args, "", nil, ignore)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Check(ignore); err != nil {
		t.Fatal(err)
	}
	objects, err := object.ReadAll(object.Inputs{Files: o.Inputs, Release: release}, ignore)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Make(plan.Input{Options: o, Objects: objects, Release: release})
}

// TestMadeUpArchitecture links for an architecture that has a row in the table and
// nothing else: options take it, the member for it is chosen, the plan names it, the
// merger refuses it with a reason, and the report knows its occupancy.
func TestMadeUpArchitecture(t *testing.T) {
	p, err := makePlan(t, "", fatbin(t, "a.fatbin", 80, 121, gpu.MadeUp.Number))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Native) != 1 || p.Native[0].Module.Arch != gpu.MadeUp {
		t.Fatalf("the plan takes %v", p.Native)
	}
	if !slices.Contains(p.MergeArguments, "-arch=sm_199") || p.Assemble[1] != "sm_199" {
		t.Errorf("merged with %v, assembled with %v", p.MergeArguments, p.Assemble)
	}

	code, err := p.Native[0].Module.Data()
	if err != nil {
		t.Fatal(err)
	}
	_, err = device.Merge([]device.Input{{Name: "a", Cubin: code}}, device.Options{Arch: gpu.MadeUp, Release: release})
	var unsupported *device.Unsupported
	if !errors.As(err, &unsupported) || err.Error() != "the merger does not know the architecture sm_199" {
		t.Errorf("the merger: %v", err)
	}
	if gpu.MadeUp.MergerIsDefault() {
		t.Error("links use a merger that does not cover the architecture")
	}

	occupancy, known := report.OccupancyOf(gpu.MadeUp.String(), 64, 32, 0)
	if !known || occupancy.Most != 16 || occupancy.Warps != 16 {
		t.Errorf("occupancy %+v, %v", occupancy, known)
	}
}

// TestMadeUpSuffix: a suffix of the row is one of the target's, too.
func TestMadeUpSuffix(t *testing.T) {
	p, err := makePlan(t, "a", fatbin(t, "a.fatbin", gpu.MadeUp.Number))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(p.MergeArguments, "-arch=sm_199a") {
		t.Errorf("merged with %v", p.MergeArguments)
	}
	if _, err := options.Parse([]string{"-arch=sm_199f"}, "", nil, func(*message.Message) {}); err == nil {
		t.Error("a suffix is accepted that the row has not")
	}
}

// TestMadeUpGeneration: code without what its generation has is refused in nvlink's words.
func TestMadeUpGeneration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.cubin")
	code := objecttest.Cubin(objecttest.CubinFile{Arch: 80, Kernels: []string{"k"}})
	if err := os.WriteFile(path, code, 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := makePlan(t, "", path)
	if want := "Input file '" + path + "' arch does not match target 'sm_199'"; err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	if messages := plan.Messages(p.Events); len(messages) != 1 || messages[0].ID != "output-limited" {
		t.Errorf("messages %v", messages)
	}
}
