//go:build realtools

package clang

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// Debian's Rust, which has the sources of core with it.
const (
	cargo = "/usr/bin/cargo"
	rustc = "/usr/bin/rustc"
)

// rust runs a program of it, which may use what is not stable yet.
func rust(t *testing.T, env []string, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), append(env, "RUSTC="+rustc, "RUSTC_BOOTSTRAP=1")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
}

// TestCargo: cargo builds a crate with core, and rustc calls warpld as its own linker, with a
// function of clang's to inline.
func TestCargo(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "cargo"))); err != nil {
		t.Fatal(err)
	}
	linker := filepath.Join(dir, "llvm-bitcode-linker")
	if err := os.Symlink(kit.Binary(t), linker); err != nil {
		t.Fatal(err)
	}
	native := compile(t, clang22, "native.cu", "native.bc", bitcode()...)
	env := []string{"CUDA_HOME=" + toolkit(t).Root, "WARPLD_FLAGS=--warpld-cache=off", "CARGO_TARGET_DIR=" +
		filepath.Join(dir, "target")}
	rust(t, env, cargo, "rustc", "--manifest-path", filepath.Join(dir, "Cargo.toml"), "--release", "--target",
		"nvptx64-nvidia-cuda", "-Zbuild-std=core", "--",
		"-Clinker="+linker, "-Ctarget-cpu="+arch, "-Clink-arg="+native)
	path := filepath.Join(dir, "target", "nvptx64-nvidia-cuda", "release", "kernels.ptx")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	visible := regexp.MustCompile(`(?m)^\.visible .*?(\w+)(\[\d+\])?(;|\()$`).FindAllStringSubmatch(string(text), -1)
	var names []string
	for _, part := range visible {
		names = append(names, part[1])
	}
	if got := sortedWords(strings.Join(names, " ")); got != sortedWords("RUST_TOTAL rust_kernel") ||
		strings.Contains(string(text), "call.uni (retval0), scale") {
		t.Errorf("others can name %s", got)
	}
	run(t, toolkit(t).Tool("ptxas"), "-arch="+arch, path, "-o", filepath.Join(dir, "kernels.cubin"))
}

// Check 10 for rustc: bitcode with and without a summary, with full LTO and ThinLTO.
func Test10Rust(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "kernel.rs")
	text := `#![feature(no_core, lang_items, abi_ptx)]
#![no_core]
#[lang = "pointee_sized"] pub trait PointeeSized {}
#[lang = "meta_sized"] pub trait MetaSized: PointeeSized {}
#[lang = "sized"] pub trait Sized: MetaSized {}
#[lang = "copy"] pub trait Copy {}
impl Copy for f32 {}
unsafe extern "C" { fn scale(x: f32) -> f32; }
#[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn rust_kernel(x: *mut f32) { unsafe { *x = scale(*x); } }
`
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	with, without := filepath.Join(dir, "with.bc"), filepath.Join(dir, "without.bc")
	rust(t, nil, rustc, "--target=nvptx64-nvidia-cuda", "-Ctarget-cpu="+arch, "-O", "--crate-type=lib",
		"--emit=llvm-bc", source, "-o", with)
	run(t, "opt-22", "-passes=verify", with, "-o", without)
	for _, file := range []string{with, without} {
		for lto, flags := range map[string][]string{"full": bitcode(), "thin": thin()} {
			r := link(t, []string{file, compile(t, clang22, "native.cu", "native.bc", flags...)}, "--warpld-lto="+lto)
			if r.Exit != 0 || strings.Contains(r.Stderr, "summarize") != (lto == "thin" && file == without) {
				t.Fatalf("%s, %s LTO: exit %d\n%s", file, lto, r.Exit, r.Stderr)
			}
			if counts := instructions(t, r.Files["out"]); counts["rust_kernel"] == 0 || counts["scale"] != 0 {
				t.Errorf("%s, %s LTO: %v", file, lto, counts)
			}
		}
	}
}
