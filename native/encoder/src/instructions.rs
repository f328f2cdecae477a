//! Which instructions this processor has, and this process may use.

use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::sync::LazyLock;

/// The instructions for which weights are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    Avx2,
    Vnni,
    /// Needs VNNI, too, for layers whose inputs do not fit tiles.
    Amx,
}

impl Instructions {
    /// Returns the fastest instructions of this processor. Callers check that it has AVX2.
    pub fn best() -> Self {
        if has_amx() {
            Instructions::Amx
        } else if has_vnni() {
            Instructions::Vnni
        } else {
            Instructions::Avx2
        }
    }
}

/// Whether the processor has AVX-512 with VNNI.
pub fn has_vnni() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vnni")
}

/// Whether this process may use AMX (matrix instructions on tiles of bytes). Linux permits it only to processes that
/// ask, because it adds 8 KiB to the state of a thread. The first call asks.
pub fn has_amx() -> bool {
    static IS_AVAILABLE: LazyLock<bool> = LazyLock::new(|| has_vnni() && has_tiles() && is_permitted());
    *IS_AVAILABLE
}

/// Whether the processor has tiles of bytes, and the operating system saves them when it switches threads.
fn has_tiles() -> bool {
    /// Features of `cpuid` leaf 7: AMX-TILE and AMX-INT8.
    const FEATURES: u32 = (1 << 24) | (1 << 25);
    /// Saved states: configuration and data of tiles.
    const STATES: u64 = (1 << 17) | (1 << 18);
    let has_features = || __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & FEATURES == FEATURES;
    // SAFETY: a processor whose operating system uses XSAVE can read this register.
    let saves_states = || is_x86_feature_detected!("xsave") && unsafe { _xgetbv(0) } & STATES == STATES;
    has_features() && saves_states()
}

#[cfg(target_os = "linux")]
fn is_permitted() -> bool {
    /// Code that requests a permission, from `asm/prctl.h`.
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    /// Number of the processor state that holds the data of tiles.
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: the call has two numbers as arguments and writes no memory of this process.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn is_permitted() -> bool {
    false
}
