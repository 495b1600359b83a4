package slice

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/ptx"
)

// DefaultSize makes slices of about a third of a second of libnvvm and ptxas, beside
// which the 30 ms that a slice costs by itself are little.
const DefaultSize = 128 << 10

// DefaultAmplification is where slicing starts to cost more than it brings.
const DefaultAmplification = 1.3

// pin finds the definitions that have to stay in one slice, because no other could
// name them: variables, and functions whose address is taken. Static variables of
// functions belong to them if some function writes them: the compiler would take their
// initial values for constants in one slice, and delete the stores in another. Variables
// that point to something pinned are pinned themselves.
func (p *program) pin() {
	done := make([]bool, len(p.module))
	var visit func(number int) bool
	visit = func(number int) bool {
		s := p.symbol(number)
		if done[number] || !s.defined || s.literal {
			return p.pinned[number]
		}
		done[number] = true
		switch {
		case s.kind == ".func":
			p.pinned[number] = s.taken && s.linkage == ptx.Local && !p.nameable(number)
		case s.isData():
			base := p.first[p.module[number]]
			p.pinned[number] = !p.nameable(number) || (s.isLocalStatic() && p.written[p.key(number)]) ||
				slices.ContainsFunc(s.refs, func(r int) bool { return visit(base + r) })
		}
		return p.pinned[number]
	}
	for number := range p.module {
		visit(number)
	}
}

// together groups the kernels that have to be in one slice, in link order.
func (p *planner) together() ([][]*kernel, *message.Message) {
	parent := make([]int, len(p.kernels))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for number, pinned := range p.program.pinned {
		if s := p.program.symbol(number); pinned && s.isData() && p.host.known && p.host.keeps(s) {
			return nil, refusal(s.name, p.program.origins(number),
				"host code refers to '%s', which cannot be told from others by its name", s.name)
		}
	}
	user := map[int]int{} // the first kernel that uses a pinned definition
	for i, k := range p.kernels {
		for _, number := range k.reach.symbols {
			if !p.program.pinned[number] {
				continue
			}
			first, used := user[p.program.key(number)]
			if !used {
				user[p.program.key(number)] = i
			} else if a, b := find(first), find(i); a != b {
				parent[max(a, b)] = min(a, b)
			}
		}
	}
	groups := map[int][]*kernel{}
	for i, k := range p.kernels {
		groups[find(i)] = append(groups[find(i)], k)
	}
	var list [][]*kernel
	for i := range p.kernels {
		if groups[i] != nil {
			list = append(list, groups[i])
		}
	}
	return list, nil
}

// apart joins sets until nothing pinned is in two of them. Modules of one kernel can
// bring in copies of weak functions that another of the set uses, so a set may reach
// more than its kernels do.
func (p *planner) apart(sets [][]*kernel) ([][]*kernel, []reach) {
	for {
		var reaches []reach
		owner := map[int]int{}
		clash := [2]int{}
		for i, set := range sets {
			reaches = append(reaches, p.joined(set))
			for _, number := range reaches[i].symbols {
				if first, owned := owner[p.program.key(number)]; p.program.pinned[number] && owned && first != i {
					clash = [2]int{first, i}
				} else if p.program.pinned[number] {
					owner[p.program.key(number)] = i
				}
			}
		}
		if clash[0] == clash[1] {
			return sets, reaches
		}
		sets[clash[0]] = append(sets[clash[0]], sets[clash[1]]...)
		sets = slices.Delete(sets, clash[1], clash[1]+1)
	}
}

// cut makes sets of kernels of groups of them, in link order, so that modules which
// belong together stay together.
//
// Where the cuts are depends on names alone: a block that is too large is cut, near
// its middle, before the kernel whose name has the smallest digest. Sizes decide
// only how far that goes, and they are rounded. So an edit of a function does not
// move other kernels, and a new kernel moves few.
func (p *planner) cut(groups [][]*kernel) [][]*kernel {
	whole := p.weight(slices.Concat(groups...))
	return p.halve(groups, float64(whole)*p.options.Amplification)
}

// halve cuts a block in two as long as the parts together have at most limit bytes.
func (p *planner) halve(groups [][]*kernel, limit float64) [][]*kernel {
	all := slices.Concat(groups...)
	if len(groups) < 2 || p.weight(all) <= p.options.Size {
		return [][]*kernel{all}
	}
	at := p.middle(groups)
	left, right := p.weight(slices.Concat(groups[:at]...)), p.weight(slices.Concat(groups[at:]...))
	both := float64(left + right)
	if both > limit {
		return [][]*kernel{all}
	}
	share := limit / both
	return append(p.halve(groups[:at], float64(left)*share), p.halve(groups[at:], float64(right)*share)...)
}

// middle chooses where to cut, in the middle half.
func (p *planner) middle(groups [][]*kernel) int {
	from, to := max(1, len(groups)/4), max(2, len(groups)-len(groups)/4)
	best := from
	for i := from + 1; i < to; i++ {
		if cmp.Less(p.rank(groups[i]), p.rank(groups[best])) {
			best = i
		}
	}
	return best
}

// rank is a number that depends on the name of a group's first kernel.
func (p *planner) rank(group []*kernel) uint64 {
	sum := sha256.Sum256([]byte(p.program.symbol(group[0].number).name))
	return binary.BigEndian.Uint64(sum[:])
}

// joined is what a set of kernels reaches together.
func (p *planner) joined(set []*kernel) reach {
	var numbers []int
	for _, k := range set {
		numbers = append(numbers, k.number)
	}
	return p.program.reachable(numbers)
}

// weight is the work that a set of kernels is, with sizes rounded to powers of two.
func (p *planner) weight(set []*kernel) int {
	seen, sum := map[int]bool{}, 0
	for _, k := range set {
		for _, unit := range k.units {
			if !seen[unit] {
				seen[unit] = true
				sum += 1 << bits.Len(uint(p.program.work[unit]*2/3)) // 2/3 to 4/3 of it
			}
		}
	}
	return sum
}
