package assemble

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/compose/units"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
)

// With -v ptxas prints, in this order, a line about each kernel whose limit of registers an option
// sets, a line about the memory of the module, and a paragraph about each kernel. Kernels are in
// the order of the file:
//
//	ptxas info    : Overriding maximum register limit 256 for 'k' with  32 of maxrregcount option
//	ptxas info    : 0 bytes gmem, 8 bytes cmem[4]
//	ptxas info    : Compiling entry function 'k' for 'sm_80'
//	ptxas info    : Function properties for k
//	    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//	ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]
//	ptxas info    : Compile time = 1.086 ms
var (
	limitLine   = pattern.Lazy(`^ptxas info    : Overriding maximum register limit \d+ for '([^']+)' with `)
	memoryLine  = pattern.Lazy(`^ptxas info    : \d+ bytes gmem`)
	entryLine   = pattern.Lazy(`^ptxas info    : Compiling entry function '([^']+)' for '`)
	kernelLines = pattern.Lazy(
		`^(ptxas info    : (Function properties for |Used \d+ registers|Compile time = )|    \d+ bytes )`)
	ownMemory = pattern.Lazy(`(, )?\d+ bytes cmem\[4\]`)
)

// An account is what ptxas prints about a unit with -v.
type account struct {
	memory          string
	limits, kernels map[string]string // lines by kernel
}

// readAccount reads it. The second result is the first line that is something else.
func readAccount(text string) (a account, stray string) {
	a.limits, a.kernels = map[string]string{}, map[string]string{}
	kernel := ""
	for line := range strings.Lines(text) {
		entry, limit := entryLine().FindStringSubmatch(line), limitLine().FindStringSubmatch(line)
		switch {
		case limit != nil && a.memory == "":
			a.limits[limit[1]] = line
		case entry != nil && a.memory != "":
			kernel = entry[1]
			a.kernels[kernel] = line
		case kernel == "" && a.memory == "" && memoryLine().MatchString(line):
			a.memory = line
		case kernel != "" && kernelLines().MatchString(line):
			a.kernels[kernel] += line
		default:
			return a, strings.TrimSpace(line)
		}
	}
	return a, ""
}

// isVerbose reports whether ptxas prints an account.
func (j *job) isVerbose() bool { return hasOption(j.arguments, "verbose") }

// messages returns the first message about a unit that is no part of an account, or "".
func (j *job) messages(r *action.Result) string {
	text := string(r.Stdout) + string(r.Stderr)
	if !j.isVerbose() {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		return first
	}
	_, stray := readAccount(text)
	return stray
}

// said joins the accounts of the units to that of the program. The memory of the module is
// that of every unit, but for the table of addresses in bank 4, which has those of external
// functions of the kernels so far.
func (j *job) said() ([]byte, error) {
	if !j.isVerbose() {
		return nil, nil
	}
	var accounts []account
	for _, r := range j.results {
		one, _ := readAccount(string(r.Stdout) + string(r.Stderr))
		accounts = append(accounts, one)
	}
	memory := accounts[j.program.First].memory
	for _, one := range accounts {
		if ownMemory().ReplaceAllString(one.memory, "") != ownMemory().ReplaceAllString(memory, "") {
			return nil, refuse("ptxas has different words about the memory of two units")
		}
		if longer(one.memory, memory) {
			memory = one.memory
		}
	}
	var text bytes.Buffer
	for _, k := range j.program.Kernels {
		text.WriteString(accounts[k.Unit].limits[k.Name])
	}
	text.WriteString(memory)
	for _, k := range j.program.Kernels {
		lines := accounts[k.Unit].kernels[k.Name]
		if lines == "" {
			return nil, refuse("ptxas has no words about the kernel '%s'", message.Demangle(k.Name))
		}
		text.WriteString(lines)
	}
	return text.Bytes(), nil
}

// longer reports whether a line has more bytes in bank 4 than another.
func longer(a, b string) bool {
	size := func(line string) (n int) {
		fmt.Sscanf(strings.TrimPrefix(ownMemory().FindString(line), ", "), "%d", &n)
		return n
	}
	return size(a) > size(b)
}

// tooSlow is the error for a unit that reached the time limit.
func (j *job) tooSlow(u *units.Unit) error {
	return &message.Message{Severity: message.Fatal, ID: "ptxas-failed",
		Text:  "ptxas did not finish within the time limit on " + j.names(u),
		Notes: []string{fmt.Sprintf("the limit is %v", j.whole.Limit)},
		Hint:  "--warpld-time-limit=SECONDS sets the limit; --warpld-assemble=whole assembles the program in one run"}
}

// reportSlow names the kernels that took long, with their share of the time of all.
func (j *job) reportSlow() {
	var total time.Duration
	var slow []int
	for i, r := range j.results {
		if !r.Cached {
			total += r.Usage.Wall
			slow = append(slow, i)
		}
	}
	slices.SortStableFunc(slow, func(a, b int) int {
		return cmp.Compare(j.results[b].Usage.Wall, j.results[a].Usage.Wall)
	})
	for place, i := range slow {
		wall := j.results[i].Usage.Wall
		text := fmt.Sprintf("ptxas took %.1f s for %s, %.0f %% of the time for the program", wall.Seconds(),
			j.names(&j.program.Units[i]), 100*wall.Seconds()/total.Seconds())
		const shown = 5
		switch {
		case j.a.s.Slow > 0 && wall >= j.a.s.Slow:
			j.a.s.Report(&message.Message{Severity: message.Info, ID: "slow-kernel", Tool: "warpld", Text: text})
		case place < shown:
			j.a.s.Verbosef("%s", text)
		}
	}
}
