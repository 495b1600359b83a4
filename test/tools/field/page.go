package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// line is the progress line of a link.
func (e *Entry) line() string {
	text := e.Program + ": " + e.Setting + ": not built"
	if e.Link != nil {
		text = e.Program + ": " + e.Setting + ": " + e.Link.Outcome
		for _, problem := range e.Link.Problems {
			text += fmt.Sprintf("\n    %s (minimized: %s)", brief(problem), strings.Join(e.Link.Minimized, " "))
		}
	}
	if n := len(e.NotCompiled); n > 0 {
		text += fmt.Sprintf("\n    %d sources did not compile; first %s: %s", n, e.NotCompiled[0].Source,
			e.NotCompiled[0].Error)
	}
	return text
}

// equal is how many of the links went as nvlink's.
func (p *Program) equal() string {
	if len(p.Links) == 0 {
		return "not built"
	}
	good := 0
	for _, l := range p.Links {
		if l.isGood() {
			good++
		}
	}
	if good == len(p.Links) {
		return fmt.Sprintf("all %d", good)
	}
	return fmt.Sprintf("**%d of %d**", good, len(p.Links))
}

// verdict is an error if a link is different.
func (r *Results) verdict() error {
	bad, links := 0, 0
	for _, p := range r.Programs {
		for _, l := range p.Links {
			links++
			if !l.isGood() {
				bad++
			}
		}
	}
	switch {
	case links == 0:
		return fmt.Errorf("no program was linked")
	case bad > 0:
		return fmt.Errorf("%d of %d links are different", bad, links)
	}
	return nil
}

// page is the document about a trial.
func (r *Results) page() string {
	var b strings.Builder
	b.WriteString("# Field trial\n\nWritten by `go run ./test/tools/field`, which compiles programs with nvcc and links " +
		"them with\nnvlink and with warpld in all modes. Nothing was executed on a GPU. Times are seconds of CPU.\n\n")
	r.summary(&b)
	b.WriteString("| outcome | exit code, messages and files of exact mode |\n|---|---|\n" +
		"| " + Equal + " | the same, byte for byte |\n" +
		"| " + Notes + " | the same, but for recorded command lines, because nvlink merged for warpld |\n" +
		"| " + Refused + " | the link fails, with the same messages and exit code |\n" +
		"| " + Different + " | something else, or warpld failed |\n" +
		"| " + Unknown + " | nvlink crashed or did not end |\n\n")
	r.counts(&b)
	r.programTable(&b)
	r.problemList(&b)
	r.notCompiled(&b)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// summary writes what was tried where, and how much of it was good.
func (r *Results) summary(b *strings.Builder) {
	linked, whole, links, good := 0, 0, 0, 0
	modes := map[string]int{}
	for _, p := range r.Programs {
		if len(p.Links) > 0 {
			linked++
		}
		if len(p.Links) > 0 && len(p.NotCompiled) == 0 {
			whole++
		}
		links += len(p.Links)
		for _, l := range p.Links {
			if l.isGood() {
				good++
			}
			for mode := range l.CPU {
				modes[mode]++
			}
		}
	}
	row := func(name, text string) { fmt.Fprintf(b, "| %s | %s |\n", name, cell(text)) }
	b.WriteString("| | |\n|---|---|\n")
	row("date", dates(r.First, r.Last))
	row("warpld", "built from "+strings.Join(r.About.Warpld, ", "))
	row("toolkits", strings.Join(r.About.Toolkits, ", "))
	row("machine", strings.Join(r.About.Machines, "; "))
	row("programs", fmt.Sprintf("%d linked, %d of them from all their sources; %d not built", linked, whole,
		len(r.Programs)-linked))
	row("links", fmt.Sprintf("%d compared, %d good, %d different", links, good, links-good))
	row("runs", fmt.Sprintf("%d of nvlink, %d exact, %d from the cache, %d fast", modes["nvlink"], modes[exact],
		modes[cached], modes[fast]))
	for _, name := range slices.Sorted(maps.Keys(r.About.Found)) {
		if name != "" {
			row("`"+name+"`", fmt.Sprintf("%s: %d of %d programs linked", r.About.Sources[name], r.linked(name+"/"),
				r.About.Found[name]))
		}
	}
	b.WriteString("\n")
	if len(r.About.Commands) > 0 {
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", strings.Join(r.About.Commands, "\n"))
	}
}

// linked is how many programs with this beginning of their names were linked.
func (r *Results) linked(prefix string) (count int) {
	for _, p := range r.Programs {
		if strings.HasPrefix(p.Name, prefix) && len(p.Links) > 0 {
			count++
		}
	}
	return count
}

// dates is a day, or the first and the last one.
func dates(first, last time.Time) string {
	from, to := first.Format(time.DateOnly), last.Format(time.DateOnly)
	if from == to {
		return from
	}
	return from + " to " + to
}

// Reasons are counted without the names and sizes in them.
var (
	quoted = regexp.MustCompile(`'[^']*'`)
	sizes  = regexp.MustCompile(`\d+ (kernels|KB)`)
)

// reason is the part of a text that is counted.
func reason(text string) string {
	return cell(sizes.ReplaceAllString(quoted.ReplaceAllString(text, "'...'"), "N $1"))
}

// counts writes how many links went how.
func (r *Results) counts(b *strings.Builder) {
	outcomes, fasts, mergers := map[string]int{}, map[string]int{}, map[string]int{}
	for _, p := range r.Programs {
		for _, l := range p.Links {
			outcomes[l.setting()+" | "+l.Outcome]++
			if l.Fast != "" {
				fasts[reason(l.Fast)]++
			}
			if l.Merger != "" {
				mergers[l.Toolkit+" "+l.Arch+" | "+reason(l.Merger)]++
			}
		}
	}
	writeCounts(b, "Links", "setting | outcome", outcomes)
	writeCounts(b, "Fast mode", "what was done", fasts)
	writeCounts(b, "Who merged", "setting | merger", mergers)
}

func writeCounts(b *strings.Builder, title, columns string, counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	rule := strings.Repeat("---|", 2+strings.Count(columns, "|"))
	fmt.Fprintf(b, "## %s\n\n| %s | links |\n|%s\n", title, columns, rule)
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(b, "| %s | %d |\n", key, counts[key])
	}
	b.WriteString("\n")
}

// cell is text that fits into a table.
func cell(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.ReplaceAll(first, "|", "\\|")
}

// programTable writes a row for each program. Times are sums of links with link-time
// optimization, in all settings.
func (r *Results) programTable(b *strings.Builder) {
	b.WriteString("## Programs\n\n| program | files | kernels | equal | nvlink | exact | fast | cached |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	all, files, kernelSum := map[string]float64{}, 0, 0
	row := func(name string, files, kernels any, equal string, cpu map[string]float64) {
		fmt.Fprintf(b, "| %s | %v | %v | %s | %.2f | %.2f | %.2f | %.2f |\n", name, files, kernels, equal,
			cpu["nvlink"], cpu[exact], cpu[fast], cpu[cached])
	}
	byName := func(a, b Program) int { return cmp.Compare(a.Name, b.Name) }
	for _, p := range slices.SortedFunc(slices.Values(r.Programs), byName) {
		cpu, kernels := map[string]float64{}, 0
		for _, l := range p.Links {
			kernels = max(kernels, l.Kernels)
			for by, seconds := range l.CPU {
				if l.Form != plain {
					cpu[by] += seconds
					all[by] += seconds
				}
			}
		}
		files += p.Files
		kernelSum += kernels
		row(p.Name, p.Files, kernels, p.equal(), cpu)
	}
	row(fmt.Sprintf("%d programs", len(r.Programs)), files, kernelSum, "", all)
	b.WriteString("\n")
}

// brief returns the first line, and from the others, which are differences of a file, where
// they are.
func brief(problem string) string {
	first, rest, _ := strings.Cut(problem, "\n")
	var places []string
	for line := range strings.Lines(rest) {
		place, _, ok := strings.Cut(line, ": ")
		place = strings.TrimPrefix(place, "section ")
		if ok && place != "file" && !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return strings.TrimSpace(first + " " + strings.Join(places, ", "))
}

// problemList writes every difference.
func (r *Results) problemList(b *strings.Builder) {
	title := "## Differences\n\n| program | setting | difference | objects that it needs |\n|---|---|---|---|\n"
	for _, p := range r.Programs {
		for _, l := range p.Links {
			for _, problem := range l.Problems {
				fmt.Fprintf(b, "%s| %s | %s | %s | %s |\n", title, p.Name, l.setting(),
					cell(brief(problem)), strings.Join(l.Minimized, " "))
				title = ""
			}
		}
	}
	if title == "" {
		b.WriteString("\n")
	}
}

// notCompiled writes what could not be linked.
func (r *Results) notCompiled(b *strings.Builder) {
	title := "## Not compiled\n\n| program | sources | first error |\n|---|---|---|\n"
	for _, p := range r.Programs {
		if len(p.NotCompiled) == 0 {
			continue
		}
		sources := map[string]bool{}
		for _, f := range p.NotCompiled {
			sources[f.Source] = true
		}
		fmt.Fprintf(b, "%s| %s | %d | %s: %s |\n", title, p.Name, len(sources), p.NotCompiled[0].Source,
			cell(p.NotCompiled[0].Error))
		title = ""
	}
}
