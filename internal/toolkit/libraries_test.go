package toolkit

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLibraries looks at a program that every system has.
func TestLibraries(t *testing.T) {
	program, err := Program("sh", os.Getenv)
	if err != nil || !filepath.IsAbs(program) {
		t.Fatalf("%s, %v", program, err)
	}
	libraries, err := Libraries(program, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range libraries {
		if ofTheSystem().MatchString(name) || checkLibrary(path) != nil {
			t.Errorf("%s is %s", name, path)
		}
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Libraries(script, os.Getenv); err == nil {
		t.Error("a script has libraries")
	}
	if _, err := Program("no-such-program", os.Getenv); err == nil {
		t.Error("found what is not there")
	}
}
