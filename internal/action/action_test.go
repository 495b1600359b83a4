package action

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

func sample() *Action {
	return &Action{
		Label: "compile",
		Tool:  File{Name: "bin/warpld", Content: Bytes([]byte("tool"))},
		Args:  []string{"worker", "", "-x"},
		Env:   []string{"B=2", "A=1", "EMPTY="},
		Inputs: []File{{Name: "m/b.ir", Content: Bytes([]byte("bbb"))}, {Name: "m/a.ir", Content: Bytes([]byte("a"))},
			{Name: "job.json", Content: Bytes(nil)}, {Name: "bin/z", Content: Bytes([]byte("z"))}},
		Outputs: []string{"lto.ptx", "answer.json"},
		Limit:   90*time.Second + 5*time.Millisecond,
	}
}

// TestEncodingIsThatOfTheRemoteExecutionAPI builds the same action of the
// published messages and compares keys and messages.
func TestEncodingIsThatOfTheRemoteExecutionAPI(t *testing.T) {
	var messages []Digest
	digest := func(b []byte) *repb.Digest {
		d := DigestOf(b)
		return &repb.Digest{Hash: d.Hash, SizeBytes: d.Size}
	}
	marshal := func(m proto.Message) []byte {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, DigestOf(b))
		return b
	}
	for name, at := range map[string]Place{
		"anywhere":  {},
		"a machine": {Platform: []string{"pool=gpu", "OSFamily=linux"}, Tool: "/usr/bin/warpld"},
	} {
		messages = nil
		bin := &repb.Directory{Files: []*repb.FileNode{
			{Name: "warpld", Digest: digest([]byte("tool")), IsExecutable: true}, {Name: "z", Digest: digest([]byte("z"))}}}
		command := &repb.Command{
			Arguments: []string{"bin/warpld", "worker", "", "-x"},
			EnvironmentVariables: []*repb.Command_EnvironmentVariable{
				{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "EMPTY"}},
			OutputPaths: []string{"answer.json", "lto.ptx"}}
		act := &repb.Action{Timeout: durationpb.New(90*time.Second + 5*time.Millisecond)}
		if at.Tool != "" {
			bin.Files = bin.Files[1:]
			command.Arguments[0] = at.Tool
			act.Platform = &repb.Platform{Properties: []*repb.Platform_Property{
				{Name: "OSFamily", Value: "linux"}, {Name: "pool", Value: "gpu"}}}
			//lint:ignore SA1019 servers before version 2.2 of the API read the platform here
			command.Platform = act.Platform
		}
		act.CommandDigest = digest(marshal(command))
		m := &repb.Directory{Files: []*repb.FileNode{
			{Name: "a.ir", Digest: digest([]byte("a"))}, {Name: "b.ir", Digest: digest([]byte("bbb"))}}}
		act.InputRootDigest = digest(marshal(&repb.Directory{
			Files: []*repb.FileNode{{Name: "job.json", Digest: digest(nil)}},
			Directories: []*repb.DirectoryNode{
				{Name: "bin", Digest: digest(marshal(bin))}, {Name: "m", Digest: digest(marshal(m))}}}))
		want := DigestOf(marshal(act))
		got, err := sample().Encode(ReadDigest, at)
		if err != nil || got.Key != want {
			t.Fatalf("%s: Encode() = %v, %v; want %v", name, got, err, want)
		}
		var encoded []Digest
		for _, b := range got.Messages {
			encoded = append(encoded, b.Digest)
		}
		if !slices.Equal(encoded, messages) {
			t.Errorf("%s: messages %v, want %v", name, encoded, messages)
		}
		if files := 5 - len(at.Platform)/2; len(got.Files) != files {
			t.Errorf("%s: %d files, want %d", name, len(got.Files), files)
		}
	}
}

func TestKeyDependsOnWhatMatters(t *testing.T) {
	base, err := sample().Key(ReadDigest)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Action){
		"tool":     func(a *Action) { a.Tool.Content = Bytes([]byte("newer")) },
		"argument": func(a *Action) { a.Args[1] = "y" },
		"env":      func(a *Action) { a.Env[0] = "B=3" },
		"input":    func(a *Action) { a.Inputs[0].Content = Bytes([]byte("c")) },
		"name":     func(a *Action) { a.Inputs[0].Name = "m/c.ir" },
		"output":   func(a *Action) { a.Outputs = a.Outputs[:1] },
	} {
		a := sample()
		change(a)
		if key, err := a.Key(ReadDigest); err != nil || key == base {
			t.Errorf("another %s: key %v, %v", name, key, err)
		}
	}
	a := sample()
	a.Label, a.Cost = "other", Estimate{Memory: 1}
	if key, err := a.Key(ReadDigest); err != nil || key != base {
		t.Errorf("label and estimate change the key: %v, %v", key, err)
	}
}

func TestKeyRefusesBadNames(t *testing.T) {
	for _, name := range []string{"", "/etc/passwd", "../x", "a/../b", "a//b", "m/b.ir"} {
		a := sample()
		a.Inputs = append(a.Inputs, File{Name: name, Content: Bytes(nil)})
		if _, err := a.Key(ReadDigest); err == nil || (!strings.Contains(err.Error(), path.Base(name)) && name != "") {
			t.Errorf("input %q: error %v", name, err)
		}
	}
	a := sample()
	broken := errors.New("broken")
	a.Inputs[0].Content = Content{Load: func() ([]byte, error) { return nil, broken }}
	if _, err := a.Key(ReadDigest); !errors.Is(err, broken) {
		t.Errorf("unreadable input: error %v", err)
	}
}

func TestSharedContentIsDigestedOnce(t *testing.T) {
	loads := 0
	c := Shared(func() ([]byte, error) { loads++; return []byte("text"), nil })
	for range 3 {
		if d, err := c.Digest(); err != nil || d != DigestOf([]byte("text")) || c.Size() != 4 {
			t.Errorf("%v, %v, %d bytes", d, err, c.Size())
		}
	}
	if loads != 1 {
		t.Errorf("loaded %d times", loads)
	}
}
