package object

import (
	"io"
	"strconv"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/pattern"
)

// ptxHead matches the start of PTX: the version, after blanks and comments.
// ptxTarget is what follows it.
var (
	ptxHead   = pattern.Lazy(`^(?:\s|//[^\n]*\n|/\*(?s:.*?)\*/)*\.version\s+(\d{1,4})\.(\d{1,4})`)
	ptxTarget = pattern.Lazy(`^(?:\s|//[^\n]*\n|/\*(?s:.*?)\*/)*\.target\s+(\w+)`)
)

// longestHead is how much of a PTX file is searched for its head: compilers put
// some lines of comments before it.
const longestHead = 64 << 10

// ptx reads an input that is PTX text. It need not be for the target: ptxas decides whether it
// can be assembled.
func (rd *reader) ptx(in *input) error {
	head := make([]byte, min(in.source.Size, longestHead))
	if _, err := io.ReadFull(io.NewSectionReader(in.r, 0, int64(len(head))), head); err != nil {
		return couldNotOpen(in.origin, err)
	}
	version := ptxHead().FindSubmatch(head)
	if version == nil {
		return notPTX(in.origin, rd.release)
	}
	m := Module{Kind: PTX, Size: in.source.Size, origin: in.origin, source: in.source}
	m.Major, _ = strconv.Atoi(string(version[1]))
	m.Minor, _ = strconv.Atoi(string(version[2]))
	if target := ptxTarget().FindSubmatch(head[len(version[0]):]); target != nil {
		m.Arch, _ = gpu.Parse(string(target[1]))
	}
	o := rd.add(in, PTXFile)
	o.RegisterID = rd.registerID(in.origin)
	o.Modules = []Module{m}
	return nil
}
