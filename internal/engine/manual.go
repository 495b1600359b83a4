package engine

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
)

// The stages of a link that a worker does by hand, for people who want to see the result of
// one of them. --verbose-keep prints the commands; worker/manual.go parses them and has their
// usage.
const (
	AddModule   = "-lto-add-module"
	PostLink    = "-lto-post-link"
	NVVMCompile = "-lto-nvvm-compile"
	Carry       = "-lto-carry"
	Rename      = "-lto-rename"
)

// ArgumentsFrom begins an argument that stands for those in a file, each of which
// ends in a NUL.
const ArgumentsFrom = "@"

// Shards splits PTX into its shards. libnvvm returns them in the order in which its threads
// finished; they are sorted by their contents, so that the same program results in the same
// cubin.
func Shards(text []byte, sizes []int64) ([][]byte, error) {
	if len(sizes) <= 1 {
		return [][]byte{text}, nil
	}
	var shards [][]byte
	for i, size := range sizes {
		if size < 0 || size > int64(len(text)) {
			return nil, fmt.Errorf("shard %d of %d has %d bytes, but %d are left", i, len(sizes), size, len(text))
		}
		shards = append(shards, text[:size])
		text = text[size:]
	}
	if len(text) > 0 {
		return nil, fmt.Errorf("%d bytes belong to none of %d shards", len(text), len(sizes))
	}
	slices.SortFunc(shards, bytes.Compare)
	return shards, nil
}

// ShardFile returns the path of one of several shards if the path of the whole were file. Each
// is in a directory of its own, because ptxas may record the names of its files.
func ShardFile(file string, place, count int) string {
	if count <= 1 {
		return file
	}
	return filepath.Join(filepath.Dir(file), fmt.Sprintf("shard-%05d", place), filepath.Base(file))
}
