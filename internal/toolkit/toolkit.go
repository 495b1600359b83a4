// Package toolkit finds the user's CUDA: where its parts are, which version it
// is and what can be done with it. It reads files and starts no process.
//
// A toolkit is a root directory in one of the layouts that NVIDIA's installer,
// Debian, conda and pip make. The places where a root may be are looked at in
// a fixed order, see places; the first one that holds any part is the toolkit.
// Parts it lacks may come from a later place if that is the same release:
// PTX and LTO-IR do not mix across releases.
package toolkit

import (
	"fmt"
	"path/filepath"

	"github.com/warpld/warpld/internal/message"
)

// A File is one part of a toolkit. Without a Path it was not found.
type File struct {
	Path string
	From string // the place that had it: "-nvvmpath", "CUDA_HOME", ...
}

// Found reports whether the part was found.
func (f File) Found() bool { return f.Path != "" }

// A Toolkit is what Find found. The paths of libraries are those of the real
// files, since they are loaded and hashed; the paths of programs are as the
// layout has them, since nvcc looks for its profile beside the name it is
// started by.
type Toolkit struct {
	Root    string
	From    string
	Version Version

	NVVM      File // libnvvm.so
	JitLink   File // libnvJitLink.so
	PTXAS     File
	NVLink    File // NVIDIA's, never warpld itself
	NVCC      File // the program, not a script in front of it
	Fatbinary File
	Cuobjdump File
	DevRT     File // libcudadevrt.a

	trials []trial
	// passedOver is a libnvvm that exists but is not the one -nvvmpath names.
	passedOver     File
	passedOverRoot string
}

// A trial is one look at the file system.
type trial struct {
	place string
	part  string // empty: the place as a whole
	path  string // empty: the place does not exist, for example an unset variable
	why   string // why it was rejected, or empty if it was not
}

func (t trial) String() string {
	outcome := "found"
	if t.why != "" {
		outcome = t.why
	}
	return fmt.Sprintf("%s (%s): %s", t.path, t.place, outcome)
}

// DevRTDir is the directory of libcudadevrt.a for -L, or empty.
func (t *Toolkit) DevRTDir() string {
	if !t.DevRT.Found() {
		return ""
	}
	return filepath.Dir(t.DevRT.Path)
}

// NeedNVVM returns the libnvvm to load. Where nvlink would find none, its message is the
// error; so a wrong -nvvmpath fails even if another libnvvm exists, which only the hint then
// names.
func (t *Toolkit) NeedNVVM() (string, error) {
	if t.NVVM.Found() {
		return t.NVVM.Path, nil
	}
	m := t.missing(nvvmPart)
	m.ID = "nvvm-load"
	m.Text = "elfLink linker library load error"
	if t.passedOver.Found() {
		m.Hint = fmt.Sprintf("there is %s (%s): give --warpld-cuda=%s to use it",
			t.passedOver.Path, t.passedOver.From, t.passedOverRoot)
	}
	return "", m
}

// NeedJitLink returns the libnvJitLink to load.
func (t *Toolkit) NeedJitLink() (string, error) { return t.need(jitLinkPart, t.JitLink) }

// NeedPTXAS returns the assembler.
func (t *Toolkit) NeedPTXAS() (string, error) { return t.need(ptxasPart, t.PTXAS) }

// NeedNVLink returns NVIDIA's own linker.
func (t *Toolkit) NeedNVLink() (string, error) { return t.need(nvlinkPart, t.NVLink) }

// NeedNVCC returns the compiler driver.
func (t *Toolkit) NeedNVCC() (string, error) { return t.need(nvccPart, t.NVCC) }

func (t *Toolkit) need(p *part, f File) (string, error) {
	if f.Found() {
		return f.Path, nil
	}
	return "", t.missing(p)
}

// missing returns the message for a part that was not found, with every path that was tried.
func (t *Toolkit) missing(p *part) *message.Message {
	m := &message.Message{
		Severity: message.Fatal,
		ID:       "toolkit-part",
		Text:     fmt.Sprintf("cannot find %s of the CUDA toolkit", p.name),
		Hint: fmt.Sprintf("set CUDA_HOME, or give --warpld-cuda=DIR; %s comes with the package %s",
			p.name, p.packages),
	}
	for _, tr := range t.trials {
		if tr.path != "" && (tr.part == p.name || tr.part == "") {
			m.Notes = append(m.Notes, tr.String())
		}
	}
	return m
}
