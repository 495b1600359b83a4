//go:build realtools

package reapi

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/test/kit"
)

// cacheServer starts a bazel-remote.
func cacheServer(t *testing.T, options ...string) string {
	t.Helper()
	port := freePorts(t, 2)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command(filepath.Join(servers(t), "bazel-remote"), append(options, "--dir", t.TempDir(), "--max_size", "1",
		"--grpc_address", address, "--http_address", fmt.Sprintf("127.0.0.1:%d", port+1))...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for deadline := time.Now().Add(time.Minute); allFree(port, 1); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("bazel-remote does not listen:\n%s", log.String())
		}
	}
	return "grpc://" + address
}

var stepLine = regexp.MustCompile(`(?m)^warpld info    : (compile|assemble): (from|\S+ wall)(.*)$`)

// steps tells of each step where its result came from: "cache", "worker" or "here".
func steps(r kit.Result) string {
	var list []string
	for _, m := range stepLine.FindAllStringSubmatch(r.Stderr, -1) {
		where := "here"
		switch {
		case m[2] == "from" && m[3] == " the remote cache":
			where = "cache"
		case strings.Contains(m[3], "by worker"):
			where = "worker"
		}
		list = append(list, m[1]+" "+where)
	}
	return strings.Join(list, ", ")
}

// link links and gives the cubin and where the steps were done.
func link(t *testing.T, toolkit kit.Toolkit, flags string, job kit.Job) (cubin []byte, where string) {
	t.Helper()
	r, err := kit.Warpld(t, "--warpld-remote-keep=5 --warpld-verbose --warpld-cuda="+toolkit.Root+" "+flags).Run(job)
	if err != nil || r.Exit != 0 {
		t.Fatalf("exit code %d, error %v:\n%s", r.Exit, err, r.Stderr)
	}
	return r.Files["out.cubin"], steps(r)
}

func arguments(more ...string) []string {
	return append([]string{"-m64", "-dlto", "-arch=sm_80", "-o", "out.cubin"}, more...)
}

// renamed gives copies of files, each under another name.
func renamed(t *testing.T, files []string) (copies []string) {
	t.Helper()
	dir := t.TempDir()
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, filepath.Join(dir, fmt.Sprintf("renamed%d.o", i)))
		if err := os.WriteFile(copies[i], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copies
}

// otherPTXAS is the toolkit with a ptxas that differs in bytes that don't matter to it.
func otherPTXAS(t *testing.T, toolkit kit.Toolkit) kit.Toolkit {
	t.Helper()
	other, err := toolkit.WithoutNvlink(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(toolkit.Tool("ptxas"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(other.Tool("ptxas")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other.Tool("ptxas"), append(data, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	return other
}

// Test21: a cache alone; with it tests 1, 4, 5 and 6 on real links.
func Test21CacheOnly(t *testing.T) {
	toolkit := kit.Toolkits(t)[0]
	server := "--warpld-remote-cache=" + cacheServer(t)
	objects := []string{toolkit.Object(t, "stored", "a.o"), toolkit.Object(t, "stored", "b.o")}
	copies := renamed(t, objects)
	plain := kit.NewJob(t, objects, arguments("a.o", "b.o")...)
	want, _ := link(t, toolkit, "", plain)
	for _, test := range []struct {
		name    string
		toolkit kit.Toolkit
		flags   string
		job     kit.Job
		where   string
		other   bool // the cubin need not be the same
	}{
		{"empty", toolkit, "", plain, "compile here, assemble here", false},
		{"stored", toolkit, "--warpld-remote-upload", plain, "compile here, assemble here", false},
		{"1 found", toolkit, "", plain, "compile cache, assemble cache", false},
		{"4 other tool", otherPTXAS(t, toolkit), "", plain, "compile cache, assemble here", false},
		{"5 other option", toolkit, "", kit.NewJob(t, objects, arguments("a.o", "b.o", "-Xptxas=-O1")...),
			"compile cache, assemble here", true},
		{"5 other order", toolkit, "", kit.NewJob(t, objects, arguments("b.o", "a.o")...), "compile here, assemble here",
			true},
		{"6 renamed", toolkit, "", kit.NewJob(t, copies, arguments("renamed0.o", "renamed1.o")...),
			"compile cache, assemble cache", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, where := link(t, test.toolkit, server+" "+test.flags, test.job)
			if where != test.where || (!test.other && !bytes.Equal(got, want)) {
				t.Errorf("%s, want %s; the same cubin: %v", where, test.where, bytes.Equal(got, want))
			}
		})
	}
}

// Test3: a link of 64 modules on the cluster, with all tools sent to it and with a
// ptxas of its own; the same bytes as here, and all found the second time.
func Test3LinkOnTheCluster(t *testing.T) {
	toolkit := kit.Toolkits(t)[0]
	ptxas, err := filepath.EvalSymlinks(toolkit.Tool("ptxas"))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := action.AtPath(ptxas).Digest()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, fmt.Sprintf(`{"name":"tool-ptxas","value":%q}`, digest.Hash))
	objects, err := filepath.Glob(filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), toolkit.Release(), "stored-generated",
		"*.o"))
	if err != nil || len(objects) < 64 {
		t.Fatalf("%d objects, error %v", len(objects), err)
	}
	var names []string
	for _, o := range objects {
		names = append(names, filepath.Base(o))
	}
	job := kit.NewJob(t, objects, arguments(names...)...)
	want, _ := link(t, toolkit, "", job)
	server := "--warpld-remote-platform=OSFamily=linux --warpld-remote=" + s.address()
	there := " --warpld-remote-tool=ptxas=" + ptxas
	for _, test := range []struct{ name, flags, where string }{
		{"tools sent", server, "compile worker, assemble worker"},
		{"again", server, "compile cache, assemble cache"},
		{"ptxas there", server + there, "compile cache, assemble worker"},
		{"ptxas there, again", server + there, "compile cache, assemble cache"},
	} {
		t.Run(test.name, func(t *testing.T) {
			begun := time.Now()
			got, where := link(t, toolkit, test.flags, job)
			t.Logf("%s: %v", where, time.Since(begun))
			if where != test.where || !bytes.Equal(got, want) {
				t.Errorf("%s, want %s; the same cubin: %v", where, test.where, bytes.Equal(got, want))
			}
		})
	}
}

// TestOptions: what is wrong with the options ends the link, and a server that is
// not there doesn't.
func TestOptions(t *testing.T) {
	toolkit := kit.Toolkits(t)[0]
	objects := []string{toolkit.Object(t, "stored", "a.o"), toolkit.Object(t, "stored", "b.o")}
	job := kit.NewJob(t, objects, arguments("a.o", "b.o")...)
	for flags, want := range map[string]string{
		"--warpld-remote=grpc://127.0.0.1:1": "info    : this link goes on " +
			"without the remote server",
		"--warpld-remote-cache=grpc://127.0.0.1:1": "info    : this link goes on " +
			"without the remote server",
		"--warpld-remote-cache=grpc://127.0.0.1:1 --warpld-remote-helper=/bin/false": "info    : this link goes on " +
			"without the remote server",
		"--warpld-remote-cache=http://localhost":                        "fatal   : the remote server can't be used",
		"--warpld-remote-cache=grpcs://me:secret@localhost":             "which others could see",
		"--warpld-remote=grpc://a --warpld-remote-header=a=b":           "write grpcs://",
		"--warpld-remote=grpc://a --warpld-remote-platform=linux":       "write NAME=VALUE",
		"--warpld-remote=grpc://a --warpld-remote-tool=ptxas=bin/ptxas": "write NAME=PATH",
		"--warpld-remote=grpcs://a --warpld-remote-token=no-such-file":  "no such file",
	} {
		r, err := kit.Warpld(t, "--warpld-cuda="+toolkit.Root+" "+flags).Run(job)
		if err != nil {
			t.Fatal(err)
		}
		goesOn := strings.HasPrefix(want, "info")
		if (r.Exit == 0) != goesOn || (len(r.Files["out.cubin"]) > 0) != goesOn || strings.Count(r.Stderr, want) != 1 ||
			strings.Contains(r.Stderr, "secret") {
			t.Errorf("%s: exit code %d, stderr\n%s", flags, r.Exit, r.Stderr)
		}
	}
}
