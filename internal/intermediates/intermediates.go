// Package intermediates writes what --verbose-keep asks for: the files that the stages of
// a build made, and the commands that make them anew.
package intermediates

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/build"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/output"
	"github.com/warpld/warpld/internal/plan"
)

// A Request names a build and where its files go.
type Request struct {
	Result  *build.Result
	Plan    *plan.Plan
	Objects []*object.Object
	// Target is the architecture of the link.
	Target gpu.Arch
	// Output is the path of the link's output; the folder lies beside it.
	Output string
	Self   string // warpld's executable
	// Commands gets the commands.
	Commands io.Writer
}

// Write writes the files and the commands. The commands are the actions that were run,
// with their own names for files, because some tools record those. If the link failed,
// everything up to the failing command is kept.
func Write(r Request) error {
	k := &keeper{folder: r.Output + ".keep", worker: []string{absolute(r.Self), engine.WorkerArgument},
		cubins: map[*build.Assembly]string{}}
	if err := k.clear(); err != nil {
		return output.FolderError(k.folder, err)
	}
	steps := &r.Result.Steps
	if len(r.Plan.IR) > 0 {
		r.keepPTX(k, r.keepModules(k))
	}
	for i, a := range steps.Native {
		folder := fmt.Sprintf("native-%05d-%s", i, readable(a.Piece.Object.Origin))
		text := filepath.Join(folder, engine.PTXFile)
		k.stage(engine.AddModule, r.moduleArguments(*a.Piece, false, text)...)
		k.save(text, a.PTX)
		k.assembly(folder, a)
	}
	for i, a := range steps.Shards {
		text := engine.ShardFile(engine.PTXFile, i, len(steps.Shards))
		k.save(text, a.PTX)
		k.assembly(filepath.Dir(text), a)
	}
	r.keepBitcode(k)
	r.keepMerge(k)
	if result, name := r.resultFile(), filepath.Base(r.Output); made(r.Result.Output) && result != name {
		k.command("cp", result, name)
	}
	if _, err := io.WriteString(r.Commands, k.commands.String()); k.err == nil {
		k.err = err
	}
	return output.FolderError(k.folder, k.err)
}

// resultFile returns the one among the kept files that is the link's output.
func (r *Request) resultFile() string {
	steps := &r.Result.Steps
	switch {
	case cameTo(steps.Merging):
		return steps.Merging.Action().Outputs[0]
	case cameTo(steps.Optimizing) && r.Plan.EmitPTX:
		return filepath.Join(llvmFolder, engine.PTXFile)
	case cameTo(steps.Optimizing):
		return filepath.Join(llvmFolder, engine.CubinFile)
	case r.Plan.EmitPTX:
		return engine.PTXFile
	}
	return engine.CubinFile
}

// keepModules keeps the modules and returns their names.
func (r *Request) keepModules(k *keeper) (names []string) {
	for i, m := range build.Modules(r.Plan) {
		piece := r.Plan.IR[i]
		container, extension := r.Plan.Engine == plan.JITLink, ".nvvm"
		if container && piece.Object.Kind != object.LTOIR {
			extension = ".fatbin"
		}
		name := fmt.Sprintf("module-%05d-%s%s", i, readable(piece.Object.Origin), extension)
		k.stage(engine.AddModule, r.moduleArguments(piece, container, name)...)
		k.save(name, m.Content)
		names = append(names, name)
	}
	return names
}

// moduleArguments returns the arguments for the module of a piece, by itself or in a fat
// binary.
func (r *Request) moduleArguments(piece plan.Piece, container bool, output string) []string {
	origin := piece.Object.Origin
	args := []string{"-arch=" + piece.Module.CodeName()}
	if origin.Member != "" {
		args = append(args, "-member="+origin.Member)
	}
	if place := object.IndexOf(object.Namesakes(r.Objects, origin), piece.Object); place > 0 {
		args = append(args, "-place="+strconv.Itoa(place))
	}
	if container {
		args = append(args, "-fatbin")
	}
	return append(args, "-o", output, absolute(origin.File))
}

// keepPTX keeps what libnvvm had and made.
func (r *Request) keepPTX(k *keeper, modules []string) {
	steps := &r.Result.Steps
	library := "-library=" + absolute(steps.Tools.Library)
	rest := func(output string) []string {
		args := append([]string{"-m64"}, r.Plan.EngineOptions(steps.Vector)...)
		return append(append(args, "-o", output), modules...)
	}
	if r.Plan.Engine == plan.NVVM {
		k.stage(engine.PostLink, append([]string{library}, rest(engine.LinkedFile)...)...)
		k.save(engine.LinkedFile, steps.Linked)
	}
	compile := []string{"-engine=" + string(r.Plan.Engine), library}
	k.stage(engine.NVVMCompile, append(compile, rest(engine.PTXFile)...)...)
	if r.Plan.EmitPTX {
		k.save(engine.PTXFile, r.Result.Output)
	}
}

// llvmFolder is for what LLVM had and made.
const llvmFolder = "llvm"

// keepBitcode keeps LLVM's action: its files, and the command that does it again.
func (r *Request) keepBitcode(k *keeper) {
	steps := &r.Result.Steps
	if steps.Thin != nil {
		keepThin(k, steps.Thin)
	}
	if !cameTo(steps.Optimizing) {
		return
	}
	k.inputs(llvmFolder, steps.Optimizing.Action())
	k.action(llvmFolder, steps.Optimizing.Action())
	text := filepath.Join(llvmFolder, engine.PTXFile)
	if r.Plan.EmitPTX {
		k.save(text, r.Result.Output)
	}
	for _, a := range steps.Optimized {
		k.save(text, a.PTX)
		k.assembly(llvmFolder, a)
	}
}

// keepMerge keeps the last step.
func (r *Request) keepMerge(k *keeper) {
	steps := &r.Result.Steps
	if !cameTo(steps.Merging) {
		return
	}
	merging := steps.Merging.Action()
	for i, p := range steps.Parts {
		r.keepPart(k, p, merging.Inputs[i])
	}
	if len(steps.Parts) == 0 {
		k.command("cp", os.DevNull, merging.Inputs[0].Name)
	}
	k.action(".", merging)
	k.save(r.resultFile(), r.Result.Output)
}

// keepPart keeps a part of the merge, and its code if that is not kept yet.
func (r *Request) keepPart(k *keeper, p build.Part, file action.File) {
	code := k.cubins[p.Assembly]
	if p.Assembly == nil {
		code = file.Name
		if p.Merge.Form == merge.Carried {
			stem := strings.TrimSuffix(file.Name, filepath.Ext(file.Name))
			code = fmt.Sprintf("%s-%s.fatbin", stem, readable(p.Piece.Object.Origin))
		}
		k.stage(engine.AddModule, r.moduleArguments(*p.Piece, true, code)...)
		k.save(code, action.Content{Load: p.Merge.Code})
	}
	switch {
	case code == file.Name:
		return
	case p.Merge.Form == merge.Cubin:
		k.command("cp", code, file.Name)
		k.save(file.Name, file.Content)
		return
	}
	args := []string{"-arch=" + r.Target.String()}
	if p.Merge.Form == merge.Carried {
		args = append(args, "-id="+p.Merge.ID)
	}
	if p.Merge.Refs != nil {
		args = append(args, "-host-refs")
		for _, l := range p.Merge.Refs.ListsByOption() {
			for _, pattern := range *l.Patterns {
				args = append(args, l.Flag()+"="+pattern)
			}
		}
	}
	k.stage(engine.Carry, append(args, "-o", file.Name, code)...)
	k.save(file.Name, file.Content)
}
