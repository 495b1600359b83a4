//go:build realtools

package clang

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// knobs are those that are known of NVIDIA's compiler.
var knobs = strings.Fields(`
	dword_4F87C60
	import-instr-limit import-hot-multiplier import-cold-multiplier dword_4FAB120 dword_4FAA770 summary-file function-import
	disable-thinlto-funcattrs thinlto-workload-def
	inline-budget inline-total-budget inline-adj-budget1 nv-inline-all profuseinline inline-switchctrl inline-threshold
	function-inline-cost-multiplier
	wholeprogramdevirt
	-gen-lto -link-lto -lto -olto --device-c --force-device-c --trace --trace-lto -optimize-unused-variables -has-global-host-info
	-host-ref-ek -host-ref-ik -host-ref-ec -host-ref-ic -host-ref-eg -host-ref-ig
	EnableSplitLTOUnit UnifiedLTO ThinLTO`)

// A row is one of the table of knobs in docs/clang.md.
type row struct{ theirs, here, initial string }

func knobTable(t *testing.T) []row {
	f, err := os.Open(filepath.Join("..", "..", "..", "docs", "clang.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []row
	in := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		cells := strings.Split(lines.Text(), "|")
		switch {
		case strings.HasPrefix(lines.Text(), "| NVIDIA's |"):
			in = true
		case len(cells) != 5:
			in = false
		case in:
			rows = append(rows, row{cells[1], strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])})
		}
	}
	return rows
}

var optionName = regexp.MustCompile("`(-[a-z][a-z-]+)`")

// TestKnobs: docs/clang.md says of each knob what there is for it; LLVM takes the options
// that it names, and their defaults are LLVM's.
func TestKnobs(t *testing.T) {
	rows := knobTable(t)
	for _, knob := range knobs {
		found := 0
		for _, r := range rows {
			found += strings.Count(r.theirs, "`"+knob+"`")
		}
		if found != 1 {
			t.Errorf("docs/clang.md has %s %d times in its table of knobs", knob, found)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty.ll")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	defaults := run(t, "opt-22", "-print-all-options", "-passes=verify", empty, "-o", os.DevNull)
	files := map[string][]string{"full": sample(t, ".bc", bitcode()...), "thin": sample(t, ".bc", thin()...)}
	tried := 0
	for _, r := range rows {
		for _, name := range optionName.FindAllStringSubmatch(r.here, -1) {
			option := name[1]
			initial := regexp.MustCompile(`(?m)^ +-` + option + ` += (\S+)`).FindStringSubmatch(defaults)
			if initial == nil {
				continue // it is one of warpld's own, or a list, which has no default
			}
			tried++
			lto := "full"
			if strings.Contains(r.here, "in ThinLTO") {
				lto = "thin"
			}
			if number(t, r.initial) != number(t, initial[1]) {
				t.Errorf("%s: LLVM's default is %s, not %s", option, initial[1], r.initial)
			}
			mustLink(t, files[lto], "--warpld-lto="+lto, "--warpld-llvm-options="+option+"="+r.initial)
		}
	}
	mustLink(t, files["full"], "--warpld-llvm-options=-wholeprogramdevirt-skip=nothing")
	const all = 9
	if tried != all {
		t.Errorf("%d options of LLVM were tried, not %d", tried, all)
	}
}

func number(t *testing.T, text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}
