package size

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// isInternal reports whether a function has internal linkage by its name, so that no
// device link joins it with another one: static functions, and those of anonymous
// namespaces. nvcc gives them the names of their units.
func isInternal(name string) bool {
	return strings.HasPrefix(name, "_ZL") || strings.Contains(name, "_GLOBAL__N_") ||
		strings.Contains(name, "_INTERNAL_") || strings.HasPrefix(name, "__nv_static_")
}

// TemplateName returns the name of a function without the arguments of templates and
// without parameters: that of all instantiations.
func TemplateName(name string) string {
	return demangle.Filter(name, demangle.NoParams, demangle.NoTemplateParams, demangle.NoEnclosingParams)
}

// templates groups functions by the template that they are instances of.
func templates(functions []FunctionRow) []TemplateRow {
	rows := map[string]*TemplateRow{}
	names := map[string]string{}
	for i := range functions {
		f := &functions[i]
		template, seen := names[f.Name]
		if !seen {
			template = TemplateName(f.Name)
			names[f.Name] = template
		}
		row := rows[template]
		if row == nil {
			row = &TemplateRow{Name: template}
			rows[template] = row
		}
		if !seen {
			row.Instances++
		}
		row.Copies += f.Copies
		row.Bytes += f.Bytes
	}
	var list []TemplateRow
	for _, row := range rows {
		list = append(list, *row)
	}
	byBytes(list, func(r *TemplateRow) (int64, string) { return r.Bytes, r.Name })
	return list
}
