// Package ptxas stands in for NVIDIA's ptxas in a shim. It assembles through the cache and
// the other runners of warpld; what can't go there is done by the toolkit's ptxas in the
// place of this process. Messages, outputs and exit codes are those of ptxas.
package ptxas

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/assemble"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/journal"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/output"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/reproduce"
	"github.com/warpld/warpld/internal/runners"
	"github.com/warpld/warpld/internal/toolkit"
)

// A Caller is the world that ptxas is started in.
type Caller struct {
	Streams journal.Streams
	// Origin is the path that this program was started by, which usually lies in a shim.
	Origin string
	// Self is the path of warpld's executable.
	Self string
}

// An assembler is one run in progress.
type assembler struct {
	journal *journal.Journal
	env     func(string) string
	options *options.Options
	toolkit *toolkit.Toolkit
	program string // its ptxas
	self    string
}

// Run assembles as ptxas with these arguments would, and returns the exit code.
func Run(ctx context.Context, c Caller, args []string) int {
	a := &assembler{journal: journal.New(c.Streams), env: c.Streams.Env, self: c.Self}
	code, err := a.run(ctx, c.Origin, args)
	if err == nil {
		return code
	}
	if ctx.Err() != nil {
		err = &message.Message{Severity: message.Fatal, ID: "interrupted", Text: "interrupted, nothing was written"}
	}
	for _, m := range message.Of(err) {
		m.Tool = "warpld"
		a.journal.Report(m)
	}
	return a.journal.Log().ExitCode()
}

func (a *assembler) run(ctx context.Context, origin string, args []string) (code int, err error) {
	if a.options, err = options.Parse(nil, a.env("WARPLD_FLAGS"), os.ReadFile, a.journal.Report); err != nil {
		return 0, err
	}
	a.options.Own.Progress = "off" // nvcc runs several at once
	a.journal.SetOptions(a.options)
	a.toolkit, err = toolkit.Find(toolkit.Query{CUDA: a.options.Own.CUDA, Origin: origin, Env: a.env, ForLink: true})
	if err != nil {
		return 0, err
	}
	if a.program, err = a.toolkit.NeedPTXAS(); err != nil {
		return 0, err
	}
	command, reason := a.command(args)
	if reason == "" {
		if code, reason, err = a.assemble(ctx, command); reason == "" {
			return code, err
		}
	}
	a.journal.Verbosef("handing over to %s: %s", a.program, reason)
	return 0, local.Exec(a.program, append([]string{"ptxas"}, args...), os.Environ())
}

// command reads the command line, and returns why it is left to ptxas if it is.
func (a *assembler) command(args []string) (*assemble.Command, string) {
	command, err := assemble.Parse(args)
	switch {
	case err != nil:
		return nil, err.Error()
	case a.options.Own.Engine == string(plan.Vendor):
		return nil, "--warpld-engine=vendor"
	}
	if reason := assemble.Impure(command.Arguments); reason != "" {
		return nil, "the result is not cached: " + reason
	}
	return command, ""
}

// assemble assembles through the runners of warpld. The reason is why ptxas has to do it
// after all.
func (a *assembler) assemble(ctx context.Context, command *assemble.Command) (code int, reason string, err error) {
	text, err := os.ReadFile(command.Input)
	if err != nil {
		return 0, err.Error(), nil // ptxas has its own words for that
	}
	processes, err := local.New(a.options.Own.TempDir, a.options.Own.KeepWorkDirs)
	if err != nil {
		return 0, "", err
	}
	defer processes.Close()
	set, err := runners.Open(ctx, runners.Request{Options: a.options, Env: a.env, Self: a.self, Local: processes,
		Report: a.journal.Report})
	if err != nil {
		return 0, "", err
	}
	defer set.Close()
	defer a.journal.StartProgress(set)()
	tools := engine.Tools{PTXAS: a.program, Limit: a.options.Own.TimeLimit}
	content := action.Shared(func() ([]byte, error) { return text, nil })
	whole := engine.Assemble(tools, content, command.Arguments)
	own := &a.options.Own.Assembly
	runner := assemble.New(assemble.Settings{Mode: own.How, Runner: set.Runner, InFlight: set.InFlight,
		Remember: set.Remember, Watch: a.journal.Watch, Report: a.journal.Report, Verbosef: a.journal.Verbosef,
		Slow: own.Slow, Verify: own.Verify, Differs: func(d assemble.Difference) error {
			m, err := reproduce.PackAssembly(command.Output, a.toolkit.Version, d)
			a.journal.Report(m)
			return err
		}})
	result, err := runner.Run(ctx, whole)
	if err != nil {
		return 0, "", err
	}
	return a.deliver(command, result)
}

// deliver does with the result what ptxas would have done. A failure leaves the output as
// it is.
func (a *assembler) deliver(command *assemble.Command, r *action.Result) (code int, reason string, err error) {
	switch ended := r.Ending(); {
	case r.TimedOut:
		return 0, "", &message.Message{Severity: message.Fatal, ID: "ptxas-failed", Text: "ptxas " + ended,
			Origin: message.Origin{File: command.Input}, Notes: []string{"the input is " + command.Input},
			Hint: "--warpld-time-limit=SECONDS in WARPLD_FLAGS sets the limit"}
	case ended != "":
		return 0, "ptxas " + ended, nil
	case r.ExitCode == 0 && !r.OK():
		return 0, "ptxas wrote no cubin", nil
	}
	if r.OK() {
		cubin, err := r.Outputs[engine.CubinFile].Open()
		if err != nil {
			return 0, "", err
		}
		defer cubin.Close()
		if err := output.Replace(command.Output, cubin); err != nil {
			return 0, err.Error(), nil // ptxas has its own words for that
		}
	}
	fmt.Fprint(a.journal.Stdout(), named(r.Stdout, command.Input))
	fmt.Fprint(a.journal.Stderr(), named(r.Stderr, command.Input))
	return r.ExitCode, "", nil
}

// named returns what ptxas printed, with the user's name of the input.
func named(text []byte, input string) string {
	return strings.NewReplacer("ptxas "+engine.PTXFile+",", "ptxas "+input+",",
		"'"+engine.PTXFile+"'", "'"+input+"'").Replace(string(text))
}
