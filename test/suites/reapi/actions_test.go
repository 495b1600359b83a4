//go:build realtools

package reapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/action/remote"
	"github.com/warpld/warpld/internal/action/remote/reapi"
)

// A client is one of a cluster, and what it tells.
type client struct {
	action.Runner
	close func()
	runs  atomic.Int32 // here
	mu    sync.Mutex
	notes []string
}

// dial makes a client that runs here what the cluster doesn't, or nothing.
func dial(t *testing.T, server string, here bool, platform ...string) *client {
	t.Helper()
	c := &client{}
	behind, err := local.New(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	machine := connect(t, server, remote.Config{Dir: behind.Dir, Note: func(without string, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.notes = append(c.notes, without+": "+err.Error())
	}})
	t.Cleanup(machine.Close)
	m := remote.Machines{Platform: append(platform, "OSFamily=linux")}
	if here {
		m.LocalSlots = 1
	}
	c.Runner = machine.Execute(counting{behind, &c.runs}, m)
	c.close = machine.Close
	return c
}

// connect makes a client of a server as warpld-remote has it.
func connect(t *testing.T, server string, config remote.Config) *remote.Client {
	t.Helper()
	connection, err := reapi.Dial(remote.Settings{Execute: server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	config.Server, config.Digest = connection.Session("test"), action.ReadDigest
	return remote.New(t.Context(), config)
}

type counting struct {
	action.Runner
	runs *atomic.Int32
}

func (c counting) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	c.runs.Add(1)
	return c.Runner.Run(ctx, a)
}

// script is an action of a shell script that must write a file "out". Its input is
// large enough to be worth sending, and it is late after some seconds.
func script(t *testing.T, text string) *action.Action {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &action.Action{Label: "script", Tool: action.File{Name: "tool", Content: action.AtPath(path)},
		Outputs: []string{"out"},
		Env:     []string{"PATH=/usr/bin:/bin"},
		Inputs:  []action.File{{Name: "in", Content: action.Bytes(bytes.Repeat([]byte("x"), 200<<10))}}}
}

// must runs an action whose output must be text.
func (c *client) must(t *testing.T, a *action.Action, text string) *action.Result {
	t.Helper()
	r, err := c.Run(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.Outputs["out"].Read(); err != nil || string(out) != text {
		t.Errorf("output %q, error %v; stderr %q", out, err, r.Stderr)
	}
	return r
}

// told checks the one message of a client, or that there is none.
func (c *client) told(t *testing.T, want string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := strings.Join(c.notes, ""); len(c.notes) > 1 || (want == "") != (all == "") || !strings.Contains(all, want) {
		t.Errorf("notes %q, want %q", c.notes, want)
	}
}

func Test1ColdThenHit(t *testing.T) {
	s := start(t, "")
	a := script(t, "echo -n made >out; echo said; echo complained >&2")
	for _, cached := range []bool{false, true, true} {
		c := dial(t, s.address(), false)
		r := c.must(t, a, "made")
		if r.Cached != cached || string(r.Stdout) != "said\n" || string(r.Stderr) != "complained\n" || r.Where == "" {
			t.Errorf("cached %v, want %v: %+v", r.Cached, cached, r)
		}
		c.told(t, "")
	}
}

func Test2Parallel(t *testing.T) {
	c := dial(t, start(t, "").address(), false)
	var all sync.WaitGroup
	begun := time.Now()
	for i := range 8 {
		all.Go(func() { c.must(t, script(t, fmt.Sprintf("sleep 1; echo -n %d >out", i)), fmt.Sprint(i)) })
	}
	all.Wait()
	took := time.Since(begun)
	t.Logf("8 actions of 1 s on 2 workers: %v", took)
	if took < 3900*time.Millisecond || took > 12*time.Second {
		t.Error("that is not two at a time")
	}
	c.told(t, "")
}

func Test7ToolFails(t *testing.T) {
	s := start(t, "")
	count := filepath.Join(t.TempDir(), "runs")
	a := script(t, "echo x >>"+count+"; echo this is wrong >&2; exit 255")
	for range 2 {
		c := dial(t, s.address(), true)
		r, err := c.Run(t.Context(), a)
		if err != nil || r.ExitCode != 255 || !strings.Contains(string(r.Stderr), "this is wrong") || r.Cached {
			t.Errorf("result %+v, error %v", r, err)
		}
		c.told(t, "")
	}
	if text, _ := os.ReadFile(count); len(text) != 8 { // each time there, and here to be sure
		t.Errorf("it ran %d times", len(text)/2)
	}
}

func Test8TimeLimit(t *testing.T) {
	c := dial(t, start(t, "").address(), false)
	a := script(t, "sleep 100")
	a.Limit = 2 * time.Second
	begun := time.Now()
	r, err := c.Run(t.Context(), a)
	if took := time.Since(begun); err != nil || !r.TimedOut || took < a.Limit || took > 30*time.Second {
		t.Errorf("result %+v, error %v after %v", r, err, took)
	}
}

func Test9OutputAbsent(t *testing.T) {
	c := dial(t, start(t, "").address(), true)
	r, err := c.Run(t.Context(), script(t, "true"))
	if err != nil || r.OK() || c.runs.Load() != 1 {
		t.Errorf("result %+v, error %v", r, err)
	}
	c.told(t, "lacks the output out")
}

// Test13: the storage forgets everything while a client believes to know what it has.
func Test13LostBlobs(t *testing.T) {
	s := start(t, "")
	c := dial(t, s.address(), false)
	first, second := script(t, "echo -n 1 >out"), script(t, "echo -n 2 >out")
	c.must(t, first, "1")
	s.do("kill", "storage")
	s.do("revive", "storage")
	if r := c.must(t, second, "2"); r.Where == "" {
		t.Errorf("it ran here: %+v", r)
	}
	c.told(t, "")
}

func Test14NoWorkerForThePlatform(t *testing.T) {
	c := dial(t, start(t, "").address(), true, "OSFamily=templeos")
	begun := time.Now()
	c.must(t, script(t, "echo -n made >out"), "made")
	if took := time.Since(begun); c.runs.Load() != 1 || took > 5*time.Second {
		t.Errorf("%d runs here after %v", c.runs.Load(), took)
	}
	c.told(t, "No workers exist")
}

func Test15WorkerKilled(t *testing.T) {
	for _, revived := range []bool{true, false} {
		t.Run(fmt.Sprintf("revived=%v", revived), func(t *testing.T) {
			s := start(t, "")
			c := dial(t, s.address(), true)
			begun := filepath.Join(t.TempDir(), "begun")
			a := script(t, "echo >"+begun+"; sleep 2; echo -n made >out")
			go func() {
				for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
					if _, err := os.Stat(begun); err == nil {
						break
					}
				}
				s.do("kill", "worker1", "worker2")
				if revived {
					s.do("revive", "worker1", "worker2")
				}
			}()
			start := time.Now()
			c.must(t, a, "made")
			took := time.Since(start)
			t.Logf("took %v, %d runs here", took, c.runs.Load())
			if took > 40*time.Second {
				t.Error("that is too long")
			}
		})
	}
}

func Test16SchedulerDown(t *testing.T) {
	s := start(t, "")
	known := script(t, "echo -n known >out")
	dial(t, s.address(), false).must(t, known, "known")
	s.do("kill", "scheduler")
	c := dial(t, s.address(), true)
	if r := c.must(t, known, "known"); !r.Cached {
		t.Errorf("the result was not found: %+v", r)
	}
	begun := time.Now()
	c.must(t, script(t, "echo -n new >out"), "new")
	if took := time.Since(begun); took > 5*time.Second || c.runs.Load() != 1 {
		t.Errorf("%v, %d runs here", took, c.runs.Load())
	}
	c.told(t, "remote execution: unavailable")
	if r := c.must(t, known, "known"); !r.Cached {
		t.Errorf("the result is not found any more: %+v", r)
	}
}

func Test17StorageDown(t *testing.T) {
	s := start(t, "")
	s.do("kill", "storage")
	c := dial(t, s.address(), true)
	begun := time.Now()
	for i := range 3 {
		c.must(t, script(t, fmt.Sprintf("echo -n %d >out", i)), fmt.Sprint(i))
	}
	if took := time.Since(begun); took > 10*time.Second || c.runs.Load() != 3 {
		t.Errorf("%v, %d runs here", took, c.runs.Load())
	}
	c.told(t, "the remote server: unavailable")
}

// Test18: an interrupt ends the wait at once. This version of Buildbarn has no way to
// end an action for a client; that the server is asked to is shown in
// internal/action/remote.
func Test18Interrupted(t *testing.T) {
	c := dial(t, start(t, "").address(), false)
	begun := filepath.Join(t.TempDir(), "begun")
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat(begun); err == nil {
				break
			}
		}
		interrupt()
	}()
	_, err := c.Run(ctx, script(t, "echo >"+begun+"; sleep 30; echo -n made >out"))
	interrupted := time.Now()
	c.close()
	if took := time.Since(interrupted); !errors.Is(err, context.Canceled) || took > 5*time.Second {
		t.Errorf("error %v, %v to end", err, took)
	}
	c.told(t, "")
}

func Test19TwoClientsOneExecution(t *testing.T) {
	s := start(t, "")
	count := filepath.Join(t.TempDir(), "runs")
	a := script(t, "echo x >>"+count+"; sleep 2; echo -n made >out")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { dial(t, s.address(), false).must(t, a, "made") })
	}
	both.Wait()
	if text, _ := os.ReadFile(count); len(text) != 2 {
		t.Errorf("it ran %d times", len(text)/2)
	}
}
