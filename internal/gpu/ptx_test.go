package gpu

import "testing"

func TestPTXSince(t *testing.T) {
	for version, want := range map[[2]int]Release{{9, 0}: {13, 0}, {8, 6}: {12, 7}, {7, 8}: {11, 8}} {
		if got, known := PTXSince(version[0], version[1]); !known || got != want {
			t.Errorf("PTX %v: %v, %v", version, got, known)
		}
	}
	if _, known := PTXSince(99, 0); known {
		t.Error("PTX 99.0 is known")
	}
	for i := 1; i < len(ptxVersions); i++ {
		if !ptxVersions[i-1].since.Before(ptxVersions[i].since) {
			t.Errorf("row %d is not in order", i)
		}
	}
}

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]Release{"13.0": {13, 0}, "12.10": {12, 10}, "13": {}, "": {}, "x.y": {},
		"13.0.1": {}, "0.1": {}} {
		got, ok := ParseRelease(text)
		if ok != (want != Release{}) || (ok && got != want) {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}
