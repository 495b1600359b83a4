package main

import (
	"os"
	"syscall"
	"testing"
)

// TestUntilSignal checks that the signal is known that ended the context.
func TestUntilSignal(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		ctx, received := untilSignal()
		if err := syscall.Kill(os.Getpid(), signal); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if got := <-received; got != signal {
			t.Errorf("%v arrived as %v", signal, got)
		}
	}
}
