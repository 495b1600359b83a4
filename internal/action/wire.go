package action

import (
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
// (name = 1, digest = 2), both sorted by name.
func (d *directory) encode() []byte {
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
		node.message(2, d.children[name].digest().encode())
		w.message(2, node)
	}
	return w
}

// Command: arguments = 1, environment_variables = 2 (name = 1, value = 2),
// output_paths = 7, the latter two sorted.
func (a *Action) encodeCommand() []byte {
	var w wire
	for _, arg := range append([]string{a.Tool.Name}, a.Args...) {
		w.message(1, []byte(arg))
	}
	for _, variable := range slices.Sorted(slices.Values(a.Env)) {
		name, value, _ := strings.Cut(variable, "=")
		var v wire
		v.text(1, name)
		v.text(2, value)
		w.message(2, v)
	}
	for _, output := range slices.Sorted(slices.Values(a.Outputs)) {
		w.message(7, []byte(output))
	}
	return w
}

// Action: command_digest = 1, input_root_digest = 2, timeout = 6 (seconds = 1,
// nanos = 2).
func encodeAction(command, root Digest, limit time.Duration) []byte {
	var w wire
	w.message(1, command.encode())
	w.message(2, root.encode())
	if limit > 0 {
		var d wire
		d.number(1, int64(limit/time.Second))
		d.number(2, int64(limit%time.Second))
		w.message(6, d)
	}
	return w
}
