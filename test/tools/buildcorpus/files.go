package main

import "path/filepath"

// A variant is one of the readers' files: its name, and nvcc's options for it.
type variant struct {
	name string
	args []string
}

// variants returns those that are compiled from one source. Neighbours that differ only in how
// the device code is packed are in one group.
func variants() [][]variant {
	lto := []string{"-gencode", "arch=compute_80,code=lto_80"}
	return [][]variant{
		{
			{"default.o", concat("-dc", lto)},
			{"stored.o", concat("-dc", "-no-compress", lto)},
			{"lz4.o", concat("-dc", "-compress-mode=speed", lto)},
			{"zstd.o", concat("-dc", "-compress-mode=size", lto)},
		},
		{
			{"aarch64.o", concat("-ccbin", "aarch64-linux-gnu-g++", "-dc", lto)},
			{"aarch64-stored.o", concat("-ccbin", "aarch64-linux-gnu-g++", "-dc", "-no-compress", lto)},
		},
		{{"all-targets.o", concat("-dc", everyIR)}},
		{{"suffixed-targets.o", concat("-dc", "-gencode", "arch=compute_90a,code=lto_90a", "-gencode",
			"arch=compute_100f,code=lto_100f")}},
		{{"ir-elf-ptx.o", concat("-dc", lto, "-gencode", "arch=compute_80,code=[compute_80,sm_80]", "-gencode",
			"arch=compute_90,code=sm_90")}},
		{{"elf-lz4.o", concat("-dc", "-arch=sm_80", "-compress-mode=speed")}},
		{{"elf-stored.o", concat("-dc", "-arch=sm_100", "-no-compress")}},
		{{"lineinfo.o", concat("-dc", "-lineinfo", lto)}},
		{{"maxreg.o", concat("-dc", "-maxrregcount=32", lto)}},
		{{"debug.o", concat("-dc", "-G", "-arch=sm_80")}},
		{{"whole-program.o", concat("-c", "-arch=sm_80")}},
		{
			{"default.fatbin", concat("-fatbin", "-rdc=true", lto)},
			{"stored.fatbin", concat("-fatbin", "-rdc=true", "-no-compress", lto)},
		},
		{{"lz4.fatbin", concat("-fatbin", "-rdc=true", "-compress-mode=speed", "-arch=sm_80")}},
		{{"zstd.fatbin", concat("-fatbin", "-rdc=true", "-compress-mode=size", "-arch=sm_100")}},
		{{"relocatable-80.cubin", concat("-cubin", "-rdc=true", "-arch=sm_80")}},
		{{"relocatable-100.cubin", concat("-cubin", "-rdc=true", "-arch=sm_100")}},
		{{"executable-90.cubin", concat("-cubin", "-arch=sm_90")}},
		{{"plain.ltoir", concat("-ltoir", "-dlto", "-arch=sm_80")}},
		{{"plain.ptx", concat("-ptx", "-arch=compute_80")}},
	}
}

// readerFiles returns the steps that make one file of every format and variant that a linker meets.
func (c corpus) readerFiles() []group {
	// r8_math is big enough to be compressed, and hostref has all kinds of host references.
	var groups []group
	for _, list := range variants() {
		var steps group
		for _, v := range list {
			s := c.nvcc(c.files, filepath.Join(c.sources, "r8_math.cu"), "", nil, v.args)
			s.out = filepath.Join(c.files, v.name)
			steps = append(steps, s)
		}
		groups = append(groups, steps)
	}
	hostref := c.nvcc(c.files, filepath.Join(c.sources, "hostref.cu"), "", nil,
		[]string{"-dc", "-no-compress", "-gencode", "arch=compute_80,code=lto_80"})
	return append(groups, group{hostref}, group{c.hostOnly(filepath.Join(c.files, "no-device-code.o"))})
}

// hostOnly makes an object without device code.
func (c corpus) hostOnly(out string) step {
	source := filepath.Join(c.sources, "host.cc")
	return step{out: out, inputs: []string{source}, args: []string{"g++", "-c", source, "-o", "OUT"}}
}

// readerArchives returns the steps that make archives of the readers' files.
func (c corpus) readerArchives() []group {
	devrt := filepath.Join(c.tk.Lib(), "libcudadevrt.a")
	return []group{
		{archive(c.files, "plain.a", "rcs", "default.o", "stored.o", "no-device-code.o")},
		{archive(c.files, "thin.a", "rcsT", "default.o", "stored.o")},
		{archive(c.files, "long-names.a", "rcs", "suffixed-targets.o", "aarch64-stored.o")}, // 16 characters and more
		{archive(c.files, "no-index.a", "rcS", "stored.o")},
		{archive(c.files, "empty.a", "rcs")},
		{{out: filepath.Join(c.files, "libcudadevrt.a"), inputs: []string{devrt}, args: []string{"cp", devrt, "OUT"}}},
	}
}
