// Package jitlink is the worker's side of the engine on nvJitLink, the public
// library that reads all that nvcc makes, also LTO-IR in the obfuscated form.
package jitlink

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/engine/clib"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/pattern"
)

// inputFatbin and inputLTOIR are values of nvJitLinkInputType.
const (
	inputLTOIR  = 3
	inputFatbin = 4
)

// A library is nvJitLink's functions, as nvJitLink.h declares them.
type library struct {
	create       func(handle *uintptr, count uint32, options **byte) int32
	addData      func(handle uintptr, kind int32, data *byte, size uint64, name string) int32
	complete     func(handle uintptr) int32
	ptxSize      func(handle uintptr, size *uint64) int32
	ptx          func(handle uintptr, buffer *byte) int32
	errorLogSize func(handle uintptr, size *uint64) int32
	errorLog     func(handle uintptr, buffer *byte) int32
	infoLogSize  func(handle uintptr, size *uint64) int32
	infoLog      func(handle uintptr, buffer *byte) int32
	destroy      func(handle *uintptr) int32
	version      func(major, minor *uint32) int32
}

// Compile compiles the job's modules to PTX.
func Compile(job *engine.Job) (*engine.Answer, []byte, error) {
	answer := &engine.Answer{Module: -1}
	engine.Stage("load")
	lib, err := load(job.Library)
	if err != nil {
		answer.Call, answer.Error = "load", err.Error()
		return answer, nil, nil
	}
	var handle uintptr
	engine.Stage("nvJitLinkCreate")
	if code := lib.create(&handle, uint32(len(job.Options)), clib.Strings(job.Options)); code != 0 {
		answer.Call, answer.Code = "nvJitLinkCreate", int(code)
		if handle != 0 {
			answer.Log = lib.readLog(handle, lib.errorLogSize, lib.errorLog)
		}
		return answer, nil, nil
	}
	ptx, err := lib.compile(handle, job, answer)
	if err != nil {
		return nil, nil, err
	}
	// The error log holds libnvvm's messages, with remarks, also after a success.
	answer.Log = lib.readLog(handle, lib.errorLogSize, lib.errorLog)
	if answer.Call == "" {
		answer.Log = ownProgress().ReplaceAllString(lib.readLog(handle, lib.infoLogSize, lib.infoLog), "") + answer.Log
	}
	engine.Stage("nvJitLinkDestroy")
	lib.destroy(&handle)
	return answer, ptx, nil
}

// ownProgress matches a line that nvJitLink adds to every log since 13.4. Only libnvvm's
// messages are of interest.
var ownProgress = pattern.Lazy(`(?m)^SUCCESS: .* LTOIR Container created .*\n?`)

func load(path string) (*library, error) {
	l := &library{}
	err := clib.Load(path, map[string]any{
		"nvJitLinkCreate": &l.create, "nvJitLinkAddData": &l.addData, "nvJitLinkComplete": &l.complete,
		"nvJitLinkGetLinkedPtxSize": &l.ptxSize, "nvJitLinkGetLinkedPtx": &l.ptx,
		"nvJitLinkGetErrorLogSize": &l.errorLogSize, "nvJitLinkGetErrorLog": &l.errorLog,
		"nvJitLinkGetInfoLogSize": &l.infoLogSize, "nvJitLinkGetInfoLog": &l.infoLog,
		"nvJitLinkDestroy": &l.destroy, "nvJitLinkVersion": &l.version,
	})
	return l, err
}

// compile fills in answer.Call when a call fails.
func (l *library) compile(handle uintptr, job *engine.Job, answer *engine.Answer) ([]byte, error) {
	var modules [][]byte // the library may keep pointing into them
	defer func() { runtime.KeepAlive(modules) }()
	for i, file := range job.Modules {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		modules = append(modules, data)
		name := engine.ModuleName(i)
		engine.Stage("nvJitLinkAddData", name)
		if code := l.addData(handle, kindOf(data), unsafe.SliceData(data), uint64(len(data)), name); code != 0 {
			answer.Call, answer.Code, answer.Module = "nvJitLinkAddData", int(code), i
			return nil, nil
		}
	}
	engine.Stage("nvJitLinkComplete")
	if code := l.complete(handle); code != 0 {
		answer.Call, answer.Code = "nvJitLinkComplete", int(code)
		return nil, nil
	}
	engine.Stage("nvJitLinkGetLinkedPtx")
	var size uint64
	if code := l.ptxSize(handle, &size); code != 0 {
		answer.Call, answer.Code = "nvJitLinkGetLinkedPtxSize", int(code)
		return nil, nil
	}
	text := make([]byte, size+1) // one more, so that an empty result has an address
	if code := l.ptx(handle, &text[0]); code != 0 {
		answer.Call, answer.Code = "nvJitLinkGetLinkedPtx", int(code)
		return nil, nil
	}
	text = text[:max(size, 1)-1]
	if slices.ContainsFunc(job.Options, func(o string) bool {
		return strings.HasPrefix(o, "-Xnvvm=-split-compile-extended=")
	}) {
		answer.Shards = shards(text)
	}
	answer.Relocatable = slices.Contains(job.Options, "-Xnvvm=--device-c") && engine.IsOpen(text, l.release())
	return text, nil
}

// release returns the release of the library. It is unknown if the library does not return it.
func (l *library) release() gpu.Release {
	var major, minor uint32
	if code := l.version(&major, &minor); code != 0 {
		return gpu.Release{}
	}
	return gpu.Release{Major: int(major), Minor: int(minor)}
}

// shardStart matches the head of a PTX text: a comment, and the first directive.
var shardStart = pattern.Lazy(`(?m)^(?://.*\n)+\n*\.version `)

// shards returns the lengths of the texts of a split result, which are concatenated. libnvvm
// returns them, but nvJitLink does not pass them on.
func shards(text []byte) (sizes []int64) {
	end := len(text)
	for _, at := range slices.Backward(shardStart().FindAllIndex(text, -1)) {
		sizes = append(sizes, int64(end-at[0]))
		end = at[0]
	}
	if len(sizes) <= 1 {
		return nil
	}
	slices.Reverse(sizes)
	return sizes
}

// kindOf distinguishes a fat binary from a bare LTO-IR container by its magic number.
func kindOf(data []byte) int32 {
	if strings.HasPrefix(string(data[:min(4, len(data))]), "\x50\xed\x55\xba") {
		return inputFatbin
	}
	return inputLTOIR
}

func (l *library) readLog(handle uintptr, size func(uintptr, *uint64) int32, read func(uintptr, *byte) int32) string {
	var n uint64
	if code := size(handle, &n); code != 0 || n <= 1 {
		return ""
	}
	text := make([]byte, n)
	if code := read(handle, &text[0]); code != 0 {
		return fmt.Sprintf("(the log cannot be read: error %d)", code)
	}
	return strings.TrimRight(string(text), "\x00")
}
