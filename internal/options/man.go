package options

import "strings"

// ManPage is warpld.1, in roff.
func ManPage(commands []Command) string {
	var b strings.Builder
	b.WriteString(manHead)
	b.WriteString(".SH COMMANDS\n" + roff("If the first argument is one of these, warpld does not link.") + "\n")
	for _, c := range commands {
		b.WriteString(".TP\n\\fBwarpld " + roff(c.Usage) + "\\fR\n" + roff(c.About) + "\n")
	}
	manGroup(&b, "OPTIONS", "", documented)
	manGroup(&b, "OPTIONS OF WARPLD", "These may be written with one dash or two.", own)
	manGroup(&b, "HIDDEN OPTIONS", "The following are understood although nvlink does not speak of them.", hidden)
	b.WriteString(manTail)
	return b.String()
}

func manGroup(b *strings.Builder, title, intro string, g group) {
	b.WriteString(".SH " + title + "\n")
	if intro != "" {
		b.WriteString(roff(intro) + "\n")
	}
	for _, r := range table {
		if r.group != g {
			continue
		}
		b.WriteString(".TP\n\\fB" + roff("--"+r.long) + "\\fR" + roff(r.placeholder()))
		if r.short != "" {
			b.WriteString(", \\fB" + roff("-"+r.short) + "\\fR")
		}
		b.WriteByte('\n')
		for i, line := range strings.Split(r.description(), "\n") {
			if i > 0 {
				b.WriteString(".br\n")
			}
			b.WriteString(roff(line) + "\n")
		}
	}
}

// roff makes text safe: dashes that can be copied, and no requests by accident.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

const manHead = `.TH WARPLD 1
.SH NAME
warpld \- device linker for CUDA with link\-time optimization
.SH SYNOPSIS
.B nvlink
[\fIoptions\fR] \fIobjects\fR
.br
.B warpld
[\fIoptions\fR] \fIobjects\fR
.br
.B warpld
\fIcommand\fR ...
.SH DESCRIPTION
Started under the name nvlink, or with arguments like nvlink's,
.B warpld
takes the options of NVIDIA's nvlink and does its work.
Object files, archives, cubins, fatbins and LTO\-IR are linked into one cubin.
.PP
Long names follow two dashes and short names one.
A value follows after a blank or after =; after \-l, \-L and \-m it may also follow at once.
A list has commas between its items, or the option is given more than once; double quotes protect commas.
If an option that takes one value is given more than one, the last counts.
.PP
A word \fB@\fIfile\fR stands for the words in that file.
They are separated by white space; quotes of either kind group, and a backslash takes the meaning from the next character.
An input whose name begins with @ is written with ./ before it.
`

const manTail = `.SH COMMANDS
Started under its own name, warpld also has commands; \fBwarpld help\fR lists them.
.TP
\fBwarpld distribute\fR [\fB\-\-warpld\-\fR...] \fIjobs.json\fR
Does the compilations of a ThinLTO link for a linker of LLVM's, by the options of warpld: from its cache, on the machines of a server, or here.
.SH ENVIRONMENT
.TP
.B WARPLD_FLAGS
Options of warpld, written as in an @file. The command line overrides them.
.SH EXIT STATUS
0 after a link, 1 if it had to stop at once, 255 if errors were found in the end.
`
