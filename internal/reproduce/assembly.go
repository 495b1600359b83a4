package reproduce

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/warpld/warpld/internal/assemble"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/output"
	"github.com/warpld/warpld/internal/toolkit"
	"github.com/warpld/warpld/internal/version"
)

// An assembly is assembly.json, the first file of a packed difference.
type assembly struct {
	Format    int      `json:"format"`
	Warpld    string   `json:"warpld"`
	CUDA      string   `json:"cuda"`
	Arguments []string `json:"arguments"` // of ptxas, for input.ptx
}

// PackAssembly packs a composed cubin that is not ptxas's into a file beside an output: the PTX,
// the arguments of ptxas and both cubins. It returns the message about it.
func PackAssembly(beside string, cuda toolkit.Version, d assemble.Difference) (*message.Message, error) {
	path := beside + ".difference.tar.zst"
	text, err := json.MarshalIndent(assembly{Format, version.Version, cuda.String(), d.Arguments}, "", " ")
	if err != nil {
		return nil, err
	}
	m := &message.Message{Severity: message.Warning, Extra: true, ID: "composed-differs", Tool: "warpld",
		Text:  "the program that was assembled kernel by kernel is not that of ptxas, which is used",
		Notes: []string{"the PTX and both results are packed in " + path},
		Hint:  "please report this, and give --warpld-assemble=whole until it is corrected"}
	if len(d.Whole) == 0 {
		m.Notes = append(m.Notes, "ptxas refuses the whole program")
	}
	reader, writer := io.Pipe()
	defer reader.Close()
	go func() { writer.CloseWithError(writeAssembly(writer, text, &d)) }()
	if err := output.Replace(path, reader); err != nil {
		m.Notes = []string{fmt.Sprintf("they could not be packed: %v", err)}
	}
	return m, nil
}

func writeAssembly(w io.Writer, manifest []byte, d *assemble.Difference) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range []struct {
		name string
		data []byte
	}{{"assembly.json", manifest}, {"input.ptx", d.PTX}, {"composed.cubin", d.Composed}, {"whole.cubin", d.Whole}} {
		if err == nil {
			err = writeFile(t, f.name, int64(len(f.data)), bytes.NewReader(f.data))
		}
	}
	return errors.Join(err, t.Close(), z.Close())
}
