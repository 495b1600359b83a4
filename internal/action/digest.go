package action

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// A Digest names bytes by their SHA-256 and their length, as the Remote
// Execution API does.
type Digest struct {
	Hash string // hexadecimal
	Size int64
}

func (d Digest) String() string { return fmt.Sprintf("%s/%d", d.Hash, d.Size) }

// DigestOf is the digest of bytes in memory.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest{hex.EncodeToString(sum[:]), int64(len(b))}
}

// Digest reads the content and names it.
func (c Content) Digest() (Digest, error) {
	if c.Sum != nil {
		return c.Sum()
	}
	r, err := c.Open()
	if err != nil {
		return Digest{}, err
	}
	defer r.Close()
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return Digest{}, fmt.Errorf("digest of %s: %w", c.Path, err)
	}
	return Digest{hex.EncodeToString(h.Sum(nil)), n}, nil
}

// A Digester names the bytes of a file; ReadDigest is one that reads them.
type Digester func(File) (Digest, error)

// ReadDigest reads a file and names it.
func ReadDigest(f File) (Digest, error) { return f.Content.Digest() }

// A Blob is bytes and their digest.
type Blob struct {
	Digest
	Content Content
}

// A Place is what the messages of an action say of the machines that may run it.
// The zero Place is any machine, with the tool as one of the inputs.
type Place struct {
	// Platform are the properties that the machine must have, as NAME=value.
	Platform []string
	// Tool is where the tool lies on the machine. Its contents are no part of the
	// messages then, so a property must stand for them.
	Tool string
}

// An Encoding is an action in the messages of the Remote Execution API.
type Encoding struct {
	// Key is the digest of the Action message, which names a Command and a tree of
	// input directories.
	Key Digest
	// Messages are those three; Files are the tool and the inputs. Together they
	// are what a server must hold to run the action.
	Messages, Files []Blob
}

// Key is the digest of the action as the Remote Execution API defines it. The tool
// is one of the inputs, so a new version of it is a new key. Labels, estimates
// and the places where the inputs lie are no part of it.
func (a *Action) Key(digest Digester) (Digest, error) {
	e, err := a.Encode(digest, Place{})
	if err != nil {
		return Digest{}, err
	}
	return e.Key, nil
}

// Encode writes the action down in the messages of the Remote Execution API.
func (a *Action) Encode(digest Digester, at Place) (*Encoding, error) {
	e := &Encoding{}
	root := &directory{children: map[string]*directory{}}
	files := a.Inputs
	if at.Tool == "" {
		files = append([]File{a.Tool}, a.Inputs...)
	}
	for _, f := range files {
		d, err := digest(f)
		if err != nil {
			return nil, fmt.Errorf("%s: input %s: %w", a.Label, f.Name, err)
		}
		if err := root.add(f.Name, fileNode{digest: d, executable: f.Name == a.Tool.Name}); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Label, err)
		}
		e.Files = append(e.Files, Blob{d, f.Content})
	}
	command := e.message(a.encodeCommand(at))
	e.Key = e.message(encodeAction(command, root.encode(e), a.Limit, at))
	return e, nil
}

func (e *Encoding) message(b []byte) Digest {
	d := DigestOf(b)
	e.Messages = append(e.Messages, Blob{d, Bytes(b)})
	return d
}

// A directory is one level of the input tree.
type directory struct {
	files    []fileNode
	children map[string]*directory
}

type fileNode struct {
	name       string
	digest     Digest
	executable bool
}

// add puts a file at its slash-separated place below d.
func (d *directory) add(name string, f fileNode) error {
	if name == "" || path.IsAbs(name) || path.Clean(name) != name || strings.HasPrefix(name, "..") {
		return fmt.Errorf("input name %q is not a clean relative path", name)
	}
	for {
		first, rest, nested := strings.Cut(name, "/")
		if !nested {
			break
		}
		if d.children[first] == nil {
			d.children[first] = &directory{children: map[string]*directory{}}
		}
		d, name = d.children[first], rest
	}
	if slices.ContainsFunc(d.files, func(g fileNode) bool { return g.name == name }) {
		return fmt.Errorf("two inputs are named %q", name)
	}
	f.name = name
	d.files = append(d.files, f)
	return nil
}
