//! The model encoder for JavaScript. JavaScript passes several sequences as one array of token ids and an array of
//! lengths.

use std::path::Path;

use mneme_encoder::{EarlyExit, EarlyExitProbe, Encoder, Sequence};
use napi::bindgen_prelude::{Float32Array, Float32ArraySlice, Uint32ArraySlice};
use napi_derive::napi;

use crate::bindings::tasks::run;
use crate::error::{Error, Result};

/// A model that the native core computes.
#[napi]
pub struct NativeEncoder {
    encoder: Encoder,
}

/// Reads a model file. `words` is the model file that has the word table; null if `path` has it. Throws `invalid` for a
/// graph that is not supported and on a processor without AVX2.
#[napi(catch_unwind)]
pub fn open_encoder(path: String, words: Option<String>) -> napi::Result<NativeEncoder> {
    let encoder = run(|| Ok(Encoder::open(Path::new(&path), words.as_deref().map(Path::new))?))?;
    Ok(NativeEncoder { encoder })
}

#[napi]
impl NativeEncoder {
    /// Computes the model's output for sequences. `ids` has the token ids of all sequences one after another, `lengths`
    /// the number of tokens of each sequence, and `firstLengths` how many of them belong to its first text. Returns one
    /// row per sequence: a unit vector, a logit, or a reader's two logits. Blocks the calling thread. If `isUrgent` is
    /// true and there is only one sequence, two threads compute it where that is faster.
    #[napi(catch_unwind)]
    pub fn encode(
        &self,
        ids: Uint32ArraySlice<'_>,
        lengths: Uint32ArraySlice<'_>,
        first_lengths: Uint32ArraySlice<'_>,
        is_urgent: bool,
    ) -> napi::Result<Float32Array> {
        let outputs = run(|| {
            let width = self.encoder.output_width();
            let mut outputs = vec![0f32; lengths.len() * width];
            let sequences = sequences(&ids, &lengths, &first_lengths)?;
            if is_urgent && let [sequence] = sequences[..] {
                self.encoder.encode_on_two_threads(sequence, &mut outputs)?;
                return Ok(outputs);
            }
            self.encoder.encode(&sequences, &mut outputs)?;
            Ok(outputs)
        });
        Ok(Float32Array::new(outputs?))
    }

    /// Whether the model computes spans: for each token, logits that an answer begins or ends there. Only then can
    /// `read` be called.
    #[napi(catch_unwind)]
    pub fn has_spans(&self) -> bool {
        self.encoder.has_spans()
    }

    /// Computes logits and spans of pairs, which are passed like the sequences of `encode`. Returns for each pair its
    /// logits, then the logits of begin and end of each token. Throws `invalid` for a model without spans. Blocks the
    /// calling thread.
    #[napi(catch_unwind)]
    pub fn read(
        &self,
        ids: Uint32ArraySlice<'_>,
        lengths: Uint32ArraySlice<'_>,
        first_lengths: Uint32ArraySlice<'_>,
    ) -> napi::Result<Float32Array> {
        let outputs = run(|| Ok(self.encoder.read(&sequences(&ids, &lengths, &first_lengths)?)?));
        Ok(Float32Array::new(outputs?))
    }

    /// Computes the logits of the pairs of one list with early exit. Pairs are passed like the sequences of `encode`.
    /// `probe` has the weights of the early-exit probe, then its bias. The probe predicts logits after `probeLayers`
    /// layers. Pairs are ordered by predicted logit plus prior score. The best pairs pass through all layers: at least
    /// one pair, and further ones as long as the total number of tokens stays within `fullTokensMax`. Blocks the
    /// calling thread.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments, reason = "only arrays that are arguments cross from JavaScript without a copy")]
    pub fn score_with_early_exit(
        &self,
        ids: Uint32ArraySlice<'_>,
        lengths: Uint32ArraySlice<'_>,
        first_lengths: Uint32ArraySlice<'_>,
        prior_scores: Float32ArraySlice<'_>,
        full_tokens_max: u32,
        probe_layers: u32,
        probe: Float32ArraySlice<'_>,
    ) -> napi::Result<Float32Array> {
        let logits = run(|| {
            let (bias, weights) =
                probe.split_last().ok_or_else(|| Error::invalid("an early-exit probe without numbers"))?;
            let probe = EarlyExitProbe { layers: probe_layers as usize, weights, bias: *bias };
            let early_exit =
                EarlyExit { prior_scores: &prior_scores, full_tokens_max: full_tokens_max as usize, probe };
            let mut logits = vec![0f32; lengths.len()];
            let pairs = sequences(&ids, &lengths, &first_lengths)?;
            self.encoder.score_with_early_exit(&pairs, early_exit, &mut logits)?;
            Ok(logits)
        });
        Ok(Float32Array::new(logits?))
    }
}

/// Whether `NativeEncoder` is faster than a general runtime on this processor.
#[napi(catch_unwind)]
pub fn is_encoder_made_for_this_processor() -> bool {
    mneme_encoder::is_made_for_this_processor()
}

/// Splits `ids` into sequences with these lengths.
fn sequences<'a>(mut ids: &'a [u32], lengths: &[u32], first_lengths: &[u32]) -> Result<Vec<Sequence<'a>>> {
    if first_lengths.len() != lengths.len() {
        return Err(Error::invalid("lengths and first lengths differ in number"));
    }
    let mut sequences = Vec::with_capacity(lengths.len());
    for (length, first_length) in lengths.iter().zip(first_lengths) {
        let (own, rest) = ids
            .split_at_checked(*length as usize)
            .ok_or_else(|| Error::invalid("there are fewer tokens than the lengths add up to"))?;
        sequences.push(Sequence { ids: own, first_length: *first_length as usize });
        ids = rest;
    }
    Ok(sequences)
}
