package intermediates

import (
	"fmt"
	"path/filepath"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/build"
	"github.com/warpld/warpld/internal/engine"
)

// keepThin keeps the steps of ThinLTO, and the commands that do them again: in one
// folder, except for those steps that name their files alike.
func keepThin(k *keeper, t *build.Thin) {
	for i := range t.Inputs {
		name := filepath.Join(llvmFolder, engine.ModuleName(i))
		if cameTo(t.Modules[i].Edit) {
			keepPrepared(k, &t.Modules[i], i, name)
		}
		k.save(name, t.Inputs[i].Content)
	}
	if !cameTo(t.Linking) {
		return
	}
	linking := t.Linking.Action()
	for _, f := range linking.Inputs {
		if f.Name == engine.ResolutionsFile {
			k.save(filepath.Join(llvmFolder, f.Name), f.Content)
		}
	}
	k.action(llvmFolder, linking)
	if t.Linked == nil {
		return
	}
	for _, name := range linking.Outputs {
		k.save(filepath.Join(llvmFolder, name), t.Linked.Outputs[name])
	}
	for i := range t.Modules {
		if m := &t.Modules[i]; cameTo(m.Backend) {
			keepBackend(k, m, i)
		}
	}
	if t.Trap != nil {
		folder := filepath.Join(llvmFolder, "pure-virtual")
		k.save(filepath.Join(folder, engine.PTXFile), t.Trap.PTX)
		k.assembly(folder, t.Trap)
	}
}

// keepBackend keeps the compilation of a module.
func keepBackend(k *keeper, m *build.ThinModule, place int) {
	folder := filepath.Join(llvmFolder, fmt.Sprintf("thin-%05d", place))
	text := filepath.Join(folder, engine.PTXFile)
	k.action(llvmFolder, m.Backend.Action())
	k.save(text, action.Bytes(m.PTX))
	k.stage(engine.Rename, "-o", text, filepath.Join(llvmFolder, engine.PTXFile))
	if m.Assembly != nil {
		k.assembly(folder, m.Assembly)
	}
}

// keepPrepared keeps the steps that change a module and give it a summary.
func keepPrepared(k *keeper, m *build.ThinModule, place int, module string) {
	edit := filepath.Join(llvmFolder, fmt.Sprintf("edit-%05d", place))
	k.inputs(edit, m.Edit.Action())
	k.action(edit, m.Edit.Action())
	if !cameTo(m.Summary) {
		return
	}
	summary := m.Summary.Action()
	folder := filepath.Join(llvmFolder, fmt.Sprintf("summary-%05d", place))
	name := filepath.Join(folder, engine.ModuleName(0))
	k.save(name, m.Edited)
	k.command("cp", filepath.Join(edit, engine.LinkedFile), name)
	k.action(folder, summary)
	k.command("cp", filepath.Join(folder, summary.Outputs[0]), module)
}

// inputs keeps the files that an action begins with; of those that lie somewhere, a link.
func (k *keeper) inputs(folder string, a *action.Action) {
	for _, f := range a.Inputs {
		name := filepath.Join(folder, f.Name)
		if f.Path != "" {
			k.command("ln", "-sf", absolute(f.Path), name)
		} else {
			k.save(name, f.Content)
		}
	}
}
