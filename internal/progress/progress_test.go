package progress

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// at is a display of a link that began some seconds ago.
func at(seconds int, out *bytes.Buffer, form Form, earlier ...Step) *Display {
	d := &Display{Out: out, Parallel: 2, Earlier: func() []Step { return earlier }, Width: func() int { return 30 },
		form: form, start: time.Now().Add(-time.Duration(seconds) * time.Second), doneBy: map[string]int{}}
	return d
}

func TestStatus(t *testing.T) {
	earlier := []Step{{"compile", 4 * time.Second}, {"assemble", 6 * time.Second}, {"assemble", 2 * time.Second}}
	var out bytes.Buffer
	d := at(9, &out, Line, earlier...)
	d.expect()
	a := d.Begin("compile")
	a.since = a.since.Add(-3 * time.Second)
	// 4 and 8 seconds of work less 3, for two at once.
	if got, want := d.status(true), "0 of about 3 done, 1 running (compile), 9 s, about 4 s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.End(a, Cache)
	d.End(d.Begin("assemble"), Remote)
	if got, want := d.status(true), "2 of about 3 done, 1 cached, 1 remote, 9 s, about 4 s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.End(d.Begin("assemble"), Ran)
	if got, want := d.status(true), "3 done, 1 cached, 1 remote, 9 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Messages do not get mixed up with the line, which is as wide as the terminal at most.
func TestMessagesAboveTheLine(t *testing.T) {
	var out, stdout bytes.Buffer
	d := at(9, &out, Line)
	d.Begin("an action with a rather long name")
	d.draw()
	d.Write([]byte("message\n"))
	d.draw()
	d.Over(&stdout).Write([]byte("text\n"))
	d.Close()
	line := eraseLine + "warpld: 0 done, 1 running (an"
	if got, want := out.String(), line+eraseLine+"message\n"+line+eraseLine; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if stdout.String() != "text\n" {
		t.Errorf("stdout: %q", stdout.String())
	}
}

func TestQuickLinksShowNothing(t *testing.T) {
	for _, form := range []Form{None, Line, Plain} {
		var out bytes.Buffer
		d := &Display{Out: &out}
		d.Start(form)
		d.End(d.Begin("compile"), Ran)
		d.Close()
		if out.Len() > 0 {
			t.Errorf("form %d shows %q", form, out.String())
		}
	}
}

func TestEvents(t *testing.T) {
	var out bytes.Buffer
	d := &Display{Out: &out}
	d.Start(JSON)
	d.End(d.Begin("compile"), Cache)
	d.Close()
	var got []string
	for line := range strings.Lines(out.String()) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		e.Elapsed = 0
		text, _ := json.Marshal(e)
		got = append(got, string(text))
	}
	want := `{"event":"begin","action":"compile","elapsed_us":0,"done":0,"running":1,"cached":0,"remote":0}
{"event":"end","action":"compile","source":"cache","elapsed_us":0,"done":1,"running":0,"cached":1,"remote":0}
{"event":"finish","elapsed_us":0,"done":1,"running":0,"cached":1,"remote":0}`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
}
