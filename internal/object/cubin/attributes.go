package cubin

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/warpld/warpld/internal/object/elf64"
)

// A Row is a row of .nv.info or .nv.compat: format u8, attribute u8, value u16. After
// EIFMT_SVAL as many bytes follow as the value says; rows of other formats have none.
type Row struct {
	Format    Format
	Attribute Attribute
	Value     uint16
	Data      []byte // of EIFMT_SVAL
}

// Append appends the row to a table.
func (r Row) Append(b []byte) []byte {
	b = append(b, byte(r.Format), byte(r.Attribute))
	b = binary.LittleEndian.AppendUint16(b, r.Value)
	return append(b, r.Data...)
}

// A RowError is a table that ends within a row. Errors of this type wrap
// elf64.ErrFormat.
type RowError struct {
	// Head reports that not even the four bytes in front of every row are complete. Then
	// Attribute and Size are not known.
	Head      bool
	Attribute Attribute
	Size      int // bytes that the row should have after the first four
	Left      int // bytes that the table has
}

func (e *RowError) Error() string {
	if e.Head {
		return fmt.Sprintf("%v: %d bytes after the last row", elf64.ErrFormat, e.Left)
	}
	return fmt.Sprintf("%v: attribute %#x of %d bytes with %d left", elf64.ErrFormat, byte(e.Attribute), e.Size, e.Left)
}

func (e *RowError) Unwrap() error { return elf64.ErrFormat }

// Rows returns the rows of a table. A table that ends within a row ends the sequence with
// a RowError and an empty row. Rows of unknown formats are returned as they are: nobody
// knows whether bytes belong to them, so callers should check Format.Known. The data of
// rows is part of the table, without room to grow.
func Rows(table []byte) iter.Seq2[Row, *RowError] {
	return func(yield func(Row, *RowError) bool) {
		const head = 4
		for b := table; len(b) > 0; {
			if len(b) < head {
				yield(Row{}, &RowError{Head: true, Left: len(b)})
				return
			}
			row := Row{Format: Format(b[0]), Attribute: Attribute(b[1]), Value: binary.LittleEndian.Uint16(b[2:])}
			b = b[head:]
			if row.Format == EIFMT_SVAL {
				size := int(row.Value)
				if size > len(b) {
					yield(Row{}, &RowError{Attribute: row.Attribute, Size: size, Left: len(b)})
					return
				}
				row.Data, b = b[:size:size], b[size:]
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}
