package service

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// builders are programs that run the links of one build.
var builders = []string{"make", "gmake", "ninja", "samu", "cmake", "bazel", "scons", "meson", "cargo", "xmake", "buck2"}

// invocation returns an identifier that the links of one build share: the one in
// WARPLD_INVOCATION_ID, or one made of the outermost program that runs builds, or of this
// process.
func invocation(env func(string) string) string {
	if id := env("WARPLD_INVOCATION_ID"); id != "" {
		return id
	}
	chosen := os.Getpid()
	for pid, depth := os.Getppid(), 0; pid > 1 && depth < 64; depth++ {
		name, parent, _, err := process(pid)
		if err != nil {
			break
		}
		if slices.Contains(builders, name) {
			chosen = pid
		}
		pid = parent
	}
	_, _, started, _ := process(chosen)
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it the rest must do
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", boot, chosen, started))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8: made by other rules
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// process returns the name of a process, its parent, and when it was started.
func process(pid int) (name string, parent int, started string, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, "", err
	}
	// The name is in parentheses and may have some in it. The second word after it is the
	// parent, and the twentieth the time in ticks since the machine was started.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	words := strings.Fields(string(text[max(end, 0):]))
	if open < 0 || end < open || len(words) < 21 {
		return "", 0, "", fmt.Errorf("/proc/%d/stat can't be read", pid)
	}
	parent, err = strconv.Atoi(words[2])
	return string(text[open+1 : end]), parent, words[20], err
}
