//! Numbers in the bytes of a file, lowest byte first.

/// The number in the four bytes that begin at `offset`. The bytes must exist.
pub fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}

/// The number in the eight bytes that begin at `offset`. The bytes must exist.
pub fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}
