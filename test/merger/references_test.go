//go:build realtools

package merger

import (
	"strings"
	"testing"
)

// TestReferences links files that refer to what others define, in orders and with
// definitions that nvcc's own code rarely has: slices of fast mode do.
func TestReferences(t *testing.T) {
	forEachSetting(t, func(t *testing.T, s setting) {
		for _, names := range []string{
			"call weak", "weak call", "address weak", "weak address", "call address weak", "address call weak", "address weak call",
			"launched launches", "launches launched", "reads weakvariable", "weakvariable reads",
			"call launches reads launched weakvariable weak", "weak weakvariable launched reads launches call address",
		} {
			p, built := program{names: strings.Fields(names)}, map[string]string{}
			for _, name := range p.names {
				path := "src/" + name + ".ptx"
				out, err := s.compileOnce(path, name+".cubin", read(t, path), []string{"-w", "-arch=" + s.arch, "-rdc=true", "-cubin"})
				if err != nil {
					t.Fatal(err)
				}
				built[name] = out
			}
			t.Run(names, func(t *testing.T) { s.compare(t, p, built) })
		}
	})
}
