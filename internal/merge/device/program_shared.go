package device

import (
	"fmt"
	"maps"
	"slices"

	"github.com/warpld/warpld/internal/listsort"
	"github.com/warpld/warpld/internal/object/elf64"
)

// Sizes of shared memory.
const (
	dynamicAlign = 16
	maxColours   = 1 << 12 // more variables than fit into the memory
)

// commonName is the section that the variables of device functions come in, and
// dynamic memory.
const commonName = ".nv_debug.shared"

// A sharedLayout gives shared variables their offsets. Until then a variable
// has only a size and an alignment, like a common symbol.
type sharedLayout struct {
	rules    *ruleSet
	symbols  *symbolTable
	sections *sectionTable
	calls    *callGraph
	report   *linkReport

	users   map[symbolID]map[symbolID]bool // kernels that reach a use of the variable
	dynamic map[symbolID]bool              // kernels that reach a use of dynamic memory
	// dynamicUsers are the device functions that use dynamic memory.
	dynamicUsers map[symbolID]bool
	// common are the variables of device functions, the largest first.
	common  []symbolID
	colours []colour
	end     uint64                  // of the last colour
	own     map[symbolID][]symbolID // by kernel: its variables, then the common ones that it alone uses
	// anyDynamic: some input names dynamic memory.
	anyDynamic bool
}

// A colour is a place for variables of which no kernel uses two, so that one
// offset holds in all kernels.
type colour struct {
	variables []symbolID
	users     map[symbolID]bool
}

func layOutShared(out *output) error {
	out.symbols.referred = map[symbolID]bool{}
	s := &sharedLayout{rules: out.rules, symbols: out.symbols, sections: out.sections, calls: out.calls,
		report: out.report,
		users:  map[symbolID]map[symbolID]bool{}, dynamicUsers: map[symbolID]bool{}, dynamic: map[symbolID]bool{}}
	s.findUsers()
	if id := slices.IndexFunc(s.symbols.shared, s.unused); id >= 0 && out.rules.options.Debug {
		return unsupported("", "with -g, the symbol of '%s', a shared variable that no code refers to",
			out.symbols.list[s.symbols.shared[id]].name)
	}
	s.findCommon()
	s.findOwn()
	s.colour()
	if len(s.colours) > maxColours {
		return unsupported("", "%d shared variables that kernels have in common", len(s.colours))
	}
	end := s.placeColours()
	if s.rules.options.Debug && s.end > s.rules.sharedLimit {
		// it takes it for a kernel's
		return unsupported("", "what nvlink says of common shared memory of %d bytes with -g", s.end)
	}
	//rule: Since 13.1 the common section is aligned before the kernels.
	//mutate: false
	if s.rules.merge.AlignsCommonFirst {
		s.alignCommon()
	}
	if err := s.addSections(end); err != nil {
		return err
	}
	for _, k := range out.calls.reached.kernels {
		s.layOutKernel(k, end)
	}
	s.agreeOnDynamic()
	for _, k := range out.calls.reached.kernels {
		s.finishKernel(k)
	}
	s.finishCommon()
	return nil
}

// addSections adds the sections of kernels that are not launched and turn out to need one:
// for a variable that such a kernel alone uses, and for common or dynamic memory.
func (s *sharedLayout) addSections(ends map[symbolID]uint64) error {
	for _, id := range s.common {
		if s.symbols.list[id].defined() && len(s.users[id]) == 1 {
			for k := range s.users[id] {
				//rule: A kernel that is not launched has memory when a variable needs it, the largest first.
				s.symbols.list[k].function.shared = s.sections.newShared(k)
			}
		}
	}
	added := 0
	for _, k := range s.calls.reached.kernels {
		if f := s.symbols.list[k].function; f.shared == noSection && (ends[k] > 0 || s.dynamic[k]) {
			//rule: A kernel that is not launched has memory when it uses what others use, or dynamic memory.
			f.shared = s.sections.newShared(k)
			added++
		}
	}
	if added > 1 {
		return unsupported("", "the order of %d kernels that only device code launches, with memory in common", added)
	}
	return nil
}

// unused reports whether no code refers to a variable.
func (s *sharedLayout) unused(id symbolID) bool {
	return s.symbols.list[id].defined() && !s.symbols.list[id].shared.referred
}

// findUsers finds the kernels that reach a relocation on each variable.
func (s *sharedLayout) findUsers() {
	for _, id := range s.symbols.shared {
		s.users[id] = map[symbolID]bool{}
		s.anyDynamic = s.anyDynamic || !s.symbols.list[id].defined()
	}
	for i := range s.sections.list {
		out := &s.sections.list[i]
		if out.function == noSymbol || len(out.edits.relocations) == 0 {
			continue
		}
		for _, r := range out.edits.relocations {
			if !s.symbols.list[r.symbol].isShared() {
				continue
			}
			s.symbols.referred[r.symbol] = true
			for _, k := range s.calls.reached.by[out.function] {
				s.users[r.symbol][k] = true
				if !s.symbols.list[r.symbol].defined() {
					s.dynamic[k] = true
				}
			}
			if f := out.function; !s.symbols.list[r.symbol].defined() && !s.symbols.list[f].isKernel() {
				s.dynamicUsers[f] = true
			}
		}
	}
}

// ownedByKernel reports whether a variable is in the section of a kernel.
func (s *sharedLayout) ownedByKernel(id symbolID) bool {
	y := &s.symbols.list[id]
	return y.defined() && s.sections.list[y.section].owner != noSection
}

func (s *sharedLayout) findCommon() {
	//rule: Common variables count from the newest.
	//mutate: forward
	for _, id := range slices.Backward(s.symbols.shared) {
		if !s.ownedByKernel(id) {
			s.common = append(s.common, id)
		}
	}
	s.common = listsort.Sort(s.common, func(p, q symbolID) bool {
		a, b := s.symbols.list[p].size, s.symbols.list[q].size
		//rule: The sort of shared variables is not stable.
		//mutate: false
		if a == b {
			return true
		}
		//rule: The largest common variable comes first.
		//mutate: a > b -> a < b
		return a > b
	})
}

// colour shares places among the variables that do not belong to one kernel
// alone: each gets the first place where it is in nobody's way.
func (s *sharedLayout) colour() {
	for _, id := range s.common {
		//rule: A variable that one kernel uses is placed for it alone.
		//mutate: true len(users) != 1
		if users := s.users[id]; s.symbols.list[id].defined() && len(users) != 1 && len(s.colours) <= maxColours {
			s.colours = addColour(s.colours, id, users)
		}
	}
}

func addColour(colours []colour, id symbolID, users map[symbolID]bool) []colour {
	for i := range colours {
		//rule: Common variables of which no kernel uses two share a place.
		//mutate: false
		if c := &colours[i]; !overlap(users, c.users) {
			c.variables = append(c.variables, id)
			for k := range users {
				c.users[k] = true
			}
			return colours
		}
	}
	c := colour{variables: []symbolID{id}, users: map[symbolID]bool{}}
	for k := range users {
		c.users[k] = true
	}
	return append(colours, c)
}

func overlap(a, b map[symbolID]bool) bool {
	for k := range a {
		if b[k] {
			return true
		}
	}
	return false
}

// placeColours lays the colours out one after the other, and gives for every
// kernel where the last one that it uses ends.
func (s *sharedLayout) placeColours() map[symbolID]uint64 {
	ends, end := map[symbolID]uint64{}, uint64(0)
	defer func() { s.end = end }()
	for _, c := range s.colours {
		var align, size uint64
		for _, id := range c.variables {
			align, size = max(align, s.symbols.list[id].align), max(size, s.symbols.list[id].size)
		}
		//rule: A place has the largest alignment of its variables.
		//mutate: alignUp(end, align) -> end + 0*align
		at := alignUp(end, align)
		end = at + size
		for _, id := range c.variables {
			y := &s.symbols.list[id]
			//rule: Since 13.4 a shared variable that no code refers to has no address.
			//mutate: true isVisible(s.rules, s.symbols, id)
			y.shared.placed, y.shared.address = isVisible(s.rules, s.symbols, id), at
			for k := range s.users[id] {
				ends[k] = max(ends[k], at+y.size)
			}
		}
	}
	return ends
}

// layOutKernel places the variables that only this kernel uses after the
// common ones: the largest alignment first, then the smallest size.
func (s *sharedLayout) layOutKernel(k symbolID, ends map[symbolID]uint64) {
	f, out, end := s.symbols.list[k].function, s.ofKernel(k), ends[k]
	if out == nil {
		return
	}
	if s.sharesMemory() {
		//rule: Common variables align the memory of all kernels.
		out.align = max(out.align, s.commonSection().align)
	}
	for _, id := range s.own[k] {
		y := &s.symbols.list[id]
		y.section = f.shared
		out.align = max(out.align, y.align)
		y.shared.placed, y.shared.address = true, alignUp(end, y.align)
		end = y.shared.address + y.size
	}
	if s.dynamic[k] {
		//rule: Dynamic memory is aligned to 16.
		//mutate: alignUp(end, dynamicAlign) -> end
		end, out.align = alignUp(end, dynamicAlign), max(out.align, dynamicAlign)
	}
	out.dynamic = end
}

// agreeOnDynamic makes dynamic memory start at one place for all kernels that
// reach a device function which uses it, and for all that these agree with. For
// debuggers a variable is at one place in all kernels.
func (s *sharedLayout) agreeOnDynamic() {
	leader := map[symbolID]symbolID{}
	find := func(k symbolID) symbolID {
		for leader[k] != k {
			leader[k] = leader[leader[k]]
			k = leader[k]
		}
		return k
	}
	for _, k := range s.calls.reached.kernels {
		leader[k] = k
	}
	for f := range s.dynamicUsers {
		for _, k := range s.calls.reached.by[f] {
			leader[find(k)] = find(s.calls.reached.by[f][0])
		}
	}
	for _, group := range s.dynamicGroups() {
		for _, k := range group.kernels {
			//rule: With -g dynamic memory is at one place for all users of a variable.
			leader[find(k)] = find(group.kernels[0])
		}
	}
	start := map[symbolID]uint64{}
	for _, k := range s.calls.reached.kernels {
		if out := s.ofKernel(k); out != nil {
			start[find(k)] = max(start[find(k)], out.dynamic)
		}
	}
	for _, k := range s.calls.reached.kernels {
		if out := s.ofKernel(k); out != nil {
			//rule: Dynamic memory starts at one place in kernels that reach the same use.
			out.dynamic = start[find(k)]
		}
	}
	for _, group := range s.dynamicGroups() {
		//rule: With -g dynamic memory has an address even if no kernel uses it.
		//mutate: true -> len(group.kernels) > 0
		group.variable.shared.placed = true
		if len(group.kernels) > 0 {
			group.variable.shared.address = start[find(group.kernels[0])]
		}
	}
}

// A dynamicGroup is a variable of dynamic memory that debuggers see, and the
// kernels that use it.
type dynamicGroup struct {
	variable *symbol
	kernels  []symbolID
}

func (s *sharedLayout) dynamicGroups() (groups []dynamicGroup) {
	for _, id := range s.symbols.shared {
		if y := &s.symbols.list[id]; s.rules.options.Debug && !y.defined() {
			groups = append(groups, dynamicGroup{y, slices.Sorted(maps.Keys(s.users[id]))})
		}
	}
	return groups
}

// showShared gives the symbols of shared variables their sections and values,
// for debuggers. Since 13.4 those of one kernel are local, and those that no code
// refers to are not there.
func showShared(rules *ruleSet, symbols *symbolTable, sections *sectionTable) error {
	if !rules.options.Debug {
		return nil
	}
	for _, id := range symbols.shared {
		y := &symbols.list[id]
		y.value = y.shared.address
		y.dead = y.defined() && !isVisible(rules, symbols, id)
		if !y.defined() {
			y.section = sections.byOwner[sectionKey{commonName, noSection}]
		}
		out := &sections.list[y.section]
		if out.owner != noSection && rules.merge.LocalKernelShared {
			//rule: With -g variables of one kernel are local since 13.4.
			y.binding = elf64.Local
		}
		if out.size > rules.reservedShared {
			//rule: With -g addresses from sm_90 on begin after what the system reserves.
			y.value += rules.reservedShared
		}
	}
	return nil
}

// ofKernel is the section of a kernel's memory, or nil if it has none.
func (s *sharedLayout) ofKernel(k symbolID) *section {
	if id := s.symbols.list[k].function.shared; id != noSection {
		return &s.sections.list[id]
	}
	return nil
}

// sharedOf returns the section of a kernel's memory, or an empty one.
func (sections *sectionTable) sharedOf(f *function) *section {
	if f.shared == noSection {
		return &section{}
	}
	return &sections.list[f.shared]
}

// finishKernel decides what becomes of the section of a kernel.
func (s *sharedLayout) finishKernel(k symbolID) {
	out := s.ofKernel(k)
	if out == nil {
		return
	}
	end := out.dynamic
	out.size = end
	if s.rules.mercury && end == 0 {
		s.symbols.list[out.symbol].dead = true
	}
	//rule: Empty shared memory stays if it is aligned for dynamic memory.
	//mutate: true !(s.anyDynamic && out.align >= dynamicAlign)
	out.dropped = end == 0 && !(s.anyDynamic && out.align >= dynamicAlign)
	//rule: From sm_90 on shared memory has 1024 bytes more.
	//mutate: false
	if !out.dropped {
		out.size += s.rules.reservedShared
	}
	if out.size == 0 {
		s.symbols.list[out.symbol].dead = true
	}
	//rule: Shared memory has a limit.
	//mutate: false
	if limit := s.rules.sharedLimit; end > limit {
		s.tooMuch(k, end, limit)
	}
}

// tooMuch notes that a kernel has more memory than there is.
func (s *sharedLayout) tooMuch(k symbolID, end, limit uint64) {
	const kind = "too-much-shared"
	var notes []string
	if s.report.explains(kind) {
		notes = s.explainMemory(k)
	}
	s.report.fail(kind, &s.symbols.list[k],
		fmt.Sprintf("Entry function '%s' uses too much shared data (%#x bytes, %#x max)", s.symbols.list[k].name, end,
			limit), notes...)
}

// counts reports whether a variable is there for others to see. Since 13.4 those
// don't count that no code refers to, be it live or not: they are of a weak
// function that was replaced.
func isVisible(rules *ruleSet, symbols *symbolTable, id symbolID) bool {
	return !rules.merge.EmitsOnlyReferencedShared || symbols.referred[id]
}

// sharesMemory reports whether there are variables that kernels may have in
// common. Those don't count that no code refers to, be it live or not. Since 13.4
// code does not count either that was replaced.
func (s *sharedLayout) sharesMemory() bool {
	return slices.ContainsFunc(s.colours, func(c colour) bool {
		return slices.ContainsFunc(c.variables, func(id symbolID) bool {
			//rule: Only those count that code refers to, since 13.4 without what was replaced.
			//mutate: true
			return s.symbols.referred[id] || (s.rules.merge.CountsReplacedReferences && s.symbols.list[id].shared.referred)
		})
	})
}

// findOwn finds the variables that are to be placed for one kernel only.
func (s *sharedLayout) findOwn() {
	s.own = map[symbolID][]symbolID{}
	for _, id := range s.symbols.shared {
		if s.ownedByKernel(id) {
			k := s.sections.list[s.symbols.list[id].section].function
			s.own[k] = append(s.own[k], id)
		}
	}
	for _, id := range s.common {
		if users := s.users[id]; len(users) == 1 && s.symbols.list[id].defined() {
			for k := range users {
				s.own[k] = append(s.own[k], id)
			}
		}
	}
	for k, own := range s.own {
		//rule: A kernel's variables are sorted from the newest.
		slices.Reverse(own)
		s.own[k] = listsort.Sort(own, func(p, q symbolID) bool {
			a, b := &s.symbols.list[p], &s.symbols.list[q]
			//rule: A kernel's variables: the largest alignment, then the smallest size first.
			//mutate: a.size < b.size -> a.size > b.size
			return a.align > b.align || (a.align == b.align && a.size < b.size)
		})
	}
}

// commonSection is the one that the variables of device functions came in.
func (s *sharedLayout) commonSection() *section {
	if id, ok := s.sections.byOwner[sectionKey{commonName, noSection}]; ok {
		return &s.sections.list[id]
	}
	return nil
}

// alignCommon makes the common section fit for dynamic memory. Since 13.1 that
// comes before the kernels are aligned to it.
func (s *sharedLayout) alignCommon() {
	if out := s.commonSection(); out != nil && s.anyDynamic {
		out.align = max(out.align, dynamicAlign)
	}
}

// finishCommon empties the section of the common variables, which now belong
// to the kernels. It stays only for the sake of dynamic memory.
func (s *sharedLayout) finishCommon() {
	out := s.commonSection()
	if out == nil {
		return
	}
	//rule: Dynamic memory aligns the common section.
	s.alignCommon()
	//rule: The common section stays for dynamic memory only.
	//mutate: true !s.anyDynamic
	out.size, out.dropped = 0, !s.anyDynamic
	if s.rules.options.Debug && s.sharesMemory() {
		//rule: With -g the section of common shared memory keeps its size.
		out.size, out.dropped = s.end, false
	}
	if s.rules.mercury || (s.rules.options.Debug && !out.dropped) {
		out.size += s.rules.reservedShared
	}
	//rule: Its symbol goes.
	s.symbols.list[out.symbol].dead = !s.rules.options.Debug || out.size == 0
}
