package device

import (
	"runtime"
	"runtime/debug"
)

// A readingAhead reads inputs side by side, a few before the passes over them, which
// go one after the other. Who is done first does not show.
type readingAhead struct {
	queue chan chan readInput // in the order of the inputs
	over  chan struct{}
}

// A readInput is an input that was read.
type readInput struct {
	object *object
	err    error
	fault  any // a panic, for the goroutine that waits for this
}

func readAhead(inputs []Input, rules *ruleSet) *readingAhead {
	const perReader = 16
	readers := min(runtime.GOMAXPROCS(0), len(inputs))
	r := &readingAhead{queue: make(chan chan readInput, perReader*readers), over: make(chan struct{})}
	type task struct {
		in   *Input
		done chan readInput
	}
	tasks := make(chan task, perReader*readers)
	go func() {
		defer close(tasks)
		for i := range inputs {
			done := make(chan readInput, 1)
			select {
			case r.queue <- done:
				tasks <- task{&inputs[i], done}
			case <-r.over:
				return
			}
		}
	}()
	for range readers {
		go func() {
			debug.SetPanicOnFault(true) // of an input that is cut while it is read
			for t := range tasks {
				t.done <- readSafely(t.in, rules)
			}
		}()
	}
	return r
}

func readSafely(in *Input, rules *ruleSet) (read readInput) {
	defer func() { read.fault = recover() }()
	read.object, read.err = readObject(in, rules)
	return read
}

// next is the next input: what it gives waits for it.
func (r *readingAhead) next() func() (*object, error) {
	done := <-r.queue
	return func() (*object, error) {
		read := <-done
		if read.fault != nil {
			panic(read.fault)
		}
		return read.object, read.err
	}
}

// stop ends the reading.
func (r *readingAhead) stop() { close(r.over) }
