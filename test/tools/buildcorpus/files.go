package main

import "path/filepath"

// readerFiles make one file of every format and variant that a linker meets.
func (c corpus) readerFiles() []step {
	lto := []string{"-gencode", "arch=compute_80,code=lto_80"}
	variants := []struct {
		name string // of the file
		args []string
	}{
		{"default.o", concat("-dc", lto)},
		{"stored.o", concat("-dc", "-no-compress", lto)},
		{"lz4.o", concat("-dc", "-compress-mode=speed", lto)},
		{"zstd.o", concat("-dc", "-compress-mode=size", lto)},
		{"aarch64.o", concat("-ccbin", "aarch64-linux-gnu-g++", "-dc", lto)},
		{"aarch64-stored.o", concat("-ccbin", "aarch64-linux-gnu-g++", "-dc", "-no-compress", lto)},
		{"all-targets.o", concat("-dc", everyIR)},
		{"suffixed-targets.o", concat("-dc", "-gencode", "arch=compute_90a,code=lto_90a", "-gencode", "arch=compute_100f,code=lto_100f")},
		{"ir-elf-ptx.o", concat("-dc", lto, "-gencode", "arch=compute_80,code=[compute_80,sm_80]", "-gencode", "arch=compute_90,code=sm_90")},
		{"elf-lz4.o", concat("-dc", "-arch=sm_80", "-compress-mode=speed")},
		{"elf-stored.o", concat("-dc", "-arch=sm_100", "-no-compress")},
		{"lineinfo.o", concat("-dc", "-lineinfo", lto)},
		{"maxreg.o", concat("-dc", "-maxrregcount=32", lto)},
		{"debug.o", concat("-dc", "-G", "-arch=sm_80")},
		{"whole-program.o", concat("-c", "-arch=sm_80")},
		{"default.fatbin", concat("-fatbin", "-rdc=true", lto)},
		{"stored.fatbin", concat("-fatbin", "-rdc=true", "-no-compress", lto)},
		{"lz4.fatbin", concat("-fatbin", "-rdc=true", "-compress-mode=speed", "-arch=sm_80")},
		{"zstd.fatbin", concat("-fatbin", "-rdc=true", "-compress-mode=size", "-arch=sm_100")},
		{"relocatable-80.cubin", concat("-cubin", "-rdc=true", "-arch=sm_80")},
		{"relocatable-100.cubin", concat("-cubin", "-rdc=true", "-arch=sm_100")},
		{"executable-90.cubin", concat("-cubin", "-arch=sm_90")},
		{"plain.ltoir", concat("-ltoir", "-dlto", "-arch=sm_80")},
		{"plain.ptx", concat("-ptx", "-arch=compute_80")},
	}
	// r8_math is big enough to be compressed, and hostref has all kinds of host references.
	var steps []step
	for _, v := range variants {
		source := filepath.Join(c.sources, "r8_math.cu")
		s := c.nvcc(c.files, source, "", nil, v.args)
		s.out = filepath.Join(c.files, v.name)
		steps = append(steps, s)
	}
	hostref := c.nvcc(c.files, filepath.Join(c.sources, "hostref.cu"), "", nil, concat("-dc", "-no-compress", lto))
	return append(steps, hostref, c.hostOnly(filepath.Join(c.files, "no-device-code.o")))
}

// hostOnly makes an object without device code.
func (c corpus) hostOnly(out string) step {
	source := filepath.Join(c.sources, "host.cc")
	return step{out: out, inputs: []string{source}, args: []string{"g++", "-c", source, "-o", "OUT"}}
}

// readerArchives make archives of the readers' files.
func (c corpus) readerArchives() []step {
	devrt := filepath.Join(c.tk.Lib(), "libcudadevrt.a")
	return []step{
		archive(c.files, "plain.a", "rcs", "default.o", "stored.o", "no-device-code.o"),
		archive(c.files, "thin.a", "rcsT", "default.o", "stored.o"),
		archive(c.files, "long-names.a", "rcs", "suffixed-targets.o", "aarch64-stored.o"), // 16 characters and more
		archive(c.files, "no-index.a", "rcS", "stored.o"),
		archive(c.files, "empty.a", "rcs"),
		{out: filepath.Join(c.files, "libcudadevrt.a"), inputs: []string{devrt}, args: []string{"cp", devrt, "OUT"}},
	}
}
