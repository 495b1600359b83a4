package cubin_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

func TestRows(t *testing.T) {
	const table = "\x03\x1b\xff\x00" + "\x04\x2f\x08\x00\x01\x00\x00\x00\x28\x00\x00\x00" + "\x07\x99\x01\x00" +
		"\x04\x0f\x00\x00"
	tests := []struct {
		name, table string
		rows        int
		text        string
	}{
		{"whole", table, 4, ""},
		{"nothing", "", 0, ""},
		{"cut in a head", table[:len(table)-1], 3, "not as the ELF format has it: 3 bytes after the last row"},
		{"cut in data", table[:15], 1, "not as the ELF format has it: attribute 0x2f of 8 bytes with 7 left"},
	}
	for _, test := range tests {
		rows, text := 0, ""
		for row, err := range cubin.Rows([]byte(test.table)) {
			if err != nil {
				text = err.Error()
				if !errors.Is(err, elf64.ErrFormat) {
					t.Errorf("%s: %v is no error of the format", test.name, err)
				}
				continue
			}
			if cap(row.Data) != len(row.Data) || (row.Format != cubin.EIFMT_SVAL && row.Data != nil) {
				t.Errorf("%s: %+v", test.name, row)
			}
			rows++
		}
		if rows != test.rows || text != test.text {
			t.Errorf("%s: %d rows, %q; want %d, %q", test.name, rows, text, test.rows, test.text)
		}
	}
	for row := range cubin.Rows([]byte(table)) {
		if row.Attribute != cubin.EIATTR_MAXREG_COUNT || row.Value != 0xff {
			t.Errorf("the first row is %+v", row)
		}
		break
	}
}

func TestNames(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{cubin.EIATTR_REGCOUNT.String(), "EIATTR_REGCOUNT"},
		{cubin.Attribute(0xfe).String(), "0xfe"},
		{cubin.EICOMPAT_ATTR_ISA_CLASS.String(), "EICOMPAT_ATTR_ISA_CLASS"},
		{cubin.EICOMPAT_ATTR_0D.String(), "0xd"},
		{cubin.EIFMT_SVAL.String(), "EIFMT_SVAL"},
		{cubin.Format(0).String(), "0x0"},
		{cubin.Format(5).String(), "0x5"},
		{cubin.R_CUDA_CONST_FIELD19_40.String(), "R_CUDA_CONST_FIELD19_40"},
		{cubin.Relocation(9999).String(), "9999"},
		{cubin.SectionTypeName(cubin.SHT_CUDA_CONSTANT_B0 + 17), "SHT_CUDA_CONSTANT_B17"},
		{cubin.SectionTypeName(cubin.SHT_CUDA_CONSTANT_B0 + cubin.ConstantBanks), "0x70000076"},
		{cubin.SectionTypeName(cubin.SHT_CUDA_INFO), "SHT_CUDA_INFO"},
		{cubin.SectionTypeName(elf64.ProgBits), "SHT_PROGBITS"},
	} {
		if test.got != test.want {
			t.Errorf("%q; want %q", test.got, test.want)
		}
	}
}

// FuzzRows checks that the rows of a table are the table again, up to where it is cut.
func FuzzRows(f *testing.F) {
	f.Add([]byte("\x03\x1b\xff\x00\x04\x2f\x08\x00\x01\x00\x00\x00\x28\x00\x00\x00"))
	f.Add([]byte("\x04\x2f\x08\x00\x01"))
	f.Add([]byte("\x02\x09"))
	f.Fuzz(func(t *testing.T, table []byte) {
		var again []byte
		left := 0
		for row, err := range cubin.Rows(table) {
			if err != nil {
				left = err.Left
				if !err.Head {
					left += 4
				}
				continue
			}
			again = append(again, byte(row.Format), byte(row.Attribute))
			again = binary.LittleEndian.AppendUint16(again, row.Value)
			again = append(again, row.Data...)
		}
		if len(again)+left != len(table) || string(again) != string(table[:len(again)]) {
			t.Errorf("%x became %x with %d bytes left", table, again, left)
		}
	})
}
