package slice

// inlined is the size below which a function is taken to be part of its callers
// after optimization. The compiler inlines almost everything; what it keeps apart is
// large.
const inlined = 8 << 10

// A unit is what the compiler works on: a kernel or a large function, with all the
// small functions that it calls. A small function is work in each unit that uses it,
// in slices as in the whole program; only large ones are done again by slicing.
func (p *program) isUnit(number int) bool {
	s := p.symbol(number)
	return s.defined && (s.kind == ".entry" || (s.kind == ".func" && s.size >= inlined))
}

// resolve returns the definition that a symbol of a module stands for, itself if
// there is none.
func (p *program) resolve(number int) int {
	if s := p.symbol(number); !s.defined && p.names[s.name].winner >= 0 {
		return p.names[s.name].winner
	}
	return number
}

// units are those that a reach has, each once.
func (p *program) units(r reach) []int {
	seen := map[int]bool{}
	var list []int
	for _, number := range r.symbols {
		if key := p.key(number); p.isUnit(key) && !seen[key] {
			seen[key] = true
			list = append(list, key)
			p.measure(key)
		}
	}
	return list
}

// measure finds the work of a unit: the size of all the code in it.
func (p *program) measure(unit int) {
	if p.work[unit] > 0 {
		return
	}
	seen := map[int]bool{unit: true}
	for todo := []int{unit}; len(todo) > 0; {
		number := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		p.work[unit] += p.symbol(number).size
		base := p.first[p.module[number]]
		for _, r := range p.symbol(number).refs {
			to := p.resolve(base + r)
			if !seen[to] && p.symbol(to).kind == ".func" && !p.isUnit(to) {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
}

// size is the work of a reach.
func (p *program) size(r reach) int {
	sum := 0
	for _, unit := range p.units(r) {
		sum += p.work[unit]
	}
	return sum
}

// amplification is the work of all slices over that of the program.
func (p *planner) amplification(reaches []reach) float64 {
	sum := 0
	for _, r := range reaches {
		sum += p.program.size(r)
	}
	return float64(sum) / float64(max(1, p.program.size(p.joined(p.kernels))))
}
