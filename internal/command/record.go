package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/report"
)

// explainRecord prints what a link did and why, or answers one question about it.
func explainRecord(_ context.Context, c link.Caller, args []string) error {
	c.Stdout = printable{c.Stdout}
	answer := func(r *record.Record) error { r.Explain(c.Stdout); return nil }
	if len(args) == 2 {
		symbol, asked := cutFlag(args[0], "why-live")
		switch {
		case args[0] == "--removed":
			answer = func(r *record.Record) error { r.WriteRemoved(c.Stdout); return nil }
		case args[0] == "--map":
			answer = func(r *record.Record) error { return r.WriteMap(c.Stdout) }
		case asked:
			answer = func(r *record.Record) error { r.WhyLive(c.Stdout, symbol); return nil }
		default:
			return usage("explain")
		}
		args = args[1:]
	}
	if len(args) != 1 {
		return usage("explain")
	}
	r, err := readRecord(args[0])
	if err != nil {
		return err
	}
	return answer(r)
}

// diffRecords prints what changed from one link to another.
func diffRecords(_ context.Context, c link.Caller, args []string) error {
	c.Stdout = printable{c.Stdout}
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

// writeReport writes a record as an HTML page.
func writeReport(_ context.Context, c link.Caller, args []string) error {
	if len(args) != 3 || args[1] != "-o" {
		return usage("report")
	}
	r, err := readRecord(args[0])
	if err != nil {
		return err
	}
	f, err := os.Create(args[2])
	if err != nil {
		return err
	}
	return errors.Join(report.Write(f, r), f.Close())
}

// readRecord reads what a link wrote for --warpld-record.
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
