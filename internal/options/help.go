package options

import "strings"

// Columns of nvlink's help text.
const (
	shortColumn = 52
	helpColumn  = 8
	helpWidth   = 80 // of the text that begins at helpColumn
)

// Help is the text for --help. program is the name warpld was started under.
func Help(program string) string {
	var b strings.Builder
	b.WriteString("\nUsage  : " + program + " [options] <objects>\n\n")
	writeGroup(&b, "Options", documented)
	writeGroup(&b, "Options of warpld", own)
	b.WriteString(wrap("The options of warpld can also be set in the environment variable WARPLD_FLAGS. "+
		"The words of a file can be given as @file.", 0) + "\n")
	return b.String()
}

func writeGroup(b *strings.Builder, title string, g group) {
	b.WriteString(title + "\n" + strings.Repeat("=", len(title)) + "\n\n")
	for _, r := range table {
		if r.group != g {
			continue
		}
		usage := "--" + r.long + r.placeholder()
		if r.short != "" {
			usage += strings.Repeat(" ", max(1, shortColumn-len(usage))) + "(-" + r.short + ")"
		}
		b.WriteString(usage + "\n" + wrap(r.description(), helpColumn) + "\n")
	}
}

// placeholder stands for the value in help: " <file name>", or
// " <library>,..." for a list.
func (r *row) placeholder() string {
	switch _, isList := r.field(&Options{}).(*[]string); {
	case r.value == "":
		return ""
	case isList:
		return " <" + r.value + ">,..."
	}
	return " <" + r.value + ">"
}

// description is the help of an option with its values and default.
func (r *row) description() string {
	text := r.help
	if len(r.allowed) > 0 {
		text += "\nOne of: '" + strings.Join(r.allowed, "', '") + "'."
	}
	if r.initial != "" {
		text += "\nDefault: '" + r.initial + "'."
	}
	if r.since != "" {
		text += "\nSince " + r.since + "."
	}
	return text
}

// wrap breaks each line of text at blanks and indents it.
func wrap(text string, indent int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		width := 0
		for word := range strings.FieldsSeq(line) {
			switch {
			case width == 0:
				b.WriteString(strings.Repeat(" ", indent))
			case width+1+len(word) > helpWidth:
				b.WriteString("\n" + strings.Repeat(" ", indent))
				width = 0
			default:
				b.WriteByte(' ')
				width++
			}
			b.WriteString(word)
			width += len(word)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
