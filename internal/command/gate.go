package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/gate"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/output"
)

// A gateRequest is the command line of 'warpld gate'.
type gateRequest struct {
	baseline   string
	update     bool
	ratchet    bool
	format     string
	output     string
	tolerances map[string]int
	blocks     []int
	files      []string
}

func parseGate(args []string) (r gateRequest, ok bool) {
	r.format, r.tolerances = "text", map[string]int{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		good := value != ""
		switch name {
		case "--baseline":
			r.baseline = value
		case "--output":
			r.output = value
		case "--format":
			r.format = value
			good = gate.Writers[value] != nil
		case "--tolerance":
			good = r.addTolerances(value)
		case "--blocks":
			good = r.addBlocks(value)
		case "--update":
			r.update, good = true, arg == name
		case "--ratchet":
			r.ratchet, good = true, arg == name
		default:
			r.files, good = append(r.files, arg), !strings.HasPrefix(arg, "-")
		}
		if !good {
			return r, false
		}
	}
	return r, r.baseline != "" && len(r.files) > 0
}

// addTolerances reads NAME=N,NAME=N.
func (r *gateRequest) addTolerances(list string) bool {
	for _, item := range strings.Split(list, ",") {
		name, number, _ := strings.Cut(item, "=")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || !slices.Contains(gate.Resources, name) {
			return false
		}
		r.tolerances[name] = n
	}
	return true
}

// addBlocks reads numbers of threads.
func (r *gateRequest) addBlocks(list string) bool {
	const mostThreads = 1024
	for _, item := range strings.Split(list, ",") {
		n, err := strconv.Atoi(item)
		if err != nil || n <= 0 || n > mostThreads {
			return false
		}
		r.blocks = append(r.blocks, n)
	}
	return true
}

// compareWithBaseline compares the resources of kernels with a baseline, or records them.
func compareWithBaseline(_ context.Context, c link.Caller, args []string) error {
	r, ok := parseGate(args)
	if !ok {
		return usage("gate")
	}
	baseline, err := readBaseline(&r)
	if err != nil {
		return err
	}
	for name, n := range r.tolerances {
		baseline.Tolerances[name] = n
	}
	if r.blocks != nil {
		baseline.Blocks = r.blocks
	}
	now := &gate.Baseline{Format: gate.Format, Blocks: baseline.Blocks, Tolerances: baseline.Tolerances}
	if err := readKernels(c, now, r.files); err != nil {
		return err
	}
	result := &gate.Result{Baseline: r.baseline, Kernels: now.Kernels, Findings: gate.Compare(baseline, now),
		Ratchet: r.ratchet}
	if r.update {
		return updateBaseline(c, &r, result, now)
	}
	if err := writeResult(c, &r, result); err != nil {
		return err
	}
	if result.Failed() {
		return exitCode(message.ExitErrors)
	}
	return nil
}

func writeResult(c link.Caller, r *gateRequest, result *gate.Result) error {
	var text bytes.Buffer
	if err := gate.Writers[r.format](result, &text); err != nil {
		return err
	}
	if r.output == "" {
		_, err := printable{c.Stdout}.Write(text.Bytes())
		return err
	}
	if err := output.Replace(r.output, &text); err != nil {
		return err
	}
	if r.format == "text" {
		return nil
	}
	return gate.Writers["text"](result, printable{c.Stdout})
}

func updateBaseline(c link.Caller, r *gateRequest, result *gate.Result, now *gate.Baseline) error {
	var text bytes.Buffer
	if err := now.Write(&text); err != nil {
		return err
	}
	if err := output.Replace(r.baseline, &text); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "%s: %d kernels; %d were worse, %d better or new\n", r.baseline, len(now.Kernels),
		gate.Count(result.Findings, gate.Worse), gate.Count(result.Findings, gate.Better))
	return err
}

// readBaseline reads the baseline. With --update it need not exist.
func readBaseline(r *gateRequest) (*gate.Baseline, error) {
	f, err := os.Open(r.baseline)
	if errors.Is(err, fs.ErrNotExist) && r.update {
		return gate.New(), nil
	}
	if err != nil {
		return nil, &message.Message{Severity: message.Fatal, ID: "baseline", Text: err.Error(), Cause: err,
			Hint: "'warpld gate --update --baseline=FILE ...' writes a first baseline"}
	}
	defer f.Close()
	b, err := gate.Read(f)
	if err != nil {
		return nil, &message.Message{Severity: message.Fatal, ID: "baseline", Origin: message.Origin{File: r.baseline},
			Text: fmt.Sprintf("%s: %v", r.baseline, err), Cause: err,
			Hint: "restore the file, or remove it and write a new one with --update"}
	}
	if b.Tolerances == nil {
		b.Tolerances = map[string]int{}
	}
	return b, nil
}

// readKernels reads the kernels of files, or of the record of a link.
func readKernels(c link.Caller, b *gate.Baseline, paths []string) error {
	if len(paths) == 1 && strings.HasSuffix(paths[0], ".json") {
		r, err := readRecord(paths[0])
		if err == nil {
			b.FromRecord(r)
		}
		return err
	}
	files, err := measureFiles(c, paths)
	if err == nil {
		b.FromFiles(files)
	}
	return err
}
