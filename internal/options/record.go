package options

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// recorded are the options that nvlink writes into the tool record of its
// output, in the order in which it does, whatever that of the command line.
var recorded = []string{
	"suppress-stack-size-warning", "suppress-arch-warning", "output-file", "debug", "arch", "machine", "library",
	"library-path",
	"register-link-binaries", "verbose", "verbose2", "preserve-relocs", "disable-warnings", "warning-as-error",
	"disable-infos",
	"keep-system-libraries", "kernels-used", "variables-used", "cpu-arch", "report-arch", "extra-warnings",
	"link-time-opt", "dlto", "nvvmpath", "split-compile", "split-compile-extended", "Ofast-compile", "suppress-debug-info",
	"Xptxas", "Xnvvm", "maxrregcount", "dump-callgraph", "dump-callgraph-no-demangle", "use-host-info", "ignore-host-info",
	"relocatable-link", "device-stack-protector",
}

// Record is the command line in the form in which nvlink records it. The names of
// files are there only with -g, without their folders.
func (o *Options) Record() string {
	var b strings.Builder
	if o.Debug {
		var names []string
		for _, path := range o.Inputs {
			names = append(names, filepath.Base(path))
		}
		b.WriteString(strings.Join(names, ",") + " ")
	}
	for _, long := range recorded {
		names := long == "output-file" || long == "register-link-binaries"
		if !o.given[long] || (names && !o.Debug) {
			continue
		}
		at := slices.IndexFunc(table, func(r row) bool { return r.long == long })
		text := table[at].text(o)
		if names {
			text = filepath.Base(text)
		}
		b.WriteString("-" + table[at].short + " " + text + " ")
	}
	return b.String()
}

// RecordedOutput is how nvlink records the name of the output.
func (o *Options) RecordedOutput() string {
	if !o.Debug {
		return ""
	}
	return filepath.Base(o.Output)
}

// text is the value that an option has; a flag has none.
func (r *row) text(o *Options) string {
	switch field := r.field(o).(type) {
	case **bool:
		return strconv.FormatBool(**field)
	case *string:
		return *field
	case *int:
		return strconv.Itoa(*field)
	case **int:
		return strconv.Itoa(**field)
	case *[]string:
		return strings.Join(*field, ",")
	case *Target:
		return field.String()
	}
	return ""
}
