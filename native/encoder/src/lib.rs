//! A BERT encoder in 8-bit integers: computes the models that `data/models/recipe` exports, on processors with AVX2.
//! Number of layers, kind of word table and head come from the model file.
//!
//! A general runtime is slower for two reasons: it spends much of its time between operations, above all for short
//! texts, and its integer products are slow on processors without VNNI (instructions that multiply and add bytes in one
//! step). Each sequence is computed alone, without padding, so that its result never depends on other sequences.
//! Weights have 7 bits, activations 8 bits with one scale per token. Sums of products are exact, unlike in some
//! runtimes, so results are the same on all processors.
//!
//! | File | Content |
//! |---|---|
//! | `encoder` | the public `Encoder`: checks arguments, chooses one or two threads |
//! | `network` | the layers of a model and how a sequence passes through them |
//! | `two_threads` | computes one sequence on two threads |
//! | `helper` | a second thread for work of a few milliseconds |
//! | `kernels` | the inner loops: integer products, GELU, normalisation |
//! | `attention` | self-attention of one head |
//! | `floats` | vectors of eight floats |
//! | `wide_floats` | attention and GELU in vectors of 16 floats, with AVX-512 |
//! | `byte_rows` | inputs of a linear layer as bytes |
//! | `vnni` | integer products on processors with AVX-512 VNNI |
//! | `amx` | integer products on processors with AMX |
//! | `instructions` | which instructions the processor has |
//! | `weights` | the weights of a linear layer, packed for the kernels |
//! | `word_table` | embeddings of the vocabulary: 16-bit floats or blocks of 4 bits |
//! | `head` | what is computed from the states of the last layer: vector or logit |
//! | `model_reader` | reads a network from the graph of a model file |
//! | `graph` | finds parts of a graph by their form |
//! | `onnx_file` | reads the nodes and constants of a model file |
//! | `error` | errors of the encoder |

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod attention;
#[cfg(target_arch = "x86_64")]
mod byte_rows;
#[cfg(target_arch = "x86_64")]
mod encoder;
mod error;
#[cfg(target_arch = "x86_64")]
mod floats;
#[cfg(target_arch = "x86_64")]
mod graph;
#[cfg(target_arch = "x86_64")]
mod head;
#[cfg(target_arch = "x86_64")]
mod helper;
#[cfg(target_arch = "x86_64")]
mod instructions;
#[cfg(target_arch = "x86_64")]
mod kernels;
#[cfg(target_arch = "x86_64")]
mod model_reader;
#[cfg(target_arch = "x86_64")]
mod network;
#[cfg(target_arch = "x86_64")]
mod onnx_file;
#[cfg(all(test, target_arch = "x86_64"))]
mod synthetic;
#[cfg(target_arch = "x86_64")]
mod two_threads;
#[cfg(not(target_arch = "x86_64"))]
mod unsupported;
#[cfg(target_arch = "x86_64")]
mod vnni;
#[cfg(target_arch = "x86_64")]
mod weights;
#[cfg(target_arch = "x86_64")]
mod wide_floats;
#[cfg(target_arch = "x86_64")]
mod word_table;

#[cfg(target_arch = "x86_64")]
pub use encoder::Encoder;
pub use error::{Error, Result};
#[cfg(not(target_arch = "x86_64"))]
pub use unsupported::Encoder;

/// The tokens of one sequence, which consists of one text or of two texts one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    /// Token ids from the model's vocabulary.
    pub ids: &'a [u32],
    /// Number of tokens that belong to the first text. The rest belong to the second text.
    pub first_length: usize,
}

/// Early-exit probe: predicts the final logit from the states after the first layers.
/// `data/models/recipe/fit_early_exit.py` fits the weights.
#[derive(Debug, Clone, Copy)]
pub struct EarlyExitProbe<'a> {
    /// Number of layers that run before the prediction.
    pub layers: usize,
    /// Weights for the state of the first token, the mean state of the first text, and that of the second text:
    /// `[3, hidden]`.
    pub weights: &'a [f32],
    /// Constant term of the prediction.
    pub bias: f32,
}

/// Determines which pairs of a list pass through all layers.
#[derive(Debug, Clone, Copy)]
pub struct EarlyExit<'a> {
    /// One prior score per pair, in the unit of logits. It is added to the predicted logit to order the pairs.
    pub prior_scores: &'a [f32],
    /// Maximum number of tokens that pass through all layers. Pairs are chosen best first until the next pair would
    /// exceed this number. The best pair is always chosen.
    pub full_tokens_max: usize,
    /// The probe that predicts the logits.
    pub probe: EarlyExitProbe<'a>,
}

/// Whether the encoder is faster than a general runtime on this processor. This is so if the processor has AVX-512
/// VNNI, or AVX2 without any VNNI. It has no kernels for the third kind, AVX2 with a VNNI of its own (AVX-VNNI).
pub fn is_made_for_this_processor() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        encoder::is_supported() && (instructions::has_vnni() || !is_x86_feature_detected!("avxvnni"))
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn unsupported_processor() -> Error {
    Error::invalid("the encoder needs a processor with AVX2")
}
