#![no_std]
#![feature(abi_ptx)]

use core::panic::PanicInfo;

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {}
}

unsafe extern "C" {
    safe fn scale(x: f32) -> f32; // clang compiles it
}

#[unsafe(no_mangle)]
pub static mut RUST_TOTAL: f32 = 0.0;

/// Uses slices, iterators and floating point of core, and its checks of bounds.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn rust_kernel(data: *mut f32, n: usize) {
    let data = unsafe { core::slice::from_raw_parts_mut(data, n) };
    for x in data.iter_mut() {
        *x = scale(*x).max(1.0);
    }
    data[n / 2] = data.iter().copied().sum();
    unsafe { RUST_TOTAL = data[0] };
}
