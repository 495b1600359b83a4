package link

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
)

// A machine is this one, as far as the use of a server needs to know it.
type machine struct {
	digest action.Digester
	dir    func() string // a fresh one
	jobs   int
}

// A server is one of the Remote Execution API, or none.
type server struct {
	// front puts the server before the runner of this machine, and cache only its
	// cache before one that does what machines of a server can't.
	front, cache func(action.Runner) action.Runner
	close        func()
}

// remote prepares the use of a server, if one is wanted; an error is one of the
// options.
func (l *linker) remote(ctx context.Context, here machine) (server, error) {
	o := l.options.Own.Remote
	same := func(next action.Runner) action.Runner { return next }
	none := server{front: same, cache: same, close: func() {}}
	if o.Cache == "" && o.Execute == "" || l.options.Own.KeepWorkDirs { // with that, every step leaves its directory here
		return none, nil
	}
	machines, err := machinesOf(o)
	if err != nil {
		return none, badRemote(err)
	}
	machines.LocalSlots = here.jobs
	client, err := remote.Dial(ctx, remote.Config{Server: o.Cache + o.Execute, Authorities: o.Authorities, Certificate: o.Certificate, Key: o.Key,
		Token: o.Token, Helper: o.Helper, Upload: o.Upload, Digest: here.digest, Dir: here.dir, Note: l.without})
	if errors.Is(err, remote.ErrNoCredentials) {
		l.without("the remote server", err)
		return none, nil
	}
	if err != nil {
		return none, badRemote(err)
	}
	s := server{front: client.Cache, cache: client.Cache, close: client.Close}
	if o.Execute != "" {
		s.front = func(next action.Runner) action.Runner { return client.Execute(next, machines) }
	}
	return s, nil
}

// machinesOf reads what the options say of the server's machines.
func machinesOf(o options.Remote) (m remote.Machines, err error) {
	m = remote.Machines{Platform: o.Platform, Tools: map[string]string{}}
	if o.Execute != "" && o.Cache != "" {
		return m, errors.New("--warpld-remote uses the cache of its server: leave --warpld-remote-cache out")
	}
	for _, property := range o.Platform {
		if name, _, ok := strings.Cut(property, "="); !ok || name == "" {
			return m, fmt.Errorf("%q is no property: write NAME=VALUE", property)
		}
	}
	for _, tool := range o.Tools {
		name, path, ok := strings.Cut(tool, "=")
		if !ok || name == "" || !filepath.IsAbs(path) {
			return m, fmt.Errorf("%q is no tool: write NAME=PATH, with the whole path", tool)
		}
		m.Tools[name] = path
	}
	return m, nil
}

// inFlight is how many actions may be under way at once. With a server it is the
// server, and the number of jobs for what runs here, that sets the limit.
func (l *linker) inFlight(jobs int) int {
	const withServer = 1024
	if l.options.Own.Remote.Execute != "" {
		return withServer
	}
	return jobs
}

func badRemote(err error) error {
	return &message.Message{Severity: message.Fatal, ID: "remote-options", Tool: "warpld",
		Text: "the remote server can't be used: " + err.Error(), Cause: err}
}

// without is told once that the server is of no use, or of less.
func (l *linker) without(what string, err error) {
	o := l.options.Own.Remote
	l.log.Report(&message.Message{Severity: message.Info, ID: "remote", Tool: "warpld",
		Text: "this link goes on without " + what, Notes: []string{err.Error(), "the server is " + o.Cache + o.Execute}})
}
