package options

import (
	"fmt"
	"slices"
	"strings"
)

// A Command is one of warpld's own.
type Command struct{ Name, Usage, About string }

// Completion returns the script with which a shell completes command lines. It is empty for a
// shell other than bash, zsh and fish.
func Completion(shell string, commands []Command) string {
	switch shell {
	case "bash":
		return bashCompletion(commands)
	case "zsh":
		return zshCompletion(commands)
	case "fish":
		return fishCompletion(commands)
	}
	return ""
}

// spellings are the ways in which an option is written, the long one first.
func (r *row) spellings() []string {
	if r.short == "" {
		return []string{"--" + r.long}
	}
	return []string{"--" + r.long, "-" + r.short}
}

// values are those that can be completed.
func (r *row) values() []string {
	switch r.field(&Options{}).(type) {
	case **bool:
		return []string{"true", "false"}
	}
	return r.allowed
}

// summary is the first sentence of the help.
func (r *row) summary() string {
	text, _, _ := strings.Cut(r.help, ". ")
	return strings.TrimSuffix(text, ".")
}

// public returns the documented options.
func public() []row {
	return slices.DeleteFunc(slices.Clone(table), func(r row) bool { return r.group == hidden })
}

func bashCompletion(commands []Command) string {
	var names, words []string
	var values strings.Builder
	for _, c := range commands {
		names = append(names, c.Name)
	}
	for _, r := range public() {
		words = append(words, r.spellings()...)
		if v := r.values(); v != nil {
			fmt.Fprintf(&values, "\t%s)\n\t\tCOMPREPLY=($(compgen -W '%s' -- \"$word\"))\n\t\treturn\n\t\t;;\n",
				strings.Join(r.spellings(), "|"), strings.Join(v, " "))
		}
	}
	return fmt.Sprintf(bashScript, values.String(), strings.Join(words, " "), strings.Join(names, " "))
}

// bash treats = as a word of its own.
const bashScript = `# warpld's completion for bash
_warpld() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	if [[ $word == = ]]; then
		word=
	elif [[ $before == = && $COMP_CWORD -gt 1 ]]; then
		before=${COMP_WORDS[COMP_CWORD-2]}
	fi
	case $before in
%s	esac
	if [[ $word == -* ]]; then
		COMPREPLY=($(compgen -W '%s' -- "$word"))
	elif [[ $COMP_CWORD -eq 1 ]]; then
		COMPREPLY=($(compgen -W '%s' -- "$word") $(compgen -f -- "$word"))
	else
		COMPREPLY=($(compgen -f -- "$word"))
	fi
}
complete -o filenames -F _warpld warpld
`

var zshQuote = strings.NewReplacer(`'`, `'\''`, `:`, `\:`)

func zshCompletion(commands []Command) string {
	var names, words, values, joined strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&names, "\t'%s:%s'\n", c.Name, zshQuote.Replace(c.About))
	}
	for _, r := range public() {
		for _, s := range r.spellings() {
			fmt.Fprintf(&words, "\t'%s:%s'\n", s, zshQuote.Replace(r.summary()))
		}
		if v := r.values(); v != nil {
			fmt.Fprintf(&values, "%s) compadd -- %s; return ;;\n", strings.Join(r.spellings(), "|"), strings.Join(v, " "))
			fmt.Fprintf(&joined, "%s=*) compset -P '*='; compadd -- %s ;;\n", strings.Join(r.spellings(), "=*|"),
				strings.Join(v, " "))
		}
	}
	return fmt.Sprintf(zshScript, names.String(), words.String(), values.String(), joined.String())
}

const zshScript = `#compdef warpld
local -a commands options
commands=(
%s)
options=(
%s)
case ${words[CURRENT-1]} in
%sesac
case ${words[CURRENT]} in
%s-*) _describe -o option options ;;
*)
	(( CURRENT == 2 )) && _describe command commands
	_files
	;;
esac
`

var fishQuote = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

func fishCompletion(commands []Command) string {
	var b strings.Builder
	b.WriteString("# warpld's completion for fish\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c warpld -n __fish_use_subcommand -a %s -d '%s'\n", c.Name, fishQuote.Replace(c.About))
	}
	for _, r := range public() {
		fmt.Fprintf(&b, "complete -c warpld -l %s", r.long)
		if len(r.short) == 1 {
			fmt.Fprintf(&b, " -s %s", r.short)
		} else if r.short != "" {
			fmt.Fprintf(&b, " -o %s", r.short)
		}
		if v := r.values(); v != nil {
			fmt.Fprintf(&b, " -x -a '%s'", strings.Join(v, " "))
		} else if r.value != "" {
			b.WriteString(" -r")
		}
		fmt.Fprintf(&b, " -d '%s'\n", fishQuote.Replace(r.summary()))
	}
	return b.String()
}
