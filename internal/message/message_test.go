package message

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

func TestRenderPlainKeepsNvlinksFirstLine(t *testing.T) {
	m := &Message{Severity: Error, Text: "Undefined reference to '_Z3foofi' in 'lto.cubin'", Symbol: "_Z3foofi",
		Notes: []string{"referred to by a.o"}, Hint: "link the object that defines it"}
	want := "nvlink error   : Undefined reference to '_Z3foofi' in 'lto.cubin'\n" +
		"    note: _Z3foofi is foo(float, int)\n    note: referred to by a.o\n    hint: link the object that defines it\n"
	if got := (Style{}).Render(m); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		severities []Severity
		policy     Policy
		want       int
	}{
		{nil, Policy{}, 0},
		{[]Severity{Info, Warning}, Policy{}, 0},
		{[]Severity{Warning}, Policy{WarningsAsErrors: true}, 255},
		{[]Severity{Warning}, Policy{WarningsAsErrors: true, NoWarnings: true}, 255},
		{[]Severity{Warning}, Policy{NoWarnings: true}, 0},
		{[]Severity{Warning}, Policy{WarningsAsErrors: true, NoInfos: true}, 0},
		{[]Severity{Error}, Policy{}, 255},
		{[]Severity{Error, Fatal}, Policy{}, 1},
	}
	for _, strict := range []bool{false, true} {
		l := NewLog(&bytes.Buffer{}, Style{})
		l.SetPolicy(Policy{WarningsAsErrors: true, Strict: strict})
		l.Report(&Message{Severity: Warning, Extra: true, Text: "x"})
		if failed := l.ExitCode() != 0; failed != strict {
			t.Errorf("a warning that nvlink doesn't have, strict %v: exit code %d", strict, l.ExitCode())
		}
	}
	for _, test := range tests {
		l := NewLog(&bytes.Buffer{}, Style{})
		l.SetPolicy(test.policy)
		for _, s := range test.severities {
			l.Report(&Message{Severity: s, Text: "x"})
		}
		if got := l.ExitCode(); got != test.want {
			t.Errorf("%v under %+v: exit code %d, want %d", test.severities, test.policy, got, test.want)
		}
	}
}

// TestWhatOptionsHide holds -w and -disable-infos to what nvlink makes of them:
// the one hides nothing, the other warnings.
func TestWhatOptionsHide(t *testing.T) {
	infos := Policy{NoInfos: true}
	tests := []struct {
		m      Message
		policy Policy
		shown  bool
	}{
		{Message{Severity: Info}, Policy{NoInfos: true, NoWarnings: true}, true},
		{Message{Severity: Warning}, Policy{NoWarnings: true}, true},
		{Message{Severity: Warning}, infos, false},
		{Message{Severity: Warning, PolicyExempt: true}, infos, true},
		{Message{Severity: Warning, Tool: "ptxas"}, infos, true},
		{Message{Severity: Error}, infos, true},
		{Message{Severity: Info, Extra: true}, infos, false},
		{Message{Severity: Warning, Extra: true}, Policy{NoWarnings: true}, false},
		{Message{Severity: Warning, Extra: true}, Policy{NoWarnings: true, Strict: true}, true},
	}
	for _, test := range tests {
		var out bytes.Buffer
		l := NewLog(&out, Style{})
		l.SetPolicy(test.policy)
		l.Report(&test.m)
		if (out.Len() > 0) != test.shown {
			t.Errorf("%+v under %+v: printed %q", test.m, test.policy, out.String())
		}
	}
}

func TestOfKeepsWrappedMessages(t *testing.T) {
	inner := &Message{Severity: Fatal, Text: "inner"}
	list := List{{Severity: Info, Text: "first"}, inner}
	if got := Of(fmt.Errorf("outer: %w", inner)); len(got) != 1 || got[0] != inner {
		t.Errorf("Of lost the message: %v", got)
	}
	if got := Of(fmt.Errorf("outer: %w", list)); len(got) != 2 || got[1] != inner {
		t.Errorf("Of lost the list: %v", got)
	}
	if got := Of(errors.New("plain")); len(got) != 1 || got[0].Severity != Fatal || got[0].Text != "plain" {
		t.Errorf("Of(plain) = %+v", got)
	}
	if got := Of(nil); got != nil {
		t.Errorf("Of(nil) = %v", got)
	}
}
