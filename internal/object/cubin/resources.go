package cubin

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/object/elf64"
)

const (
	infoTable      = ".nv.info"
	sharedPrefix   = sharedSection + "."
	constantPrefix = ".nv.constant"

	maxInfo = 1 << 28
)

// Resources are what one launch of a kernel takes, as the file says it.
type Resources struct {
	Kernel    string
	Registers int // of a thread
	// Stack is what the kernel needs with all that it calls, and Frame the part of
	// it that is its own; both in bytes of a thread.
	Stack, Frame int
	Barriers     int
	// Spills are the instructions that move registers to the stack and back.
	Spills   int
	Shared   uint64      // bytes of a block, without what the launch adds
	Constant []BankUsage // in the order of the banks
	Code     uint64      // bytes of instructions
}

// A BankUsage is how many bytes a kernel has in a bank of constants.
type BankUsage struct {
	Bank  int
	Bytes uint64
}

// Resources gives what each kernel takes, in the order of their symbols.
func (f *File) Resources() ([]Resources, error) {
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	var list []Resources
	bySymbol := map[uint32]int{} // kernel in list
	byName := map[string]int{}
	for i, y := range symbols.All() {
		if IsKernel(y) {
			bySymbol[uint32(i)], byName[y.Name] = len(list), len(list)
			list = append(list, Resources{Kernel: y.Name, Code: y.Size})
		}
	}
	for i := range f.Sections {
		s := &f.Sections[i]
		switch kernel, bank, memory := memoryOf(s.Name); {
		case s.Name == infoTable:
			if err := f.readUsage(s, bySymbol, list); err != nil {
				return nil, err
			}
		case strings.HasPrefix(s.Name, infoTable+"."):
			if at, ok := byName[s.Name[len(infoTable)+1:]]; ok {
				if err := f.readKernel(s, &list[at]); err != nil {
					return nil, err
				}
			}
		case memory:
			if at, ok := byName[kernel]; ok {
				list[at].add(bank, s.Size)
			}
		}
	}
	return list, nil
}

// memoryOf takes the name of a section with memory of one kernel apart; bank is
// -1 for shared memory.
func memoryOf(section string) (kernel string, bank int, ok bool) {
	if kernel, ok = strings.CutPrefix(section, sharedPrefix); ok {
		return kernel, -1, true
	}
	rest, ok := strings.CutPrefix(section, constantPrefix)
	if !ok {
		return "", 0, false
	}
	digits, kernel, ok := strings.Cut(rest, ".")
	number, err := strconv.ParseUint(digits, 10, 5) // there are 18 banks
	return kernel, int(number), ok && err == nil
}

func (r *Resources) add(bank int, size uint64) {
	if bank < 0 {
		r.Shared = size
		return
	}
	at, found := slices.BinarySearchFunc(r.Constant, bank, func(b BankUsage, bank int) int { return b.Bank - bank })
	if !found {
		r.Constant = slices.Insert(r.Constant, at, BankUsage{Bank: bank})
	}
	r.Constant[at].Bytes += size
}

// Attributes of kernels.
const (
	frameAttribute     = 0x11 // symbol, bytes
	stackAttribute     = 0x12 // symbol, bytes
	registersAttribute = 0x2f // symbol, number
	barriersAttribute  = 0x4c // the number is the value of the row
	notesAttribute     = 0x55 // of each of some instructions, what it is for and its place
)

// readUsage reads the attributes of all functions that are in one table.
func (f *File) readUsage(s *elf64.Section, bySymbol map[uint32]int, list []Resources) error {
	return f.attributes(s, func(id byte, _ uint16, data []byte) {
		if len(data) < 8 {
			return
		}
		at, ok := bySymbol[binary.LittleEndian.Uint32(data)]
		if !ok {
			return
		}
		value := int(binary.LittleEndian.Uint32(data[4:]))
		switch r := &list[at]; id {
		case registersAttribute:
			r.Registers = value
		case frameAttribute:
			r.Frame = value
		case stackAttribute:
			r.Stack = value
		}
	})
}

// readKernel reads the attributes of one kernel.
func (f *File) readKernel(s *elf64.Section, r *Resources) error {
	return f.attributes(s, func(id byte, value uint16, data []byte) {
		switch id {
		case barriersAttribute:
			r.Barriers = int(value & 0xff)
		case notesAttribute:
			r.Spills += spills(data)
		}
	})
}

// spills counts the instructions that are noted to spill or refill. Notes of other kinds
// may have another size, so that what follows them is not known.
func spills(notes []byte) (n int) {
	const size, spillRefill = 8, 1
	for ; len(notes) >= size && binary.LittleEndian.Uint32(notes) == spillRefill; notes = notes[size:] {
		n++
	}
	return n
}

// attributes calls do with each row of a section.
func (f *File) attributes(s *elf64.Section, do func(id byte, value uint16, data []byte)) error {
	b, err := f.Data(s, maxInfo)
	if err != nil {
		return err
	}
	err = eachAttribute(b, func(id byte, value uint16, data []byte) bool {
		do(id, value, data)
		return true
	})
	if err != nil {
		return &elf64.Error{Part: "section " + s.Name, Err: err}
	}
	return nil
}

// eachAttribute calls do with each row of a table, until it says no: form u8,
// attribute u8, value u16, and after form 4 as many bytes as the value says. Rows of
// other forms have no bytes.
func eachAttribute(b []byte, do func(id byte, value uint16, data []byte) bool) error {
	const sized = 4
	for len(b) >= 4 {
		form, id, value := b[0], b[1], binary.LittleEndian.Uint16(b[2:])
		var data []byte
		if b = b[4:]; form == sized {
			if int(value) > len(b) {
				return fmt.Errorf("%w: attribute %#x of %d bytes with %d left", elf64.ErrFormat, id, value, len(b))
			}
			data, b = b[:value], b[value:]
		}
		if !do(id, value, data) {
			return nil
		}
	}
	return nil
}
