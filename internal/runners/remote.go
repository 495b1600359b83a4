package runners

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"github.com/warpld/warpld/internal/action/remote/service"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
)

// A machine describes this one to the client of a server.
type machine struct {
	digest action.Digester
	dir    func() string // a fresh one
	jobs   int
}

// A server is one of the Remote Execution API. Without one its runners are those that
// they are given.
type server struct {
	// front puts the server before the runner of this machine, and cache only its
	// cache before one that does what machines of a server can't.
	front, cache func(action.Runner) action.Runner
	close        func()
}

// openServer prepares the use of a server, if the options ask for one. An error is one
// of the options.
func (r *Request) openServer(ctx context.Context, here machine) (server, error) {
	o := r.Options.Own.Remote
	same := func(next action.Runner) action.Runner { return next }
	none := server{front: same, cache: same, close: func() {}}
	wanted := o.Cache != "" || o.Execute != ""
	if !wanted || r.Options.Own.KeepWorkDirs { // with that, every step leaves its directory here
		return none, nil
	}
	machines, err := machinesOf(o)
	if err != nil {
		return none, badRemote(err)
	}
	machines.LocalSlots = here.jobs
	link, err := service.Open(ctx, service.Request{Self: r.Self, Env: r.Env, Dir: here.dir,
		Keep: time.Duration(o.Keep) * time.Second, Settings: remote.Settings{Execute: o.Execute, Cache: o.Cache,
			Authorities: o.Authorities, Certificate: o.Certificate, Key: o.Key, Token: o.Token, Helper: o.Helper,
			Headers: o.Headers}})
	if err != nil {
		return none, badRemote(err)
	}
	client := remote.New(ctx, remote.Config{Server: link, Upload: o.Upload, Digest: here.digest,
		Dir: here.dir, Note: r.noteServerDisabled})
	s := server{front: client.Cache, cache: client.Cache, close: client.Close}
	if o.Execute != "" {
		s.front = func(next action.Runner) action.Runner { return client.Execute(next, machines) }
	}
	return s, nil
}

// machinesOf returns the server's machines as the options describe them.
func machinesOf(o options.Remote) (m remote.Machines, err error) {
	m = remote.Machines{Platform: o.Platform, Tools: map[string]string{}}
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

// inFlight returns how many actions may be in progress at once. With a server the limit
// is set by the server, and by the number of jobs for what runs here.
func (r *Request) inFlight(jobs int) int {
	const withServer = 1024
	if r.Options.Own.Remote.Execute != "" {
		return withServer
	}
	return jobs
}

func badRemote(err error) error {
	return &message.Message{Severity: message.Fatal, ID: "remote-options", Tool: "warpld",
		Text: "the remote server can't be used: " + err.Error(), Cause: err}
}

// noteServerDisabled reports that the link continues without a server, or without what
// the server cannot do. The client calls it once for each.
func (r *Request) noteServerDisabled(what string, err error) {
	o := r.Options.Own.Remote
	r.Report(&message.Message{Severity: message.Info, ID: "remote", Tool: "warpld",
		Text:  "this link goes on without " + what,
		Notes: []string{err.Error(), "the server is " + cmp.Or(o.Execute, o.Cache)}})
}
