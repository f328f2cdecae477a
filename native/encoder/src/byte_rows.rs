//! Inputs of a linear layer as bytes. `kernels` quantises them; `kernels`, `vnni` and `amx` multiply them.

/// Rows of floats, quantised to bytes. The byte of a value `x` is `x / scale + zero`, rounded.
pub struct ByteRows<'a> {
    /// Bytes of all rows, `[rows, width]`.
    pub bytes: &'a [u8],
    /// Number of bytes of a row.
    pub width: usize,
    /// Quantisation scale of each row.
    pub scales: &'a [f32],
    /// The byte that represents the value 0.
    pub zero: u8,
}

impl ByteRows<'_> {
    /// Returns the first `count` rows.
    pub fn first(&self, count: usize) -> ByteRows<'_> {
        ByteRows { bytes: &self.bytes[..count * self.width], scales: &self.scales[..count], ..*self }
    }
}
