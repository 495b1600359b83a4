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
	engine.Stage("load")
	lib, err := load(job.Library)
	if err != nil {
		return &engine.Answer{Module: -1, Call: "load", Error: err.Error()}, nil, nil
	}
	answer, text, err := lib.link(job)
	if err == nil && answer.Call == "" && slices.Contains(job.Options, deviceC) {
		answer.Relocatable, err = lib.isOpen(job, text)
	}
	return answer, text, err
}

// deviceC asks libnvvm whether the program is closed. nvJitLink does not pass the answer on.
const deviceC = option + "--device-c"

// option begins options that nvJitLink passes to libnvvm.
const option = "-Xnvvm="

// isOpen reports whether the program that became the text still needs linking. libnvvm
// decides that before it removes code, and takes a program without kernels for open. So if
// nothing is left in the text, the program is compiled once more with all code that it has.
func (l *library) isOpen(job *engine.Job, text []byte) (bool, error) {
	release := l.release()
	if engine.IsOpen(text, release) || engine.Has(text, ".entry", ".func") {
		return engine.IsOpen(text, release), nil
	}
	all := *job
	all.Options = slices.DeleteFunc(slices.Clone(job.Options), func(o string) bool {
		return o == option+"-has-global-host-info" || strings.HasPrefix(o, option+"-host-ref-")
	})
	answer, text, err := l.link(&all)
	if err != nil || answer.Call != "" {
		return false, err
	}
	return engine.IsOpen(text, release) || !engine.Has(text, ".entry"), nil
}

// link compiles the job's modules with a handle of its own.
func (l *library) link(job *engine.Job) (*engine.Answer, []byte, error) {
	answer := &engine.Answer{Module: -1}
	var handle uintptr
	engine.Stage("nvJitLinkCreate")
	if code := l.create(&handle, uint32(len(job.Options)), clib.Strings(job.Options)); code != 0 {
		answer.Call, answer.Code = "nvJitLinkCreate", int(code)
		if handle != 0 {
			answer.Log = l.readLog(handle, l.errorLogSize, l.errorLog)
		}
		return answer, nil, nil
	}
	ptx, err := l.compile(handle, job, answer)
	if err != nil {
		return nil, nil, err
	}
	// The error log holds libnvvm's messages, with remarks, also after a success.
	answer.Log = l.readLog(handle, l.errorLogSize, l.errorLog)
	if answer.Call == "" {
		answer.Log = ownProgress().ReplaceAllString(l.readLog(handle, l.infoLogSize, l.infoLog), "") + answer.Log
	}
	engine.Stage("nvJitLinkDestroy")
	l.destroy(&handle)
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
		return strings.HasPrefix(o, option+"-split-compile-extended=")
	}) {
		answer.Shards = shards(text)
	}
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
