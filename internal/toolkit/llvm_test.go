package toolkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/message"
)

// What is not a libLLVM is refused with the reason.
func TestFindLLVMRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "lib"), 0o777); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "lib", "libLLVM-99.so")
	if err := os.WriteFile(text, []byte("not a library, but long enough"), 0o666); err != nil {
		t.Fatal(err)
	}
	for wanted, want := range map[string]string{
		dir:                          text + " (--warpld-llvm): not an ELF file",
		filepath.Join(dir, "nosuch"): "nosuch (--warpld-llvm): not found",
		t.TempDir():                  "libLLVM.so (--warpld-llvm): not found",
	} {
		_, err := FindLLVM(wanted, func(string) string { return "" })
		m := message.Of(err)
		if len(m) != 1 || m[0].ID != "llvm-not-found" || !strings.Contains(strings.Join(m[0].Notes, "\n"), want) {
			t.Errorf("%s: %+v, want %q", wanted, m, want)
		}
	}
}

func TestLLVMSoname(t *testing.T) {
	for name, want := range map[string]string{"libLLVM.so.22.1": "22 1", "libLLVM-15.so.1": "15 ",
		"libLLVM.so.19.1": "19 1", "libLLVMCore.so": "", "libLTO.so.22.1": ""} {
		got := ""
		if part := llvmSoname().FindStringSubmatch(name); part != nil {
			got = part[1] + " " + part[2]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestNeedLibdevice(t *testing.T) {
	dir := t.TempDir()
	tk := &Toolkit{Root: dir, From: "test"}
	if _, err := tk.NeedLibdevice(); err == nil || !strings.Contains(err.Error(), "cannot find libdevice.10.bc") {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(dir, "nvvm", "libdevice", "libdevice.10.bc")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := tk.NeedLibdevice(); got != path || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}
