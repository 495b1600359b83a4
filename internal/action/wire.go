package action

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// The messages of the Remote Execution API (build.bazel.remote.execution.v2)
// that make up a key, in protobuf's wire format with fields in order of their
// numbers. They are written by hand because linking in the generated package
// costs every start of warpld 2.5 ms; a test holds them against it.

const (
	wireVarint = 0
	wireBytes  = 2
)

type wire []byte

func (w *wire) varint(v uint64) {
	for ; v >= 0x80; v >>= 7 {
		*w = append(*w, byte(v)|0x80)
	}
	*w = append(*w, byte(v))
}

// number and text leave out zero values, as proto3 does.
func (w *wire) number(field int, v int64) {
	if v != 0 {
		w.varint(uint64(field<<3 | wireVarint))
		w.varint(uint64(v))
	}
}

func (w *wire) text(field int, s string) {
	if s != "" {
		w.message(field, []byte(s))
	}
}

// message writes an embedded message or an element of a repeated field, which
// are there even when empty.
func (w *wire) message(field int, b []byte) {
	w.varint(uint64(field<<3 | wireBytes))
	w.varint(uint64(len(b)))
	*w = append(*w, b...)
}

// Digest: hash = 1, size_bytes = 2.
func (d Digest) encode() []byte {
	var w wire
	w.text(1, d.Hash)
	w.number(2, d.Size)
	return w
}

// Directory: files = 1 (name = 1, digest = 2, is_executable = 4), directories = 2
// (name = 1, digest = 2), both sorted by name. Those below d are written first.
func (d *directory) encode(e *Encoding) Digest {
	var w wire
	slices.SortFunc(d.files, func(a, b fileNode) int { return strings.Compare(a.name, b.name) })
	for _, f := range d.files {
		var node wire
		node.text(1, f.name)
		node.message(2, f.digest.encode())
		if f.executable {
			node.number(4, 1)
		}
		w.message(1, node)
	}
	for _, name := range slices.Sorted(maps.Keys(d.children)) {
		var node wire
		node.text(1, name)
		node.message(2, d.children[name].encode(e).encode())
		w.message(2, node)
	}
	return e.message(w)
}

// Command: arguments = 1, environment_variables = 2 (name = 1, value = 2),
// platform = 5, output_paths = 7, all but the first sorted.
func (a *Action) encodeCommand(at Place) []byte {
	var w wire
	tool := cmp.Or(at.Tool, a.Tool.Name)
	if !strings.Contains(tool, "/") {
		tool = "./" + tool // a bare name would be searched for in the machine's PATH
	}
	for _, arg := range append([]string{tool}, a.Args...) {
		w.message(1, []byte(arg))
	}
	w.pairs(2, a.Env)
	w.platform(5, at)
	for _, output := range slices.Sorted(slices.Values(a.Outputs)) {
		w.message(7, []byte(output))
	}
	return w
}

// pairs writes a list of NAME=value, sorted, as messages of two texts.
func (w *wire) pairs(field int, list []string) {
	for _, pair := range slices.Sorted(slices.Values(list)) {
		name, value, _ := strings.Cut(pair, "=")
		var v wire
		v.text(1, name)
		v.text(2, value)
		w.message(field, v)
	}
}

// Platform: properties = 1 (name = 1, value = 2).
func (w *wire) platform(field int, at Place) {
	if len(at.Platform) > 0 {
		var p wire
		p.pairs(1, at.Platform)
		w.message(field, p)
	}
}

// Action: command_digest = 1, input_root_digest = 2, timeout = 6 (seconds = 1,
// nanos = 2), platform = 10.
func encodeAction(command, root Digest, limit time.Duration, at Place) []byte {
	var w wire
	w.message(1, command.encode())
	w.message(2, root.encode())
	if limit > 0 {
		var d wire
		d.number(1, int64(limit/time.Second))
		d.number(2, int64(limit%time.Second))
		w.message(6, d)
	}
	w.platform(10, at)
	return w
}
