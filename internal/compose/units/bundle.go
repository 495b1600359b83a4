package units

import (
	"hash/fnv"
	"math/bits"
	"slices"
)

// bundles shares the kernels out to units, as places in the file. Each list is in the order of
// the file, and the lists are in the order of their first kernels.
//
// An edit of one kernel must not move other kernels to other units, because these would be
// assembled again. So the unit of a kernel is chosen by a hash of its name: all kernels that are
// not large are in one set at first, and a set that is larger than a unit may be is divided by
// the next bit of the hash, and so on. Whether a set is divided depends only on the kernels in
// it. Sizes are rounded up, so that most edits do not change them at all; one that does can
// divide the unit of the edited kernel, or join it with its other half, and no other unit.
func (c *cutter) bundles(size, shared int) [][]int {
	var all [][]int
	var together, rest []int
	for place := range c.order {
		if c.isTogether[place] {
			together = append(together, place)
		} else {
			rest = append(rest, place)
		}
	}
	if len(together) > 0 {
		all = append(all, together)
	}
	b := &bundler{size: max(size, shared), weights: make([]int, len(c.order)), hashes: make([]uint64, len(c.order))}
	var small []int
	for _, place := range rest {
		for _, f := range c.reached[place] {
			e := &c.module.Entities[c.functions[f].entity]
			b.weights[place] += e.End - e.Start
		}
		b.weights[place] = rounded(b.weights[place])
		b.hashes[place] = hash(c.functions[c.order[place]].name)
		if size == 0 || b.weights[place] >= b.size {
			all = append(all, []int{place})
		} else {
			small = append(small, place)
		}
	}
	if len(small) > 0 {
		all = append(all, b.divide(small, 0)...)
	}
	slices.SortFunc(all, func(p, q []int) int { return p[0] - q[0] })
	return all
}

// A bundler divides sets of kernels.
type bundler struct {
	size    int // how large a set may be
	weights []int
	hashes  []uint64
}

// divide returns the set, or what becomes of it if it is too large.
func (b *bundler) divide(set []int, bit int) [][]int {
	sum := 0
	for _, k := range set {
		sum += b.weights[k]
	}
	if sum <= b.size || len(set) == 1 || bit == 64 {
		return [][]int{set}
	}
	var halves [2][]int
	for _, k := range set {
		half := b.hashes[k] >> (63 - bit) & 1
		halves[half] = append(halves[half], k)
	}
	var all [][]int
	for _, half := range halves {
		if len(half) > 0 {
			all = append(all, b.divide(half, bit+1)...)
		}
	}
	return all
}

// rounded rounds a size up to one of four steps between powers of two.
func rounded(size int) int {
	step := 1 << max(bits.Len(uint(size))-3, 0)
	return (size + step - 1) &^ (step - 1)
}

// hash is a hash of a name in which every bit depends on all of it.
func hash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	x := h.Sum64()
	for range 2 {
		x = (x ^ x>>32) * 0xd6e8feb86659fd93
	}
	return x ^ x>>32
}
