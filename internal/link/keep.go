package link

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/plan"
)

// keep writes what every stage of a link made into a folder beside the output and
// prints the commands that make it anew. They are the actions that were run, with
// their own names for files, because some tools record those. Of a link that
// failed it is all up to the command that did.
func (b *build) keep() error {
	k := &keeper{folder: b.options.Output + ".keep", worker: []string{absolute(b.Self), engine.WorkerArgument}, cubins: map[*assembly]string{}}
	if err := k.clear(); err != nil {
		return cannotWrite("Could not open output file", k.folder, err)
	}
	if len(b.plan.IR) > 0 {
		b.keepPTX(k, b.keepModules(k))
	}
	for i, a := range b.native {
		folder := fmt.Sprintf("native-%05d-%s", i, readable(a.piece.Object.Origin))
		text := filepath.Join(folder, engine.PTXFile)
		k.stage(engine.AddModule, b.moduleArguments(*a.piece, false, text)...)
		k.save(text, a.ptx)
		k.assembly(folder, a)
	}
	for i, a := range b.shards {
		text := engine.ShardFile(engine.PTXFile, i, len(b.shards))
		k.save(text, a.ptx)
		k.assembly(filepath.Dir(text), a)
	}
	b.keepBitcode(k)
	b.keepMerge(k)
	if result, name := b.resultFile(), filepath.Base(b.options.Output); made(b.output) && result != name {
		k.command("cp", result, name)
	}
	if _, err := io.WriteString(b.Stdout, k.commands.String()); k.err == nil {
		k.err = err
	}
	return cannotWrite("Could not open output file", k.folder, k.err)
}

// resultFile is the one among the kept files that is the link's output.
func (b *build) resultFile() string {
	switch {
	case b.cameTo(b.merging):
		return b.merging.Action().Outputs[0]
	case b.cameTo(b.optimizing) && b.emitsPTX():
		return filepath.Join(llvmFolder, engine.PTXFile)
	case b.cameTo(b.optimizing):
		return filepath.Join(llvmFolder, engine.CubinFile)
	case b.emitsPTX():
		return engine.PTXFile
	}
	return engine.CubinFile
}

// cameTo reports whether the link came to a step.
func (b *build) cameTo(s *action.Step) bool { return s != nil && s.Action() != nil }

// keepModules gives the names of the modules.
func (b *build) keepModules(k *keeper) (names []string) {
	for i, m := range b.modules() {
		piece := b.plan.IR[i]
		container, extension := b.plan.Engine == plan.JITLink, ".nvvm"
		if container && piece.Object.Kind != object.LTOIR {
			extension = ".fatbin"
		}
		name := fmt.Sprintf("module-%05d-%s%s", i, readable(piece.Object.Origin), extension)
		k.stage(engine.AddModule, b.moduleArguments(piece, container, name)...)
		k.save(name, m.Content)
		names = append(names, name)
	}
	return names
}

// moduleArguments are for the module of a piece, by itself or in a fat binary.
func (b *build) moduleArguments(piece plan.Piece, container bool, output string) []string {
	origin := piece.Object.Origin
	args := []string{"-arch=" + piece.Module.CodeName()}
	if origin.Member != "" {
		args = append(args, "-member="+origin.Member)
	}
	if place := object.IndexOf(object.Namesakes(b.objects, origin), piece.Object); place > 0 {
		args = append(args, "-place="+strconv.Itoa(place))
	}
	if container {
		args = append(args, "-fatbin")
	}
	return append(args, "-o", output, absolute(origin.File))
}

func (b *build) keepPTX(k *keeper, modules []string) {
	library := "-library=" + absolute(b.tools.Library)
	used := *b.plan
	used.Compile = b.vector
	rest := func(output string) []string {
		args := append([]string{"-m64"}, used.EngineOptions()...)
		return append(append(args, "-o", output), modules...)
	}
	if b.plan.Engine == plan.NVVM {
		k.stage(engine.PostLink, append([]string{library}, rest(engine.LinkedFile)...)...)
		k.save(engine.LinkedFile, b.linked)
	}
	k.stage(engine.NVVMCompile, append([]string{"-engine=" + string(b.plan.Engine), library}, rest(engine.PTXFile)...)...)
	if b.emitsPTX() {
		k.save(engine.PTXFile, b.output)
	}
}

func (b *build) keepMerge(k *keeper) {
	if !b.cameTo(b.merging) {
		return
	}
	merging := b.merging.Action()
	for i, p := range b.parts {
		b.keepPart(k, p, merging.Inputs[i])
	}
	if len(b.parts) == 0 {
		k.command("cp", os.DevNull, merging.Inputs[0].Name)
	}
	k.action(".", merging)
	k.save(b.resultFile(), b.output)
}

// keepPart keeps a part of the merge, and its code if that is not kept yet.
func (b *build) keepPart(k *keeper, p part, file action.File) {
	code := k.cubins[p.assembled]
	if p.assembled == nil {
		code = file.Name
		if p.Form == merge.Carried {
			stem := strings.TrimSuffix(file.Name, filepath.Ext(file.Name))
			code = fmt.Sprintf("%s-%s.fatbin", stem, readable(p.piece.Object.Origin))
		}
		k.stage(engine.AddModule, b.moduleArguments(*p.piece, true, code)...)
		k.save(code, action.Content{Load: p.Code})
	}
	switch {
	case code == file.Name:
		return
	case p.Form == merge.Cubin:
		k.command("cp", code, file.Name)
		k.save(file.Name, file.Content)
		return
	}
	args := []string{"-arch=" + b.target().String()}
	if p.Form == merge.Carried {
		args = append(args, "-id="+p.ID)
	}
	if p.Refs != nil {
		args = append(args, "-host-refs")
		for _, l := range engine.HostRefLists(p.Refs) {
			for _, pattern := range *l.Patterns {
				args = append(args, "-"+l.Option+"="+pattern)
			}
		}
	}
	k.stage(engine.Carry, append(args, "-o", file.Name, code)...)
	k.save(file.Name, file.Content)
}
