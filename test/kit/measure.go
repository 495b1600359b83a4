package kit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Usage is what a process and all that it started and waited for needed: seconds,
// and the most megabytes that they had at one time.
type Usage struct{ Wall, CPU, Memory float64 }

// Medians are those of each metric.
func Medians(used []Usage) Usage {
	median := func(of func(Usage) float64) float64 {
		var list []float64
		for _, u := range used {
			list = append(list, of(u))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	return Usage{Wall: median(func(u Usage) float64 { return u.Wall }),
		CPU:    median(func(u Usage) float64 { return u.CPU }),
		Memory: median(func(u Usage) float64 { return u.Memory })}
}

// Measure runs a command that must succeed.
func Measure(cmd *exec.Cmd) (Usage, error) {
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return Usage{}, err
	}
	done, peak := make(chan struct{}), make(chan int64)
	go func() { peak <- watchMemory(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	u := Usage{Wall: time.Since(start).Seconds()}
	close(done)
	pages := <-peak
	if err != nil {
		return u, fmt.Errorf("%q: %w\n%s", cmd.Args, err, said.String())
	}
	state := cmd.ProcessState
	u.CPU = (state.UserTime() + state.SystemTime()).Seconds()
	// A process may be gone before anybody looks; its own peak is known all the same.
	own := state.SysUsage().(*syscall.Rusage).Maxrss << 10
	u.Memory = float64(max(pages*int64(os.Getpagesize()), own)) / (1 << 20)
	return u, nil
}

// watchMemory adds up the memory of a process and its descendants, over and over, and
// gives the largest sum, in pages.
func watchMemory(pid int, done <-chan struct{}) (peak int64) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return peak
		case <-tick.C:
			peak = max(peak, memoryOf(pid))
		}
	}
}

func memoryOf(pid int) (pages int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		pages, _ = strconv.ParseInt(fields[1], 10, 64)
	}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // none: it has ended
	for _, thread := range threads {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for _, child := range strings.Fields(string(children)) {
			if number, err := strconv.Atoi(child); err == nil {
				pages += memoryOf(number)
			}
		}
	}
	return pages
}
