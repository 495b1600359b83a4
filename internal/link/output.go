package link

import (
	"fmt"
	"os"
	"strings"

	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/output"
)

// writeOutputs puts the results where the command line wants them. All that can fail
// has been done: a link that fails leaves no output.
func (l *linker) writeOutputs() error {
	r, err := l.result.Output.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := l.writeRemarks(); err != nil {
		return err
	}
	err = output.Replace(l.options.Output, r)
	l.written = err == nil
	if err != nil || l.plan.EmitPTX {
		return err
	}
	return l.writeRegistration(l.plan.RegisterIDs(l.result.Whole, l.result.Registered))
}

// writeRemarks writes what LLVM said about its work, one remark a line.
func (l *linker) writeRemarks() error {
	path := l.options.Own.Remarks
	if path == "" {
		return nil
	}
	var text strings.Builder
	for _, remark := range l.result.Remarks {
		fmt.Fprintln(&text, strings.ReplaceAll(remark, "\n", " "))
	}
	return output.Replace(path, strings.NewReader(text.String()))
}

// writeRegistration leaves a file that exists as it is: nvcc links for one
// architecture after the other with the same file, and the first one fills it.
func (l *linker) writeRegistration(ids []string) error {
	path := l.options.RegisterLinkBinaries
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); err == nil {
		l.journal.Verbosef("%s exists and is left as it is", path)
		return nil
	}
	return output.Replace(path, strings.NewReader(merge.Registration(ids)))
}
