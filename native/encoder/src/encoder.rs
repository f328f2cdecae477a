//! The public encoder: reads a model, checks arguments, and chooses one or two threads.
//! The computation itself is in `network`.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::helper::{HalvedWork, Helper};
use crate::instructions::Instructions;
use crate::model_reader::read_network;
use crate::network::{Network, Workspace};
use crate::onnx_file::OnnxFile;
use crate::two_threads::SplitSequence;
use crate::{EarlyExit, Sequence, unsupported_processor};

/// Whether the processor has the instructions that the kernels use.
pub(crate) fn is_supported() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Minimum number of tokens of a sequence that two threads compute. One thread computes shorter sequences. With AMX,
/// up to 16 tokens take little more time than reading the weights, which each thread would have to read.
fn shared_tokens_min(instructions: Instructions) -> usize {
    match instructions {
        Instructions::Avx2 | Instructions::Vnni => 8,
        Instructions::Amx => 16,
    }
}

/// A model in memory. Its output is a unit vector or a single logit, depending on the model file.
pub struct Encoder {
    network: Arc<Network>,
    workspace: Mutex<Workspace>,
    shared: Option<Shared>,
}

/// The second thread, and the buffers of the sequence that both threads compute.
struct Shared {
    helper: Helper,
    /// Minimum number of tokens of a sequence for both threads.
    tokens_min: usize,
    split: Mutex<Arc<SplitSequence>>,
}

impl Shared {
    fn start(split: SplitSequence, tokens_min: usize) -> Result<Self> {
        Ok(Shared { helper: Helper::start("mneme-encoder")?, tokens_min, split: Mutex::new(Arc::new(split)) })
    }
}

impl Encoder {
    /// Reads a model. `words` is the model file that has the word table; `None` if `path` has it. Fails with `Invalid`
    /// if the graph has a form that is not supported, or if the processor lacks AVX2.
    pub fn open(path: &Path, words: Option<&Path>) -> Result<Self> {
        if !is_supported() {
            return Err(unsupported_processor());
        }
        Encoder::open_for(path, words, Instructions::best())
    }

    /// Reads a model for some of the instructions that this processor has.
    pub(crate) fn open_for(path: &Path, words: Option<&Path>, instructions: Instructions) -> Result<Self> {
        let file = OnnxFile::open(path)?;
        let network = match words {
            Some(words) => read_network(&file, &OnnxFile::open(words)?, instructions)?,
            None => read_network(&file, &file, instructions)?,
        };
        let network = Arc::new(network);
        let has_two_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        let split = if has_two_cores { SplitSequence::of(&network) } else { None };
        // Without a second thread the results are the same; they only take longer.
        let shared = split.and_then(|split| Shared::start(split, shared_tokens_min(instructions)).ok());
        Ok(Encoder { network, workspace: Mutex::default(), shared })
    }

    /// Number of values in one output: the dimensions of a vector, or the number of logits.
    pub fn output_width(&self) -> usize {
        self.network.output_width()
    }

    /// Computes the outputs of sequences, `[sequences, output width]`. No output depends on other sequences.
    pub fn encode(&self, sequences: &[Sequence<'_>], outputs: &mut [f32]) -> Result<()> {
        sequences.iter().try_for_each(|sequence| self.check(*sequence))?;
        if outputs.len() != sequences.len() * self.output_width() {
            return Err(Error::invalid("the output buffer has another width than the model's output"));
        }
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `open` checked that the processor has the instructions.
        unsafe { self.network.encode(sequences, &mut workspace, outputs) };
        Ok(())
    }

    /// Whether the model computes where an answer begins and ends, besides its logits.
    pub fn has_spans(&self) -> bool {
        self.network.spans.is_some()
    }

    /// Computes the outputs of a model with spans. Returns for each sequence its logits (`[output width]`), then the
    /// logits of begin and end of each token (`[tokens, 2]`). No output depends on other sequences.
    pub fn read(&self, sequences: &[Sequence<'_>]) -> Result<Vec<f32>> {
        sequences.iter().try_for_each(|sequence| self.check(*sequence))?;
        if !self.has_spans() {
            return Err(Error::invalid("the model computes no spans"));
        }
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `open` checked that the processor has the instructions.
        Ok(unsafe { self.network.read(sequences, &mut workspace) })
    }

    /// Like `encode` for one sequence, with the same result, but faster if there is a second core and the output is a
    /// vector: a second thread then computes half of the tokens. Use it for one urgent sequence. With many sequences,
    /// every core is busy anyway.
    pub fn encode_on_two_threads(&self, sequence: Sequence<'_>, output: &mut [f32]) -> Result<()> {
        let Some(Shared { helper, tokens_min, split }) = &self.shared else { return self.encode(&[sequence], output) };
        if sequence.ids.len() < *tokens_min || output.len() != self.output_width() {
            return self.encode(&[sequence], output);
        }
        self.check(sequence)?;
        let split = split.lock().unwrap_or_else(|poisoned| {
            // The previous computation panicked, and the helper may still use its buffers. So new buffers are made.
            let mut held = poisoned.into_inner();
            *held = Arc::new(SplitSequence::of(&self.network).expect("the model was split before"));
            split.clear_poison();
            held
        });
        split.set_sequence(sequence);
        let work: Arc<dyn HalvedWork> = Arc::<SplitSequence>::clone(&split);
        helper.share(work);
        split.write_output(output);
        Ok(())
    }

    /// Computes one logit per pair. For pairs that exceed the token budget of `early_exit`, the logit is the one that
    /// the probe predicts.
    pub fn score_with_early_exit(
        &self,
        pairs: &[Sequence<'_>],
        early_exit: EarlyExit<'_>,
        logits: &mut [f32],
    ) -> Result<()> {
        pairs.iter().try_for_each(|pair| self.check(*pair))?;
        if pairs.len() != early_exit.prior_scores.len() || pairs.len() != logits.len() {
            return Err(Error::invalid("pairs, prior scores and logits differ in number"));
        }
        self.network.check(early_exit.probe)?;
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `open` checked that the processor has the instructions.
        unsafe { self.network.score_with_early_exit(pairs, early_exit, &mut workspace, logits) };
        Ok(())
    }

    fn check(&self, Sequence { ids, first_length }: Sequence<'_>) -> Result<()> {
        let (tokens_max, vocabulary) = (self.network.tokens_max, self.network.vocabulary());
        if ids.is_empty() || ids.len() > tokens_max || first_length > ids.len() {
            return Err(Error::invalid(format!(
                "{} tokens, {first_length} of them in the first text; {tokens_max} is the maximum",
                ids.len()
            )));
        }
        if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
            return Err(Error::invalid(format!("token {id} in a vocabulary of {vocabulary}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EarlyExitProbe;

    const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/models");

    fn model(name: &str) -> Option<Encoder> {
        if !is_supported() {
            println!("skipped: this processor has no AVX2");
            return None;
        }
        Some(
            Encoder::open(&Path::new(MODELS).join(name).join("model.onnx"), None)
                .expect("a model that ships with Mneme"),
        )
    }

    fn encode(encoder: &Encoder, ids: &[u32], first_length: usize) -> Result<Vec<f32>> {
        let mut output = vec![0f32; encoder.output_width()];
        encoder.encode(&[Sequence { ids, first_length }], &mut output)?;
        Ok(output)
    }

    // `test/inference` compares outputs with the reference values that are stored with the models.
    #[test]
    fn an_output_does_not_depend_on_earlier_sequences() {
        let Some(embedder) = model("all-minilm-l6-v2") else { return };
        let short = encode(&embedder, &[101, 2054, 102], 3).expect("a vector");
        let length: f32 = short.iter().map(|component| component * component).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
        let long: Vec<u32> = (0..512).map(|at| 1000 + at * 7 % 20_000).collect();
        encode(&embedder, &long, long.len()).expect("as many tokens as there are positions");
        assert_eq!(encode(&embedder, &[101, 2054, 102], 3), Ok(short));
    }

    #[test]
    fn sequences_that_are_computed_together_have_the_same_outputs_as_alone() {
        let (Some(embedder), Some(reranker)) = (model("all-minilm-l6-v2"), model("mneme-reranker-minilm-l6")) else {
            return;
        };
        let ids: Vec<u32> = (0..512).map(|at| 1000 + at * 7 % 20_000).collect();
        // Batches end at 128 tokens: 127 and 1 fit together, 128 and 1 do not; the rest are mixed.
        let lengths = [127, 1, 128, 1, 300, 5, 7, 13, 100, 4, 512, 1];
        let sequences = lengths.map(|tokens| Sequence { ids: &ids[..tokens], first_length: tokens / 2 });
        for encoder in [embedder, reranker] {
            let width = encoder.output_width();
            let mut together = vec![f32::NAN; sequences.len() * width];
            encoder.encode(&sequences, &mut together).expect("outputs");
            for (sequence, output) in sequences.iter().zip(together.chunks_exact(width)) {
                assert_eq!(encode(&encoder, sequence.ids, sequence.first_length).as_deref(), Ok(output));
            }
            let refused =
                encoder.encode(&[sequences[0], Sequence { ids: &[], first_length: 0 }], &mut together[..2 * width]);
            assert!(matches!(refused, Err(Error::Invalid(_))), "one of two sequences is empty");
            assert_eq!(encoder.encode(&[], &mut []), Ok(()), "no sequences");
        }
    }

    #[test]
    fn two_threads_compute_the_same_as_one() {
        let (Some(embedder), Some(reranker)) = (model("all-minilm-l6-v2"), model("mneme-reranker-minilm-l6")) else {
            return;
        };
        let ids: Vec<u32> = (0..512).map(|at| 1000 + at * 7 % 20_000).collect();
        let mut output = vec![0f32; 384];
        for tokens in (1..70).chain([128, 255, 512, 3]) {
            let sequence = Sequence { ids: &ids[..tokens], first_length: tokens };
            embedder.encode_on_two_threads(sequence, &mut output).expect("a vector");
            assert_eq!(encode(&embedder, sequence.ids, tokens).as_ref(), Ok(&output), "{tokens} tokens");
        }
        let sequence = Sequence { ids: &ids[..30], first_length: 9 };
        let mut logit = [0f32];
        reranker.encode_on_two_threads(sequence, &mut logit).expect("a logit");
        assert_eq!(encode(&reranker, sequence.ids, 9).as_deref(), Ok(&logit[..]));
        let longer: Vec<u32> = vec![1000; 513];
        for refused in [&longer[..], &[30_522; 20], &[]] {
            let sequence = Sequence { ids: refused, first_length: 0 };
            assert!(matches!(embedder.encode_on_two_threads(sequence, &mut output), Err(Error::Invalid(_))));
        }
        assert!(embedder.encode_on_two_threads(sequence, &mut [0.0; 2]).is_err(), "two numbers for a vector");
    }

    /// Pairs of one query with different lengths, and weights for a probe.
    fn list() -> (Vec<Vec<u32>>, Vec<f32>) {
        let passage = |at: u32| (0..20 + 9 * at).map(move |token| 1000 + (at * 31 + token * 7) % 20_000);
        let pairs = (0..7).map(|at| [101, 2054, 102].into_iter().chain(passage(at)).collect()).collect();
        (pairs, (0..3 * 384).map(|at| (at % 13) as f32 * 0.01 - 0.06).collect())
    }

    #[test]
    fn early_exit_computes_the_best_pairs_in_full() {
        let Some(encoder) = model("mneme-reranker-minilm-l6") else { return };
        let (ids, weights) = list();
        let pairs: Vec<Sequence<'_>> = ids.iter().map(|ids| Sequence { ids, first_length: 3 }).collect();
        let full: Vec<f32> = ids.iter().map(|ids| encode(&encoder, ids, 3).expect("a logit")[0]).collect();
        let score = |prior_scores: &[f32], full_tokens_max| {
            let mut logits = vec![0f32; pairs.len()];
            let probe = EarlyExitProbe { layers: 2, weights: &weights, bias: -1.0 };
            encoder
                .score_with_early_exit(&pairs, EarlyExit { prior_scores, full_tokens_max, probe }, &mut logits)
                .expect("logits");
            logits
        };
        let all: usize = ids.iter().map(Vec::len).sum();
        assert_eq!(score(&[0.0; 7], all), full, "all pairs in full, as one by one");
        let only = |first: usize| {
            let mut prior_scores = [0.0; 7];
            prior_scores[first] = 100.0;
            score(&prior_scores, 0)
        };
        // The predicted logit of each pair, from lists in which another pair is first.
        let predicted: Vec<f32> = (0..7).map(|at| only((at + 1) % 7)[at]).collect();
        assert!(predicted.iter().zip(&full).all(|(predicted, full)| predicted != full));
        let mut best_first: Vec<usize> = (0..7).collect();
        best_first.sort_by(|left, right| predicted[*right].total_cmp(&predicted[*left]));
        for in_full in 1..7 {
            let tokens: usize = best_first[..in_full].iter().map(|at| ids[*at].len()).sum();
            let logits = score(&[0.0; 7], tokens);
            for (place, at) in best_first.iter().enumerate() {
                let expected = if place < in_full { full[*at] } else { predicted[*at] };
                assert_eq!(logits[*at], expected, "place {place}, {in_full} pairs in full");
            }
            let one_less = score(&[0.0; 7], tokens - 1);
            assert_eq!(one_less[best_first[in_full - 1]] == full[best_first[in_full - 1]], in_full == 1);
        }
    }

    #[test]
    fn an_early_exit_of_another_model_is_refused() {
        let (Some(embedder), Some(reranker)) = (model("all-minilm-l6-v2"), model("mneme-reranker-minilm-l6")) else {
            return;
        };
        let (ids, weights) = list();
        let pairs = [Sequence { ids: &ids[0], first_length: 3 }];
        let score = |encoder: &Encoder, layers, weights: &[f32], prior_scores: &[f32]| {
            let probe = EarlyExitProbe { layers, weights, bias: 0.0 };
            encoder.score_with_early_exit(&pairs, EarlyExit { prior_scores, full_tokens_max: 1, probe }, &mut [0.0])
        };
        assert!(score(&reranker, 2, &weights, &[0.0]).is_ok());
        for (encoder, layers, width, priors) in [
            (&embedder, 2, 1152, 1),
            (&reranker, 0, 1152, 1),
            (&reranker, 6, 1152, 1),
            (&reranker, 2, 1151, 1),
            (&reranker, 2, 1152, 0),
        ] {
            let refused = score(encoder, layers, &weights[..width], &[0.0; 1][..priors]);
            assert!(
                matches!(refused, Err(Error::Invalid(_))),
                "{layers} layers, {width} weights, {priors} prior scores"
            );
        }
    }

    #[test]
    fn tokens_that_no_model_accepts_are_refused() {
        let (Some(embedder), Some(reranker)) = (model("all-minilm-l6-v2"), model("mneme-reranker-minilm-l6")) else {
            return;
        };
        assert_eq!((embedder.output_width(), reranker.output_width()), (384, 1));
        for (ids, first_length) in [(vec![], 0), (vec![101; 513], 513), (vec![101], 2), (vec![30_522], 1)] {
            assert!(matches!(encode(&embedder, &ids, first_length), Err(Error::Invalid(_))), "{} tokens", ids.len());
        }
        let sequence = Sequence { ids: &[101, 102], first_length: 1 };
        assert!(matches!(reranker.encode(&[sequence], &mut [0.0; 2]), Err(Error::Invalid(_))), "two numbers for one");
    }

    #[test]
    fn files_that_are_no_models_are_refused() {
        if !is_supported() {
            return println!("skipped: this processor has no AVX2");
        }
        for file in ["all-minilm-l6-v2/model.json", "all-minilm-l6-v2/vocab.txt", "all-minilm-l6-v2/none.onnx"] {
            assert!(Encoder::open(&Path::new(MODELS).join(file), None).is_err(), "{file}");
        }
    }
}
