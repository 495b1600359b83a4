package link

import (
	"fmt"
	"path/filepath"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
)

// keepThin keeps the steps of ThinLTO, and the commands that do them again: in one folder, but
// for those steps that name their files alike.
func (t *thinLink) keepThin(k *keeper) {
	for i := range t.modules {
		name := filepath.Join(llvmFolder, engine.ModuleName(i))
		if t.cameTo(t.edits[i]) {
			t.keepPrepared(k, i, name)
		}
		k.save(name, t.modules[i].Content)
	}
	if !t.cameTo(t.linking) {
		return
	}
	linking := t.linking.Action()
	for _, f := range linking.Inputs {
		if f.Name == engine.ResolutionsFile {
			k.save(filepath.Join(llvmFolder, f.Name), f.Content)
		}
	}
	k.action(llvmFolder, linking)
	if t.linked == nil {
		return
	}
	for _, name := range linking.Outputs {
		k.save(filepath.Join(llvmFolder, name), t.linked.Outputs[name])
	}
	for i, s := range t.backends {
		if !t.cameTo(s) {
			continue
		}
		folder := filepath.Join(llvmFolder, fmt.Sprintf("thin-%05d", i))
		text := filepath.Join(folder, engine.PTXFile)
		k.action(llvmFolder, s.Action())
		k.save(text, action.Bytes(t.compiled[i].text))
		k.stage(engine.Rename, "-o", text, filepath.Join(llvmFolder, engine.PTXFile))
		if t.assemblies[i] != nil {
			k.assembly(folder, t.assemblies[i])
		}
	}
	if t.trap != nil {
		folder := filepath.Join(llvmFolder, "pure-virtual")
		k.save(filepath.Join(folder, engine.PTXFile), t.trap.ptx)
		k.assembly(folder, t.trap)
	}
}

// keepPrepared keeps the steps that change a module and give it a summary.
func (t *thinLink) keepPrepared(k *keeper, place int, module string) {
	edit := filepath.Join(llvmFolder, fmt.Sprintf("edit-%05d", place))
	k.inputs(edit, t.edits[place].Action())
	k.action(edit, t.edits[place].Action())
	if !t.cameTo(t.summaries[place]) {
		return
	}
	summary := t.summaries[place].Action()
	folder := filepath.Join(llvmFolder, fmt.Sprintf("summary-%05d", place))
	name := filepath.Join(folder, engine.ModuleName(0))
	k.save(name, t.edited[place])
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
