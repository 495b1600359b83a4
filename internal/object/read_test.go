package object

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/objecttest"
)

var (
	code   = objecttest.Cubin(objecttest.CubinFile{Arch: 80, Kernels: []string{"k"}})
	linked = objecttest.Cubin(objecttest.CubinFile{Arch: 80, Linked: true})
	irCode = objecttest.LTOIR(80, false)
	fat    = objecttest.Fatbin(objecttest.Member{Kind: 8, Arch: 80, Options: "-ftz=0 ", Payload: irCode},
		objecttest.Member{Kind: 2, Arch: 80, Payload: code, Compression: "zstd"})
	fat90   = objecttest.Fatbin(objecttest.Member{Kind: 2, Arch: 90, Payload: code, Compression: "lz4"})
	host    = objecttest.HostObject(fat, "_1_a_cu", objecttest.NoRefs())
	plain   = objecttest.HostObject(nil, "", nil)
	unknown = bytes.Repeat([]byte{'x'}, 100)
	text    = []byte("// Made by hand\n\n.version 9.0\n.target sm_75, texmode_independent\n.address_size 64\n")
)

// write makes files in a folder of the test and gives the folder.
func write(t testing.TB, files map[string][]byte) string {
	t.Helper()
	folder := t.TempDir()
	for name, data := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A file whose name and contents do not go together is read as nvlink reads it.
func TestRecognition(t *testing.T) {
	program := objecttest.ELF(objecttest.ELFFile{Type: 2})
	nonRDC := objecttest.ELF(objecttest.ELFFile{Sections: []objecttest.Section{{Name: ".nv_fatbin", Data: fat}}})
	only32 := bytes.Clone(plain)
	only32[4] = 1
	tests := []struct {
		name string
		data []byte
		lto  bool
		kind Kind
		want string // part of why it is ignored, or nvlink's message after "!"
	}{
		{"a.o", host, false, HostObject, ""},
		{"a.xyz", host, false, HostObject, ""},
		{"a.", host, false, HostObject, ""},
		{"a.rdc.a", host, false, HostObject, ""},
		{"a", host, false, Unknown, "no extension"},
		{"a.so", host, false, Unknown, "shared library"},
		{"a.so.1", host, false, HostObject, ""},
		{"a.o", plain, false, HostObject, "no device code"},
		{"a.o", nonRDC, false, HostObject, "-rdc=true"},
		{"a.out", program, false, Unknown, "linked program"},
		{"a.o", only32, false, Unknown, "32-bit"},
		{"a.o", host[:200], false, 0, "!Could not find fatbin in 'a.o'; elfLink internal error"},
		{"a.o", objecttest.HostObject(unknown, "", nil), false, 0, "!Could not find fatbin in 'a.o'; elfLink internal error"},
		{"a.o", objecttest.HostObject(make([]byte, 64), "", nil), false, 0,
			"!Could not find fatbin in 'a.o'; elfLink internal error"},

		{"a.cubin", code, false, Cubin, ""},
		{"a.o", code, false, Cubin, ""},
		{"a.obj", code, false, Cubin, "not called .cubin"},
		{"a.CUBIN", code, false, Cubin, "not called .cubin"},
		{"a.cubin", linked, false, Cubin, "linked already"},
		{"a.cubin", code[:len(code)-1], false, Cubin, "damaged"},
		{"a.cubin", code[:60], false, Cubin, "damaged"},
		{"a.cubin", host, false, 0, "!cubin not a device elf?"},
		{"a.cubin", fat, false, 0, "!cubin not an elf?"},

		{"a.fatbin", fat, false, Fatbin, ""},
		{"a.o", fat, false, Fatbin, "not called .fatbin"},
		{"a.fatbin", code, false, 0, "!fatbin wrong format?"},
		{"a.fatbin", fat[:len(fat)-9], false, 0, "!fatbin wrong format?"},

		{"a.ltoir", irCode, true, LTOIR, ""},
		{"a.nvvm", irCode, true, LTOIR, ""},
		{"a.ltoir", irCode, false, 0, "!should only see nvvm files when -lto"},
		{"a.ltoir", unknown, false, 0, "!should only see nvvm files when -lto"},
		{"a.ltoir", unknown, true, 0, "!elfLink nvvm error"},
		{"a.o", irCode, true, LTOIR, "not called .ltoir"},

		{"a.bc", irCode, true, 0, "!should never see bc files"},
		{"a.ptx", text, false, PTXFile, ""},
		{"a.ptx", append([]byte("\n\t/* two\nlines */ // one\n"), text...), true, PTXFile, ""},
		{"a.ptx", append([]byte("text "), text...), true, 0,
			"!Binary format for key='0', ident='' is not recognized; elfLink fatbinary error"},
		{"a.ptx", unknown, true, 0, "!Binary format for key='0', ident='' is not recognized; elfLink fatbinary error"},
		{"a.o", text, true, Unknown, "neither"},
		{"a.bc", gpuBitcode, false, 0, "!should never see bc files"},
		{"a.bc", gpuBitcode, true, Bitcode, ""},
		{"a.o", gpuBitcode, true, Bitcode, ""},
		{"a.o", gpuBitcode, false, Unknown, "neither"},
		{"a.bc", gpuBitcode[:len(gpuBitcode)-8], true, 0, "!Could not read the bitcode in 'a.bc'"},
		{"a.bc", hostBitcode, true, 0, "!the bitcode in 'a.bc' is for 'x86_64-linux-gnu', not for a GPU of NVIDIA's"},
		{"a.o", hostBitcode, true, Bitcode, "x86_64-linux-gnu"},
		{"a.o", clang, true, HostObject, ""},
		{"a.o", clang, false, HostObject, "no device code"},
		{"a.o", amdClang, true, HostObject, "not for a GPU of NVIDIA's"},
		{"a.o", brokenClang, true, 0, "!Could not read the bitcode in 'a.o'"},
		{"a.o", unknown, true, Unknown, "neither"},
		{"a.o", unknown[:55], true, 0, "!Could not open input file 'a.o'"},
		{"a.bc", unknown[:55], true, 0, "!Could not open input file 'a.bc'"},
		{"a.bc", nil, true, Unknown, "empty"},
		{"a.a", []byte("!<arch>\n" + strings.Repeat("x", 60)), true, 0, "!unexpected archive format; elfLink internal error"},
	}
	for _, test := range tests {
		t.Chdir(write(t, map[string][]byte{test.name: test.data}))
		objects, err := Read(test.name, test.lto, func(m *message.Message) { t.Errorf("%s: reported %v", test.name, m) })
		if text, ok := strings.CutPrefix(test.want, "!"); ok {
			if err == nil || message.Of(err).Error() != text {
				t.Errorf("%s (%d bytes): error %v, want %s", test.name, len(test.data), err, text)
			}
			continue
		}
		if err != nil || len(objects) != 1 {
			t.Errorf("%s (%d bytes): %d objects, %v", test.name, len(test.data), len(objects), err)
			continue
		}
		o := objects[0]
		if o.Kind != test.kind || !strings.Contains(o.Ignored, test.want) || (o.Ignored == "") != (test.want == "") {
			t.Errorf("%s (%d bytes): %v, ignored %q; want %v, %q", test.name, len(test.data), o.Kind, o.Ignored, test.kind,
				test.want)
		}
		if o.Origin.String() != test.name || (o.Ignored == "") != (len(o.Modules) > 0) {
			t.Errorf("%s: %d modules of %v", test.name, len(o.Modules), o.Origin)
		}
	}
}

func TestPTXFile(t *testing.T) {
	t.Chdir(write(t, map[string][]byte{"a.ptx": text}))
	objects, err := Read("a.ptx", false, nil)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	o := objects[0]
	if m := &o.Modules[0]; m.String() != "PTX for sm_75" || m.Major != 9 || m.Minor != 0 ||
		!strings.HasSuffix(o.RegisterID, "_a_ptx") {
		t.Errorf("it is %s %d.%d, registered as %s", m, m.Major, m.Minor, o.RegisterID)
	}
	// nvlink leaves it to ptxas to refuse a target that is too low.
	if m, found := o.Choose(Target{Arch: gpu.Arch{Number: 70}, LTO: true}); !found || m != &o.Modules[0] {
		t.Error("it does not fit")
	}
}

func TestUnreadable(t *testing.T) {
	t.Chdir(write(t, map[string][]byte{"folder.o/x": nil}))
	for _, path := range []string{"missing.o", "folder.o"} {
		_, err := Read(path, true, nil)
		if want := "Could not open input file '" + path + "'"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Read("missing.o", true, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v does not say why", err)
	}
}

// data gives kind, architecture and code of each module, as far as it is known.
func data(t *testing.T, o *Object) (got []string) {
	t.Helper()
	known := map[string]string{string(code): "code", string(irCode): "LTO-IR"}
	for i := range o.Modules {
		m := &o.Modules[i]
		b, err := m.Data()
		if err != nil {
			t.Errorf("%v: %v", m, err)
		}
		name := known[string(b)]
		if name == "" {
			name = known[strings.TrimRight(string(b), "\x00")]
		}
		got = append(got, m.String()+": "+name)
	}
	return got
}

func TestHostObject(t *testing.T) {
	refs := objecttest.NoRefs()
	refs[".nvHRKE"] = "_Z1k*"
	t.Chdir(write(t, map[string][]byte{"a.o": objecttest.HostObject(fat, "_1_a_cu", refs),
		"b.o": objecttest.HostObject(fat, "_2_b_cu", nil)}))
	objects, err := ReadAll(Inputs{Files: []string{"a.o", "b.o"}}, nil)
	if err != nil || len(objects) != 2 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	a, b := objects[0], objects[1]
	if a.HostRefs == nil || a.HostRefs.Kernels.External[0] != "_Z1k*" || b.HostRefs != nil {
		t.Errorf("host references are %v and %v", a.HostRefs, b.HostRefs)
	}
	if a.RegisterID != "_1_a_cu" || b.RegisterID != "_2_b_cu" {
		t.Errorf("ids are %q and %q", a.RegisterID, b.RegisterID)
	}
	if diff := cmp.Diff([]string{"LTO-IR for sm_80: LTO-IR", "ELF for sm_80: code"}, data(t, a)); diff != "" {
		t.Error(diff)
	}
	if a.Modules[0].Options != "-ftz=0 " {
		t.Errorf("options are %q", a.Modules[0].Options)
	}
	whole, err := a.Source.Read()
	if want, _ := os.ReadFile("a.o"); err != nil || !bytes.Equal(whole, want) {
		t.Errorf("the source has %d bytes, %v", len(whole), err)
	}
	container, err := a.Fatbin.Read()
	if err != nil || !bytes.Equal(container, fat) {
		t.Errorf("the fat binary has %d bytes, %v", len(container), err)
	}
	alone, err := a.Modules[0].Container()
	if want := objecttest.Fatbin(objecttest.Member{Kind: 8, Arch: 80, Options: "-ftz=0 ", Payload: irCode}); err != nil ||
		!bytes.Equal(alone, want) {
		t.Errorf("the module alone has %d bytes, %v", len(alone), err)
	}
}

// An object that "ld -r" made of several is several objects.
func TestMergedObject(t *testing.T) {
	both := append(append(bytes.Clone(fat), make([]byte, 8)...), fat90...)
	refs := objecttest.NoRefs()
	refs[".nvHRKE"] = "\x00_Z1k*"
	t.Chdir(
		write(t, map[string][]byte{"m.o": objecttest.HostObject(both, "_1_a_cu\x00\x00\x00__NV_MODULE_ID\x00_2_b_cu", refs)}))
	var reported []string
	objects, err := Read("m.o", false, func(m *message.Message) { reported = append(reported, m.ID) })
	if err != nil || len(objects) != 2 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	if diff := cmp.Diff([]string{"ELF for sm_90: code"}, data(t, objects[1])); diff != "" {
		t.Error(diff)
	}
	for i, id := range []string{"_1_a_cu", "_2_b_cu"} {
		o := objects[i]
		if o.RegisterID != id || o.Origin.File != "m.o" {
			t.Errorf("object %d is %q of %v", i, o.RegisterID, o.Origin)
		}
		if diff := cmp.Diff([]string{"_Z1k*"}, o.HostRefs.Kernels.External); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"several-fatbins"}, reported); diff != "" {
		t.Error(diff)
	}
}

func TestLinkedIDs(t *testing.T) {
	data := objecttest.ELF(objecttest.ELFFile{Sections: []objecttest.Section{
		{Name: ".nv_fatbin", Data: fat}, {Name: "__nv_module_id", Data: []byte("def _1_a_cu\x00")}}})
	t.Chdir(write(t, map[string][]byte{"dlink.o": data}))
	objects, err := Read("dlink.o", false, nil)
	if err != nil || len(objects) != 1 {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"_1_a_cu"}, objects[0].LinkedIDs); diff != "" {
		t.Error(diff)
	}
}

// Inputs without an id of their own are registered by their path.
func TestRegisterIDByPath(t *testing.T) {
	folder := write(t, map[string][]byte{"s-1/9+b.80.cubin": code,
		"n.a": objecttest.Archive(objecttest.File{Name: "n.o", Data: objecttest.HostObject(fat, "", nil)})})
	t.Chdir(folder)
	prefix := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/-.", r) {
			return '_'
		}
		return r
	}, folder)
	for path, want := range map[string]string{
		"s-1/9+b.80.cubin":                  prefix + "_s_1_9_b_80_cubin",
		"./s-1/9+b.80.cubin":                prefix + "___s_1_9_b_80_cubin",
		folder + "/s-1/../s-1/9+b.80.cubin": prefix + "_s_1____s_1_9_b_80_cubin",
		"n.a":                               prefix + "_n_a_n_o",
	} {
		objects, err := Read(path, false, nil)
		if err != nil || len(objects) != 1 {
			t.Fatal(err)
		}
		if got := objects[0].RegisterID; got != want {
			t.Errorf("%s is registered as %s, want %s", path, got, want)
		}
	}
}

func TestChangedFile(t *testing.T) {
	t.Chdir(write(t, map[string][]byte{"a.o": host}))
	objects, err := Read("a.o", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes("a.o", later, later); err != nil {
		t.Fatal(err)
	}
	if _, err := objects[0].Modules[0].Data(); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
}

func TestDamagedPayload(t *testing.T) {
	damaged := bytes.Clone(fat90)
	damaged[16+64] ^= 0xff
	obfuscated := objecttest.Fatbin(objecttest.Member{Kind: 8, Arch: 80, Flags: 0x10000, Payload: irCode,
		Compression: "zstd"})
	t.Chdir(write(t, map[string][]byte{"d.fatbin": damaged, "o.fatbin": obfuscated}))
	objects, err := ReadAll(Inputs{Files: []string{"d.fatbin", "o.fatbin"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objects[0].Modules[0].Data(); err == nil || err.Error() != "Uncompress failed" {
		t.Errorf("damaged code gives %v", err)
	}
	m := &objects[1].Modules[0]
	if _, err := m.Data(); !m.Obfuscated || !errors.Is(err, ErrObfuscated) {
		t.Errorf("obfuscated code gives %v", err)
	}
	if alone, err := m.Container(); err != nil || !bytes.Equal(alone, obfuscated) {
		t.Errorf("obfuscated code cannot be handed on: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	archive := objecttest.Archive(objecttest.File{Name: "a.o", Data: host}, objecttest.File{Name: "t.txt", Data: unknown})
	for extension, data := range map[string][]byte{"o": host, "cubin": code, "fatbin": fat, "ltoir": irCode, "ptx": text,
		"a": archive} {
		f.Add(extension, data)
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, extension string, data []byte) {
		if strings.ContainsAny(extension, "/\x00") || len(extension) > 100 {
			return
		}
		path := filepath.Join(folder, "x."+extension)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		objects, err := Read(path, true, func(*message.Message) {})
		if err != nil {
			if list := message.Of(err); list[0].ID == "internal" {
				t.Fatalf("no message but %v", err)
			}
			return
		}
		for _, o := range objects {
			o.Choose(Target{Arch: gpu.Arch{Number: 90}, LTO: true})
			for i := range o.Modules {
				if m := &o.Modules[i]; m.Size < 1<<20 {
					m.Data()
					m.Container()
				}
			}
		}
	})
}
