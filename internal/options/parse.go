package options

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/message"
)

// Limits on files with options. nvlink has the first; the others keep small
// files from growing without bound.
const (
	maxFileDepth = 15
	maxFiles     = 4096
	maxFileBytes = 64 << 20
)

// Parse parses a command line, without the program's name. env holds more of warpld's own
// options, as text, which the command line overrides. readFile reads options files and
// response files. Warnings and infos are reported; the error, if any, is a fatal
// *message.Message.
func Parse(args []string, env string, readFile func(string) ([]byte, error),
	report func(*message.Message)) (*Options, error) {
	p := &parser{options: newOptions(), readFile: readFile, report: report}
	if err := p.parseEnvironment(env); err != nil {
		return nil, err
	}
	args, err := p.expand(args, 0)
	if err != nil {
		return nil, err
	}
	if err := p.parse(args, commandLine); err != nil {
		return nil, err
	}
	o := p.options
	o.Xptxas = splitXptxas(o.xptxas)
	o.Xnvvm, o.strayXnvvm = splitXnvvm(o.xnvvm)
	return o, nil
}

// fatal makes the message that ends the link.
func fatal(id, format string, args ...any) *message.Message {
	return &message.Message{Severity: message.Fatal, ID: id, Text: fmt.Sprintf(format, args...)}
}

// A source is where words come from, which decides what may be among them.
type source int

const (
	environment source = iota // only warpld's own options
	commandLine               // everything
	inFile                    // only nvlink's options, for nvlink reads the file too
)

type parser struct {
	options  *Options
	readFile func(string) ([]byte, error)
	report   func(*message.Message)

	values    map[*row]string // the last value of each scalar from this source
	fileDepth int             // of options files
	files     int
	fileBytes int
}

func (p *parser) parseEnvironment(env string) error {
	words, err := responseFile.split(env)
	if err != nil {
		err = fatal("stray-character", "%v", err)
	} else {
		err = p.parse(words, environment)
	}
	for _, m := range message.Of(err) {
		m.Notes = append(m.Notes, "in the environment variable WARPLD_FLAGS")
	}
	return err
}

// expand replaces each @file by the words in it.
func (p *parser) expand(args []string, depth int) ([]string, error) {
	var words []string
	for _, arg := range args {
		if len(arg) < 2 || arg[0] != '@' {
			words = append(words, arg)
			continue
		}
		more, err := p.read(arg[1:], responseFile.split, depth)
		if err != nil {
			return nil, err
		}
		if more, err = p.expand(more, depth+1); err != nil {
			return nil, err
		}
		words = append(words, more...)
	}
	return words, nil
}

// read returns the words of a file that is read while depth others are.
func (p *parser) read(name string, split func(string) ([]string, error), depth int) ([]string, error) {
	p.files++
	if depth >= maxFileDepth || p.files > maxFiles {
		m := fatal("options-file", "Too many options file opened '%s'", name)
		m.Hint = "look for a file that includes itself"
		return nil, m
	}
	data, err := p.readFile(name)
	if err != nil {
		m := fatal("options-file", "Could not open options file '%s'", name)
		m.Notes, m.Cause = []string{err.Error()}, err
		return nil, m
	}
	p.fileBytes += len(data)
	switch {
	case p.fileBytes > maxFileBytes:
		return nil, fatal("options-file", "Options files up to '%s' hold more than %d MiB", name, maxFileBytes>>20)
	case bytes.IndexByte(data, 0) >= 0:
		return nil, fatal("options-file", "Options file '%s' is not text: it holds a NUL byte", name)
	}
	words, err := split(string(data))
	if err != nil {
		m := fatal("stray-character", "%v", err)
		m.Origin.File = name
		m.Notes = []string{"in options file '" + name + "'"}
		return nil, m
	}
	return words, nil
}

// parse handles words in order: options with their values, and inputs.
func (p *parser) parse(words []string, from source) error {
	if from != inFile {
		p.values = map[*row]string{}
	}
	for len(words) > 0 {
		used, err := p.next(words, from)
		if err != nil {
			return err
		}
		words = words[used:]
	}
	return nil
}

// isOption reports whether a word is an option and not an input; a lone dash is an input.
func isOption(word string) bool { return len(word) > 1 && word[0] == '-' }

// next handles the first word, and the second if it is the value of the first. It returns how
// many words it used.
func (p *parser) next(words []string, from source) (int, error) {
	word := words[0]
	if !isOption(word) {
		if from == environment {
			return 0, notOwn(word)
		}
		p.options.Inputs = append(p.options.Inputs, word)
		p.options.words = append(p.options.words, given{value: word})
		p.keepRaw(words[:1], from)
		return 1, nil
	}
	r, name, value, has := p.lookup(word)
	if err := permitted(r, word, name, from); err != nil {
		return 0, err
	}
	used := 1
	if _, isFlag := r.field(p.options).(*bool); isFlag && has {
		return 0, fatal("option-value", "no argument expected after '-%s'", name)
	} else if !isFlag && !has {
		var err error
		if value, used, err = r.separate(name, words); err != nil {
			return 0, err
		}
	}
	if r.group != own {
		p.keepRaw(words[:used], from)
	}
	p.options.words = append(p.options.words, given{r, value})
	return used, p.set(r, value)
}

// permitted returns an error if an option is unknown, or not allowed in this place.
func permitted(r *row, word, name string, from source) error {
	switch {
	case r == nil:
		return unknown(name)
	case from == environment && r.group != own:
		return notOwn(word)
	case from == inFile && r.group == own:
		m := fatal("unknown-option", "Option '%s' is not allowed in an options file", word)
		m.Hint = "give it on the command line, in an @file or in WARPLD_FLAGS"
		return m
	}
	return nil
}

// separate returns the value of an option that does not have one in its own word, and how many
// words the two are.
func (r *row) separate(name string, words []string) (value string, used int, err error) {
	switch {
	case r.bare != "" && (len(words) < 2 || isOption(words[1])):
		return r.bare, 1, nil
	case len(words) < 2:
		return "", 0, fatal("option-value", "argument expected after '-%s'", name)
	}
	return words[1], 2, nil
}

func (p *parser) keepRaw(words []string, from source) {
	if from == commandLine {
		p.options.Raw = append(p.options.Raw, words...)
	}
}

func notOwn(word string) error {
	m := fatal("unknown-option", "'%s' is not allowed in WARPLD_FLAGS", word)
	m.Hint = "put only options of warpld there, which begin with --warpld-"
	return m
}

// lookup finds the row of a word that begins with a dash. name is the option as written,
// without its first dash; value is the rest of the word.
func (p *parser) lookup(word string) (r *row, name, value string, has bool) {
	body := word[1:]
	name, value, has = strings.Cut(body, "=")
	for i := range table {
		t := &table[i]
		if name == "-"+t.long || (t.short != "" && name == t.short) {
			return t, name, value, has
		}
	}
	for i := range table {
		t := &table[i]
		if t.joined && strings.HasPrefix(body, t.short) {
			p.explainJoined(word, name, t)
			return t, t.short, body[len(t.short):], true
		}
	}
	return nil, name, "", false
}

// explainJoined warns where nvlink is silent: to nvlink '-link-time-opt', for example, is a
// library named 'ink-time-opt'.
func (p *parser) explainJoined(word, name string, taken *row) {
	if slices.ContainsFunc(table, func(t row) bool { return t.long == name }) {
		p.report(&message.Message{Severity: message.Info, Extra: true, ID: "joined-value",
			Text: fmt.Sprintf("'%s' is read as '-%s %s'", word, taken.short, word[1+len(taken.short):]),
			Hint: "write '--" + name + "' for the option of that name"})
	}
}

// set stores a value, and reads the file if the option names one with options.
func (p *parser) set(r *row, value string) error {
	p.options.given[r.long] = true
	switch field := r.field(p.options).(type) {
	case *bool:
		*field = true
		return nil
	case *[]string:
		return p.add(r, field, value)
	}
	text, err := r.store(p.options, value)
	if err != nil {
		return err
	}
	if before, ok := p.values[r]; ok && before != text {
		p.report(&message.Message{Severity: message.Warning, PolicyExempt: true, ID: "option-redefined",
			Text: fmt.Sprintf("incompatible redefinition for option '%s', the last value of this option was used", r.long)})
	}
	p.values[r] = text
	return nil
}

// add appends to a list, and reads the files of a list of options files. Like
// nvlink it does so item by item, before it sees what is wrong further on.
func (p *parser) add(r *row, list *[]string, value string) error {
	items, stray := splitList(value)
	*list = append(*list, items...)
	if list == &p.options.OptionsFiles {
		for _, name := range items {
			if err := p.include(name); err != nil {
				return err
			}
		}
	}
	if stray != nil {
		m := fatal("stray-character", "%v", stray)
		m.Notes = []string{fmt.Sprintf("in the value of option '%s': %s", r.long, value)}
		return m
	}
	return nil
}

// include parses an options file.
func (p *parser) include(name string) error {
	words, err := p.read(name, splitOptionsFile, p.fileDepth)
	if err != nil {
		return err
	}
	p.fileDepth++
	defer func() { p.fileDepth-- }()
	return p.parse(words, inFile)
}

// store checks a scalar's value and stores it in o. It returns the value in a form in which
// equal values are equal texts.
func (r *row) store(o *Options, value string) (string, error) {
	switch field := r.field(o).(type) {
	case **bool:
		b := value == "true"
		if !b && value != "false" {
			return "", fatal("option-value", "'%s': expected true or false", value)
		}
		*field = &b
		return value, nil
	case *string:
		*field = value
		return value, r.check(value, value)
	case *Target:
		if err := r.check(value, value); err != nil {
			return "", err
		}
		*field = targetNamed(value)
		return value, nil
	case *float64:
		share, err := strconv.ParseFloat(value, 64)
		if err != nil || !(share >= 0 && share <= 1) {
			return "", r.notDefined(value)
		}
		*field = share
		return strconv.FormatFloat(share, 'g', -1, 64), nil
	}
	n, err := number(value)
	if err != nil {
		return "", err
	}
	text := strconv.Itoa(n)
	switch field := r.field(o).(type) {
	case *int:
		*field = n
	case **int:
		*field = &n
	case *time.Duration:
		*field = time.Duration(n) * time.Second
		if n < 0 {
			return "", r.notDefined(value)
		}
	}
	return text, r.check(text, value)
}

// check compares a value, in the form of store, with the allowed ones.
func (r *row) check(text, value string) error {
	if r.allowed == nil || slices.Contains(r.allowed, text) {
		return nil
	}
	return r.notDefined(value)
}

func (r *row) notDefined(value string) error {
	m := fatal("option-value", "Value '%s' is not defined for option '%s'", value, r.long)
	if best := Closest(value, r.allowed); best != "" {
		m.Hint = "did you mean '" + best + "'?"
	}
	return m
}

// number reads a 32-bit integer as C does: blanks and a sign may come before
// it, 0x makes it hexadecimal and 0 octal. No text at all is 0 to nvlink.
func number(value string) (int, error) {
	if value == "" {
		return 0, nil
	}
	digits := strings.TrimLeft(value, " \t\n\v\f\r")
	sign, digits := leadingSign(digits)
	base, set := 10, "0123456789"
	switch {
	case len(digits) > 2 && strings.EqualFold(digits[:2], "0x"):
		base, set, digits = 16, "0123456789abcdefABCDEF", digits[2:]
	case strings.HasPrefix(digits, "0"):
		base, set = 8, "01234567"
	}
	rest := strings.TrimLeft(digits, set)
	digits = digits[:len(digits)-len(rest)]
	n, err := strconv.ParseInt(sign+digits, base, 32)
	switch {
	case digits == "":
		return 0, fatal("option-value", "'%s': expected a number", value)
	case err != nil: // nvlink looks at the size before it looks at the rest
		return 0, fatal("option-value", "32-bit integer value (%s) out of range", value)
	case rest != "":
		return 0, fatal("option-value", "'%s': expected a number", value)
	}
	return int(n), nil
}

func leadingSign(s string) (sign, rest string) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[:1], s[1:]
	}
	return "", s
}
