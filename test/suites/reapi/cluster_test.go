//go:build realtools

// Package reapi tests remote execution and the remote cache against real servers,
// by the numbers of their acceptance list:
// Buildbarn as a cluster, bazel-remote as a cache. test/suites/reapi/build makes them.
// Numbers 10, 11 and 12, a server that lies, are in internal/action/remote.
package reapi

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/warpld/warpld/test/kit"
)

// servers is the folder of the servers' programs.
func servers(t *testing.T) string {
	t.Helper()
	dir, err := kit.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "reapi")
	if _, err := os.Stat(filepath.Join(dir, "built")); err != nil {
		t.Fatalf("test/suites/reapi/build has not made the servers: %v", err)
	}
	return dir
}

// A cluster is one of a test's own.
type cluster struct {
	t     *testing.T
	env   []string
	state string
	port  int
}

// start starts a cluster of two workers; tools are further properties of theirs, in
// JSON. It is stopped when the test ends.
func start(t *testing.T, tools string) *cluster {
	t.Helper()
	c := &cluster{t: t, state: t.TempDir(), port: freePorts(t, 5)}
	c.env = append(os.Environ(), "REAPI_BIN="+servers(t), "REAPI_STATE="+c.state, "REAPI_PORT="+strconv.Itoa(c.port),
		"REAPI_TOOLS="+tools)
	t.Cleanup(func() { c.do("stop") })
	c.do("start")
	return c
}

// do runs the cluster script.
func (c *cluster) do(args ...string) {
	c.t.Helper()
	cmd := exec.Command("./cluster", args...)
	cmd.Env = c.env
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("cluster %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (c *cluster) address() string { return fmt.Sprintf("grpc://127.0.0.1:%d", c.port) }

// freePorts gives the first of n ports in a row that nobody uses.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		first := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if allFree(first, n) {
			return first
		}
	}
	t.Fatal("no free ports")
	return 0
}

func allFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// Test22: a cluster leaves no process and no port behind.
func Test22NothingIsLeft(t *testing.T) {
	c := start(t, "")
	files, err := filepath.Glob(filepath.Join(c.state, "*.pid"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%d processes, error %v", len(files), err)
	}
	var pids []int
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	c.do("stop")
	gone := func() bool {
		for _, pid := range pids {
			if syscall.Kill(-pid, 0) == nil {
				return false
			}
		}
		return allFree(c.port, 5)
	}
	for deadline := time.Now().Add(30 * time.Second); !gone(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("processes or ports are left")
		}
	}
}
