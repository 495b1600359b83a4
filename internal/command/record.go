package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/record"
)

// explainRecord says what a link did, and why.
func explainRecord(_ context.Context, c link.Caller, args []string) error {
	if len(args) != 1 {
		return usage("explain")
	}
	r, err := readRecord(args[0])
	if err == nil {
		r.Explain(c.Stdout)
	}
	return err
}

// diffRecords shows what changed from one link to another.
func diffRecords(_ context.Context, c link.Caller, args []string) error {
	if len(args) != 2 {
		return usage("diff")
	}
	before, err := readRecord(args[0])
	if err != nil {
		return err
	}
	after, err := readRecord(args[1])
	if err != nil {
		return err
	}
	if !record.Diff(c.Stdout, before, after) {
		fmt.Fprintln(c.Stdout, "nothing else is different")
	}
	return nil
}

func readRecord(path string) (*record.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := record.Read(f)
	hint := "give a file that a link with --warpld-record=FILE wrote"
	if errors.Is(err, record.ErrVersion) {
		hint = "read it with the warpld that wrote it"
	}
	if err != nil {
		return nil, &message.Message{Severity: message.Fatal, ID: "record", Origin: message.Origin{File: path},
			Text: fmt.Sprintf("%s: %v", path, err), Hint: hint, Cause: err}
	}
	return r, nil
}
