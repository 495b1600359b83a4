// Driverfunctions prints the functions that nvlink takes for functions of the driver, one
// a line. It asks nvlink about every name in the toolkit's headers and in libcudadevrt.
// Package gpu has the list; a test of suite compare checks it.
//
//	WARPLD_TEST_CUDA=/usr/local/cuda go run ./test/tools/driverfunctions
package main

import (
	"fmt"
	"os"

	"github.com/warpld/warpld/test/kit"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "driverfunctions:", err)
		os.Exit(1)
	}
}

func run() error {
	toolkits, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "driverfunctions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, tk := range toolkits {
		names, err := tk.FunctionNames()
		if err != nil {
			return err
		}
		defined, err := tk.DriverFunctions(dir, names)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d of %d names\n", tk.Version, len(defined), len(names))
		for _, name := range defined {
			fmt.Println(name)
		}
	}
	return nil
}
