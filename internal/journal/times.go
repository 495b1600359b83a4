package journal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/build"
	"github.com/warpld/warpld/internal/output"
)

const timeHeader = "source file name , phase name , phase input files , phase output file , " +
	"arch , tool, metric , unit\n"

// WriteTimes appends to the table of -time, which begins with its header.
func (j *Journal) WriteTimes(times []build.Time) error {
	path := j.options.TimeFile
	if path == "" {
		return nil
	}
	times = slices.Clone(times)
	slices.SortStableFunc(times, func(a, b build.Time) int { return cmp.Compare(a.Place, b.Place) })
	var rows strings.Builder
	for _, t := range times {
		fmt.Fprintf(&rows, "%s , %s , %s , %s , %s , nvlink , %.4f , ms\n",
			t.From, t.Phase, t.Inputs, t.To, j.options.Arch, float64(t.Wall.Microseconds())/1000)
	}
	if path == "-" {
		_, err := io.WriteString(j.streams.Stdout, timeHeader+rows.String())
		return err
	}
	header := timeHeader
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		header = ""
	}
	return output.Append(path, strings.NewReader(header+rows.String()))
}
