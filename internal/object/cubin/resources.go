package cubin

import (
	"encoding/binary"
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

// Resources are what one launch of a kernel takes, as the file records it.
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
	Params   int         // bytes of parameters
	Images   Images
}

// A BankUsage is how many bytes a kernel has in a bank of constants.
type BankUsage struct {
	Bank  int
	Bytes uint64
}

// Resources returns what each kernel takes, in the order of their symbols.
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
	return list, f.readImages(symbols, byName, list)
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

// readUsage reads the attributes of all functions that are in one table.
func (f *File) readUsage(s *elf64.Section, bySymbol map[uint32]int, list []Resources) error {
	return f.attributes(s, func(row Row) {
		if len(row.Data) < 8 {
			return
		}
		at, ok := bySymbol[binary.LittleEndian.Uint32(row.Data)]
		if !ok {
			return
		}
		value := int(binary.LittleEndian.Uint32(row.Data[4:]))
		switch r := &list[at]; row.Attribute {
		case EIATTR_REGCOUNT:
			r.Registers = value
		case EIATTR_FRAME_SIZE:
			r.Frame = value
		case EIATTR_MIN_STACK_SIZE:
			r.Stack = value
		}
	})
}

// readKernel reads the attributes of one kernel.
func (f *File) readKernel(s *elf64.Section, r *Resources) error {
	return f.attributes(s, func(row Row) {
		switch row.Attribute {
		case EIATTR_NUM_BARRIERS:
			r.Barriers = int(row.Value & 0xff)
		case EIATTR_CBANK_PARAM_SIZE:
			r.Params = int(row.Value)
		case EIATTR_ANNOTATIONS:
			r.Spills += spills(row.Data)
		}
	})
}

// spills counts the instructions that are annotated to spill or refill. Annotations of
// other kinds may have another size, so that what follows them is not known.
func spills(notes []byte) (n int) {
	const size, spillRefill = 8, 1
	for ; len(notes) >= size && binary.LittleEndian.Uint32(notes) == spillRefill; notes = notes[size:] {
		n++
	}
	return n
}

// attributes calls do with each row of a section. Bytes after the last whole row are
// ignored.
func (f *File) attributes(s *elf64.Section, do func(Row)) error {
	b, err := f.Data(s, maxInfo)
	if err != nil {
		return err
	}
	for row, err := range Rows(b) {
		switch {
		case err == nil:
			do(row)
		case !err.Head:
			return &elf64.Error{Part: "section " + s.Name, Err: err}
		}
	}
	return nil
}
