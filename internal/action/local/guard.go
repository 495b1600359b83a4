package local

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/warpld/warpld/internal/action"
)

// runGuarded runs a tool within the limits of the action. It reports whether it ended the tool
// because it stalled, which it does by calling cancel.
func runGuarded(cmd *exec.Cmd, a *action.Action, cancel func()) (stalled bool, err error) {
	if err := cmd.Start(); err != nil {
		return false, err
	}
	limit(cmd.Process.Pid, unix.RLIMIT_DATA, a.MemoryLimit)
	limit(cmd.Process.Pid, unix.RLIMIT_FSIZE, a.FileLimit)
	limit(cmd.Process.Pid, unix.RLIMIT_CPU, cpuSeconds(a))
	if a.Stall <= 0 {
		return false, cmd.Wait()
	}
	ended, answer := make(chan struct{}), make(chan bool)
	go func() { answer <- stalls(cmd.Process.Pid, a.Stall, ended) }()
	waited := make(chan error)
	go func() { waited <- cmd.Wait() }()
	select {
	case err = <-waited:
		close(ended)
		<-answer
	case stalled = <-answer:
		if stalled {
			cancel()
		}
		err = <-waited
	}
	return stalled, err
}

// cpuSeconds returns the action's limit of processor time in the system's unit.
func cpuSeconds(a *action.Action) int64 {
	if a.CPULimit <= 0 {
		return 0
	}
	return max(1, int64(a.CPULimit/time.Second))
}

// usedCPU reports whether a tool was killed because it reached the limit of processor time.
func usedCPU(r *action.Result, a *action.Action) bool {
	limit := time.Duration(cpuSeconds(a)) * time.Second
	// The kernel kills at a tick, and its sums for an ended process may be a bit lower.
	return limit > 0 && r.Signal == unix.SIGKILL.String() && r.Usage.CPU > limit*9/10
}

// limit bounds what a process can take of a resource: data, which is its heap and its
// threads' stacks but not address space that it only reserves, the size of a file that it
// writes, or processor time. Zero is no limit, and a lower one stays. Where the system
// has no such limit, there is none.
func limit(pid, resource int, most int64) {
	var old unix.Rlimit
	if most > 0 && unix.Prlimit(pid, resource, nil, &old) == nil && uint64(most) < old.Cur {
		unix.Prlimit(pid, resource, &unix.Rlimit{Cur: uint64(most), Max: uint64(most)}, nil)
	}
}

// wantedMemory reports whether a tool failed for lack of memory: some tools print it, others
// crash.
func wantedMemory(r *action.Result, limit int64) bool {
	if limit <= 0 {
		return false
	}
	for _, words := range []string{"out of memory", "bad_alloc", "annot allocate memory"} {
		if bytes.Contains(r.Stderr, []byte(words)) {
			return true
		}
	}
	return r.Usage.Memory > limit/2
}

// looks is how often a process is looked at within the time after which it counts
// as stalled, and useful the part of that time for which it must have computed.
const (
	looks  = 20
	useful = 600
)

// stalls waits until a process has used next to no processor for a time. It comes
// back with false if it cannot know that or if the process has ended.
func stalls(pid int, limit time.Duration, ended <-chan struct{}) bool {
	ticker := time.NewTicker(limit / looks)
	defer ticker.Stop()
	var before time.Duration
	for idle := 0; idle < looks; idle++ {
		select {
		case <-ended:
			return false
		case <-ticker.C:
		}
		used, held, err := processor(pid)
		if err != nil {
			return false
		}
		if held || used-before > limit/useful {
			before, idle = used, -1
		}
	}
	return true
}

// tick is the unit of times in /proc.
const tick = time.Second / 100

// processor returns the CPU time of all threads of a process, and reports whether it is
// stopped or waits for a disk.
func processor(pid int) (used time.Duration, held bool, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false, err
	}
	// The name may have blanks and parentheses in it. After it come the state and,
	// as the 12th and 13th word, the time in the program and that in the kernel.
	words := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(words) < 13 {
		return 0, false, fmt.Errorf("/proc/%d/stat has %d words", pid, len(words))
	}
	for _, word := range words[11:13] {
		n, err := strconv.ParseInt(string(word), 10, 64)
		if err != nil {
			return 0, false, err
		}
		used += time.Duration(n) * tick
	}
	return used, bytes.ContainsAny(words[0], "TtD"), nil
}
