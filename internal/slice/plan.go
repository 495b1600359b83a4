package slice

import (
	"slices"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/ptx"
)

// Options control the cut.
type Options struct {
	// Vector is libnvvm's option vector for the unsliced link. Slices are compiled
	// with the same options except for those that decide what stays.
	Vector []string
	// Provided reports whether the device runtime has a function. It is nil if the runtime
	// takes no part.
	Provided func(name string) bool
	// Release is that of the toolkit; it decides which functions the driver defines.
	Release gpu.Release
	// Size is how much work a slice should be, in bytes of the scanned bodies of its
	// kernels and of all that is inlined into them. Zero stands for DefaultSize.
	Size int
	// Amplification bounds the work of all slices over that of the whole program,
	// which is above one because slices share functions. Zero stands for
	// DefaultAmplification.
	Amplification float64
}

// A Plan is how a program is cut.
type Plan struct {
	Slices []*Slice
	// Amplification is the work of all slices over that of the whole program.
	Amplification float64

	program *program
	shared  []int // definitions of variables that slices share, in link order
}

// A Slice is some kernels with all that they can reach.
type Slice struct {
	// Kernels are the names of those that are compiled here and nowhere else. A
	// slice without any is for functions whose addresses are in variables.
	Kernels []string
	// Modules are those to compile, by their place in Make's list, in that order.
	Modules []int
	// Vector is the option vector for libnvvm.
	Vector []string
	// Size is the work, as in Options.
	Size int

	plan   *Plan
	reach  reach
	listed map[string]int // the shared variables that it reaches
}

// A planner has what Make knows on the way.
type planner struct {
	program *program
	options Options
	rest    []string // of the vector
	host    references
	kernels []*kernel
}

// A kernel is one to compile, and what it reaches.
type kernel struct {
	number int
	reach  reach
	units  []int
}

// Make plans the slices of a program whose modules are in link order. The error is
// a *message.Message with the reason to link unsliced.
func Make(modules []*Module, o Options) (*Plan, error) {
	if o.Size == 0 {
		o.Size = DefaultSize
	}
	if o.Amplification == 0 {
		o.Amplification = DefaultAmplification
	}
	p := &planner{options: o}
	var refused *message.Message
	if p.rest, p.host, refused = readVector(o.Vector); refused != nil {
		return nil, refused
	}
	p.program = newProgram(modules)
	for _, step := range []func() *message.Message{p.checkModules, p.checkNames, p.findKernels} {
		if refused = step(); refused != nil {
			return nil, refused
		}
	}
	p.findWritten()
	p.program.pin()
	groups, refused := p.together()
	if refused != nil {
		return nil, refused
	}
	sets := p.cut(groups)
	if len(groups) > 1 && len(sets) < 2 {
		return nil, p.notWorthIt()
	}
	sets, reaches := p.apart(sets)
	if len(sets) < 2 {
		return nil, refusal("", nil, "all %d kernels use variables that only one slice can have", len(p.kernels))
	}
	return p.plan(sets, reaches), nil
}

// checkModules refuses what no slice can have.
func (p *planner) checkModules() *message.Message {
	for _, m := range p.program.modules {
		if m.alien != "" {
			return refusal("", []string{m.Origin}, "slices cannot have %s", m.alien)
		}
		if m.header != p.program.modules[0].header {
			return refusal("", []string{p.program.modules[0].Origin, m.Origin}, "modules were scanned for different targets")
		}
	}
	return nil
}

// provided reports whether the driver or the device runtime has a function.
func (p *planner) provided(name string) bool {
	return p.options.Release.DriverDefines(name) || (p.options.Provided != nil && p.options.Provided(name))
}

// checkNames refuses programs that the compiler would complain about, so that it
// does: slices might not notice.
func (p *planner) checkNames() *message.Message {
	for number := range p.program.module {
		s := p.program.symbol(number)
		n := p.program.names[s.name]
		switch {
		case s.defined && s.linkage == ptx.Visible:
			if n.winner != number {
				return refusal(s.name, p.program.origins(n.defined...), "'%s' is defined more than once", s.name)
			}
		case s.defined || len(n.defined) > 0 || s.kind == ".shared":
		case s.isFunction() && p.provided(s.name):
		default:
			return refusal(s.name, p.program.origins(number), "'%s' is not defined", s.name)
		}
	}
	return nil
}

// origins names the modules of definitions.
func (p *program) origins(numbers ...int) []string {
	var list []string
	for _, number := range numbers {
		list = append(list, p.modules[p.module[number]].Origin)
	}
	return list
}

// findKernels finds the kernels that host code can name or find in variables, and
// those that these can launch. Of a template's kernel, which several modules have, the
// winner counts.
func (p *planner) findKernels() *message.Message {
	wanted := map[int]bool{}
	var todo []int
	want := func(number int) {
		s := p.program.symbol(number)
		if s.linkage != ptx.Local {
			number = p.program.names[s.name].winner
		}
		if s.kind == ".entry" && s.defined && !wanted[number] {
			wanted[number] = true
			todo = append(todo, number)
		}
	}
	for number := range p.program.module {
		s := p.program.symbol(number)
		switch {
		case s.kind == ".entry" && p.host.keeps(s):
			want(number)
		case s.isData() && len(s.refs) > 0 && p.host.keeps(s): // it may point to kernels
			for _, to := range p.program.reachable([]int{number}).symbols {
				want(to)
			}
		}
	}
	for len(todo) > 0 {
		k := &kernel{number: todo[0], reach: p.program.reachable(todo[:1])}
		k.units = p.program.units(k.reach)
		if s := p.program.symbol(k.number); !p.program.nameable(k.number) {
			return refusal(s.name, p.program.origins(k.number),
				"the kernel '%s' cannot be told from others by its name", s.name)
		}
		p.kernels, todo = append(p.kernels, k), todo[1:]
		for _, number := range k.reach.symbols {
			want(number)
		}
	}
	slices.SortFunc(p.kernels, func(a, b *kernel) int { return a.number - b.number })
	switch len(p.kernels) {
	case 0:
		return refusal("", nil, "the program has no kernel that host code can launch")
	case 1:
		return refusal("", nil, "the program has one kernel that host code can launch")
	}
	return nil
}

// plan makes slices of sets of kernels.
func (p *planner) plan(sets [][]*kernel, reaches []reach) *Plan {
	plan := &Plan{program: p.program}
	if lost := p.onlyInData(p.share(reaches), reaches); len(lost) > 0 {
		sets, reaches = append(sets, nil), append(reaches, p.program.reachable(lost))
	}
	shared := p.share(reaches)
	for i, set := range sets {
		plan.Slices = append(plan.Slices, p.slice(plan, set, reaches[i], shared))
	}
	for number := range p.program.module {
		if shared[number] {
			plan.shared = append(plan.shared, number)
		}
	}
	plan.Amplification = p.amplification(reaches)
	return plan
}

// share finds the variables that slices share with each other or with the host, by
// the definition that wins.
func (p *planner) share(reaches []reach) map[int]bool {
	user, shared := map[int]int{}, map[int]bool{}
	for i, r := range reaches {
		for _, number := range r.symbols {
			key := p.program.key(number)
			if first, used := user[key]; used && first != i && p.program.canShare(number) {
				shared[key] = true
			} else if !used {
				user[key] = i
			}
		}
	}
	for number := range p.program.module {
		if s := p.program.symbol(number); s.defined && p.host.keeps(s) {
			p.shareAll(shared, number)
		}
	}
	return shared
}

// shareAll adds a variable and those that it points to, which need names too.
func (p *planner) shareAll(shared map[int]bool, number int) {
	key := p.program.key(number)
	if shared[key] || !p.program.canShare(key) {
		return
	}
	shared[key] = true
	base := p.program.first[p.program.module[key]]
	for _, r := range p.program.symbol(key).refs {
		p.shareAll(shared, p.program.resolve(base+r))
	}
}

// key is one number for all copies of a definition.
func (p *program) key(number int) int {
	if s := p.symbol(number); s.linkage != ptx.Local && p.names[s.name].winner >= 0 {
		return p.names[s.name].winner
	}
	return number
}

// canShare reports whether a definition is a variable that can be named everywhere.
func (p *program) canShare(number int) bool {
	s := p.symbol(number)
	return s.isData() && s.defined && !s.literal && !p.pinned[number]
}

// onlyInData lists the shared variables that point to functions and that no slice
// has. A slice that has one has its functions, too, under their names.
func (p *planner) onlyInData(shared map[int]bool, reaches []reach) []int {
	have := map[int]bool{}
	for _, r := range reaches {
		for _, number := range r.symbols {
			have[p.program.key(number)] = true
		}
	}
	var lost []int
	for number := range p.program.module {
		m := p.program.modules[p.program.module[number]]
		if shared[number] && !have[number] &&
			slices.ContainsFunc(p.program.symbol(number).refs, func(r int) bool { return m.symbols[r].kind == ".func" }) {
			lost = append(lost, number)
		}
	}
	return lost
}

// slice makes one of a set of kernels.
func (p *planner) slice(plan *Plan, set []*kernel, r reach, shared map[int]bool) *Slice {
	s := &Slice{plan: plan, reach: r, Modules: r.modules, listed: map[string]int{}, Size: p.program.size(r)}
	lists := map[string][]string{}
	list := func(number int) {
		symbol := p.program.symbol(number)
		lists[listOf(symbol)] = append(lists[listOf(symbol)], symbol.name)
	}
	for _, k := range set {
		s.Kernels = append(s.Kernels, p.program.symbol(k.number).name)
		list(k.number)
	}
	for _, number := range r.symbols {
		if key := p.program.key(number); shared[key] {
			name := p.program.symbol(key).name
			if _, twice := s.listed[name]; !twice {
				s.listed[name] = key
				list(key)
			}
		}
	}
	s.Vector = append(slices.Clone(p.rest), hostVector(lists)...)
	return s
}

// notWorthIt is the reason why cut left all in one set.
func (p *planner) notWorthIt() *message.Message {
	if size := p.weight(p.kernels); size <= p.options.Size {
		return refusal("", nil, "the program is too small to gain from it: about %d KB of code, and a slice may have %d",
			size>>10, p.options.Size>>10)
	}
	return refusal("", nil, "its kernels share so much code that slices would compile more than %.1f times as much",
		p.options.Amplification)
}
