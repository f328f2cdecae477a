//! The `Encoder` for processors without AVX2. It cannot be opened.

use std::path::Path;

use crate::error::Result;
use crate::{EarlyExit, Sequence, unsupported_processor};

/// A type without values, because no model can be opened on this processor.
pub enum Encoder {}

impl Encoder {
    /// Always fails with `Invalid`.
    pub fn open(_path: &Path, _words: Option<&Path>) -> Result<Self> {
        Err(unsupported_processor())
    }

    /// Never called.
    pub fn output_width(&self) -> usize {
        match *self {}
    }

    /// Never called.
    pub fn encode(&self, _sequences: &[Sequence<'_>], _outputs: &mut [f32]) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn has_spans(&self) -> bool {
        match *self {}
    }

    /// Never called.
    pub fn read(&self, _sequences: &[Sequence<'_>]) -> Result<Vec<f32>> {
        match *self {}
    }

    /// Never called.
    pub fn encode_on_two_threads(&self, _sequence: Sequence<'_>, _output: &mut [f32]) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn score_with_early_exit(
        &self,
        _pairs: &[Sequence<'_>],
        _early_exit: EarlyExit<'_>,
        _logits: &mut [f32],
    ) -> Result<()> {
        match *self {}
    }
}
