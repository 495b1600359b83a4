package options

import (
	"slices"
	"strconv"
	"strings"
)

// recorded are the options that nvlink writes into the tool record of its
// output, in the order in which it does, whatever that of the command line.
var recorded = []string{
	"suppress-stack-size-warning", "suppress-arch-warning", "debug", "arch", "machine", "library", "library-path",
	"verbose", "verbose2", "preserve-relocs", "disable-warnings", "warning-as-error", "disable-infos",
	"keep-system-libraries", "kernels-used", "variables-used", "cpu-arch", "report-arch", "extra-warnings",
	"link-time-opt", "dlto", "nvvmpath", "split-compile", "split-compile-extended", "Ofast-compile", "suppress-debug-info",
	"Xptxas", "Xnvvm", "maxrregcount", "dump-callgraph", "dump-callgraph-no-demangle", "use-host-info", "ignore-host-info",
	"relocatable-link", "device-stack-protector",
}

// Record is the command line in the form in which nvlink records it. With -g it
// adds the names of files, which this does not.
func (o *Options) Record() string {
	var b strings.Builder
	for _, long := range recorded {
		if !o.given[long] {
			continue
		}
		at := slices.IndexFunc(table, func(r row) bool { return r.long == long })
		b.WriteString("-" + table[at].short + " " + table[at].text(o) + " ")
	}
	return b.String()
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
	case *Arch:
		return field.String()
	}
	return ""
}
