package ptx

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `// made by hand
.version 9.0
.target sm_80, debug
.address_size 64
.file 1 "dir/{file}.cu", 12, 34
.weak .func (.param .b32 result) add
(
	.param .b32 add_param_0
) .noreturn
;
.visible .global .attribute(.managed) .align 4 .u32 counter = 1; /* } */
.extern .const .align 4 .b8 table[4][2];
.global .align 1 .b8 $str$1[5] = {37, 100, 10, 0};
.visible .global .align 8 .u64 tables[2] = {add, generic(counter)+4};
.weak .func (.param .b32 result) add(.param .b32 add_param_0)
{
	ret;
}
.func call(.param .u64 .ptr .global .align 4 p) { ret; }
.visible .entry main(
	.param .u64 main_param_0
) .maxntid 32, 1, 1 .pragma "a;b";
{
	.reg .b32 %r<4>; .shared .align 4 .b8 inner[4]; // } {
	.loc	1 5 3, function_name $L__info+3, inlined_at 1 2 3
	add.s32 %r1, %r2, 1;
	mov.b64 {%r1, %r2}, tables;
	@!%p1 bra $L__BB0_1;
$L__BB0_1: { call (retval0), add, (counter); }
	call.uni call, (%r1);
	prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
	@%p1 call (retval0), %rd1, (param0), prototype_0;
	.pragma "nounroll }";
}
.alias other, add;
.section .debug_str { $L__info: .b8 1, 2 { } }
`

func TestParse(t *testing.T) {
	m, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ Kind, Linkage, Name, Start, Body string }
	var got []row
	for _, e := range m.Entities {
		r := row{e.Kind, string(e.Linkage), e.Name, string(m.Part(e.Head)), string(m.Part(e.Body))}
		r.Start, _, _ = strings.Cut(r.Start, "\n")
		r.Body, _, _ = strings.Cut(r.Body, "\n")
		got = append(got, r)
	}
	want := []row{
		{".version", "", "", ".version 9.0", ""},
		{".target", "", "", ".target sm_80, debug", ""},
		{".address_size", "", "", ".address_size 64", ""},
		{".file", "", "", `.file 1 "dir/{file}.cu", 12, 34`, ""},
		{".func", ".weak", "add", ".func (.param .b32 result) add", ""},
		{".global", ".visible", "counter", ".global .attribute(.managed) .align 4 .u32 counter", "1"},
		{".const", ".extern", "table", ".const .align 4 .b8 table[4][2]", ""},
		{".global", "", "$str$1", ".global .align 1 .b8 $str$1[5]", "{37, 100, 10, 0}"},
		{".global", ".visible", "tables", ".global .align 8 .u64 tables[2]", "{add, generic(counter)+4}"},
		{".func", ".weak", "add", ".func (.param .b32 result) add(.param .b32 add_param_0)", "{"},
		{".func", "", "call", ".func call(.param .u64 .ptr .global .align 4 p)", "{ ret; }"},
		{".entry", ".visible", "main", ".entry main(", "{"},
		{".alias", "", "other", ".alias other, add;", ""},
		{".section", "", "", ".section .debug_str { $L__info: .b8 1, 2 { } }", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if e := m.Symbol("counter"); !slices.Equal(e.Attributes, []string{".managed"}) || !e.Defined() {
		t.Errorf("counter: %+v", e)
	}
	if m.Symbol("table").Defined() || !m.Symbol("add").Defined() || m.Symbol("other") != nil {
		t.Error("wrong definitions")
	}
}

func TestRefs(t *testing.T) {
	m, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		want     []Ref
		indirect bool
	}{
		{"add", nil, false},
		{"table", nil, false},
		{"tables", []Ref{{"add", false, true}, {"counter", false, true}}, false},
		// The opcodes add and call are no symbols, the operands are.
		{"main", []Ref{{"tables", false, true}, {"add", true, false}, {"counter", false, true}, {"call", true, false}}, true},
	} {
		refs, indirect, err := m.Refs(m.Symbol(test.name))
		if err != nil || indirect != test.indirect {
			t.Errorf("%s: indirect %v, error %v", test.name, indirect, err)
		}
		if diff := cmp.Diff(test.want, refs); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestAppend(t *testing.T) {
	m := &Module{Text: []byte("a // c\n b/**/c.d \"a\" %a")}
	got, err := m.Append(nil, Range{0, len(m.Text)},
		func(w []byte) string { return map[string]string{"a": "x", "%a": "%y"}[string(w)] })
	if want := "x  \n b c.d \"a\" %y"; err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for text, want := range map[string]string{
		"\n.func f":                    "PTX line 2: expected ';' or a body, found the end of the text",
		".func f(":                     "PTX line 1: expected ')', found the end of the text",
		".func f()\n{ { }":             "PTX line 2: a block does not end",
		".func f() { \"} }":            "PTX line 1: a string does not end",
		".func f() { /* } }":           "PTX line 1: a comment does not end",
		".global .u32 a, b;":           `PTX line 1: expected ';', found ","`,
		".global .u32 a = 1":           "PTX line 1: expected a value, found the end of the text",
		".global .u32 a = ;":           `PTX line 1: expected a value, found ";"`,
		".visible .weak .func f;":      `PTX line 1: expected a function or a variable, found ".weak"`,
		".visible .align 4":            `PTX line 1: expected a function or a variable, found ".align"`,
		"\n\n.unheard of;":             "PTX line 3: unknown directive .unheard",
		"ret;":                         `PTX line 1: expected a directive, found "ret"`,
		".version 9.0\n\x00":           "PTX line 2: the byte 0x00 is no part of PTX",
		".global .attribute .u32 a;":   `PTX line 1: expected '(', found ".u32"`,
		".file \"a\"":                  `PTX line 1: expected a number, found "\"a\""`,
		".alias a b;":                  `PTX line 1: expected ';', found "b"`,
		".func .func f;":               `PTX line 1: expected a name, found ".func"`,
		".loc 1 2 3, inlined_from 1 2": `PTX line 1: expected function_name or inlined_at, found "inlined_from"`,
	} {
		_, err := Parse([]byte(text))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// FuzzParse: whatever is read gives ranges that lie in the text and in order, and
// what Append makes of a module reads as the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(".func f() { call (r), f; } .global .b8 x = {f}; //"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		end := 0
		for i := range m.Entities {
			e := &m.Entities[i]
			if e.Start < end || e.Head.Start < e.Start || e.Head.End > e.End || e.Body.End > e.End || e.End > len(text) {
				t.Fatalf("%+v", e)
			}
			end = e.End
			m.Refs(e)
		}
		again, err := m.Append(nil, Range{0, len(text)}, func([]byte) string { return "" })
		if err != nil {
			return // a body need not be all tokens
		}
		n, err := Parse(again)
		if err != nil || len(n.Entities) != len(m.Entities) {
			t.Fatalf("%v: %q", err, again)
		}
	})
}

// BenchmarkParse shows the speed on long bodies.
func BenchmarkParse(b *testing.B) {
	text := []byte(".func f()\n{\n" + strings.Repeat("\tadd.s32 \t%r1, %r2, 17;\n", 1<<18) + "}\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m, err := Parse(text)
		if err == nil {
			_, _, err = m.Refs(m.Symbol("f"))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// TestEachInstruction: labels, opcodes, modifiers and operands, without predicates and lines.
func TestEachInstruction(t *testing.T) {
	m, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = m.EachInstruction(m.Symbol("main"), func(i *Instruction) {
		if i.Label != nil {
			got = append(got, string(i.Label)+":")
			return
		}
		line := string(i.Opcode) + " " + string(i.Space)
		for _, o := range i.Operands {
			line += fmt.Sprintf(" %c%s", max(o.Open, ' '), bytes.Join(o.Words, []byte(" ")))
		}
		got = append(got, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		".reg   %r", ".shared  [inner", "add .s32  %r1  %r2  ", "mov .b64 {%r1 %r2  tables", "bra   $L__BB0_1",
		"$L__BB0_1:", "call  (retval0  add (counter", "call .uni  call (%r1", "prototype_0:", ".callprototype  (_ _ _",
		"call  (retval0  %rd1 (param0  prototype_0", ".pragma   ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string][]string{"add": {"add_param_0"}, "call": {"p"}, "main": {"main_param_0"}} {
		if got, err := m.Parameters(m.Symbol(name)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if m, err = Parse([]byte(".func f() { add \x01 }")); err == nil {
		err = m.EachInstruction(m.Symbol("f"), func(*Instruction) {})
	}
	if err == nil || err.Error() != "PTX line 1: the byte 0x01 is no part of PTX" {
		t.Error(err)
	}
}

// TestSignature: the texts around the names of results and parameters.
func TestSignature(t *testing.T) {
	m, err := Parse([]byte(".func (.param .align 8 .b8 r[16]) f(.param .b32 a, .param .u64 .ptr .align 4 b) .noreturn;" +
		".func .attribute(.unified(1, 2)) g; .func h();"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"f": ".param .align 8 .b8 |r|[16];:.param .b32 |a|; .param .u64 .ptr .align 4 |b|;", "g": ":", "h": ":",
	} {
		results, parameters, err := m.Signature(m.Symbol(name))
		text := func(list []Parameter) (s string) {
			for _, p := range list {
				s += string(m.Part(p.Before)) + "|" + p.Name + "|" + string(m.Part(p.After)) + ";"
			}
			return s
		}
		if got := text(results) + ":" + text(parameters); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestWords: names, registers and opcodes, but not those in strings and comments.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"add.s32 %r1, f$2;":             "add %r1 f$2",
		`.file 1 "a \" b" // c` + "\nd": "d",
		"a /* b */ c \x01 d":            "a c d",
		`a "b`:                          "a",
		"a /* b":                        "a",
	} {
		var words []string
		for r := range Words([]byte(text)) {
			words = append(words, text[r.Start:r.End])
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for range Words([]byte("a b")) {
		break
	}
}
