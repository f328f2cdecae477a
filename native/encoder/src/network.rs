//! The layers of a model, and how a sequence passes through them. `model_reader` reads them from a file.
//! The inner loops are in `kernels` and `attention`; two threads on one sequence are in `two_threads`.

use std::ops::Range;
use std::slice::from_ref;
use std::sync::Arc;

use memmap2::Mmap;

use crate::attention::{AttentionHead, HEAD_WIDTH};
use crate::error::{Error, Result};
use crate::head::{Head, Pooling};
use crate::kernels::{add_and_normalise, multiply, quantise, quantise_activated};
use crate::weights::Linear;
use crate::word_table::WordTable;
use crate::{EarlyExit, EarlyExitProbe, Sequence};

/// Number of tokens that pass through a feed-forward layer together. With this number, their inner activations fit into
/// the second-level cache.
const FEED_FORWARD_ROWS: usize = 32;

/// Maximum number of tokens that pass through the layers together, apart from a longer sequence. Their buffers fit into
/// the second-level cache.
const BATCH_TOKENS: usize = 128;

/// The inner width of a feed-forward layer is `INNER_FACTOR * hidden`.
pub(crate) const INNER_FACTOR: usize = 4;

/// A layer normalisation: gain and shift, `[hidden]` each, and what is added to the variance.
pub(crate) struct Norm {
    pub(crate) gain: Vec<f32>,
    pub(crate) shift: Vec<f32>,
    pub(crate) epsilon: f32,
}

/// One transformer layer.
pub(crate) struct Layer {
    /// Factors for the inputs of `projections` before they are quantised, `[hidden]`. `None` if all factors are 1.
    pub(crate) attention_smoothing: Option<Vec<f32>>,
    /// Linear layer whose outputs are queries, keys and values, in this order.
    pub(crate) projections: Linear,
    pub(crate) attention_output: Linear,
    pub(crate) attention_norm: Norm,
    /// Factors for the inputs of `up` before they are quantised, `[hidden]`. `None` if all factors are 1.
    pub(crate) feed_forward_smoothing: Option<Vec<f32>>,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
    pub(crate) feed_forward_norm: Norm,
}

/// A model: its embeddings, layers and head.
pub(crate) struct Network {
    /// The file with the word table. `words` reads from it.
    pub(crate) map: Arc<Mmap>,
    pub(crate) words: WordTable,
    pub(crate) hidden: usize,
    /// Maximum number of tokens of a sequence.
    pub(crate) tokens_max: usize,
    /// Embeddings of the positions, `[tokens_max, hidden]`.
    pub(crate) positions: Vec<f32>,
    /// Embeddings of the first and the second text, `[2, hidden]`. `None` if both have the same, which `positions`
    /// then includes.
    pub(crate) types: Option<Vec<f32>>,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
    pub(crate) head: Head,
    /// `None` if the model computes no spans.
    pub(crate) spans: Option<SpanHead>,
}

/// Computes where an answer begins and ends: two logits for the state of each token.
pub(crate) struct SpanHead {
    /// `[hidden, 2]`.
    pub(crate) weights: Vec<f32>,
    pub(crate) bias: [f32; 2],
}

/// Buffers for the sequences of one batch. They are reused for the next batch, because allocating memory takes as long
/// as some of the arithmetic.
#[derive(Default)]
pub(crate) struct Workspace {
    tokens: TokenBuffers,
    /// Queries, keys and values, `[tokens, 3 * hidden]`.
    projected: Vec<f32>,
}

/// Buffers for consecutive tokens of a sequence.
#[derive(Default)]
pub(crate) struct TokenBuffers {
    /// Input of the next layer, `[tokens, hidden]`.
    pub(crate) states: Vec<f32>,
    /// Output of attention, `[tokens, hidden]`.
    attended: Vec<f32>,
    /// Inner activations of the feed-forward layer, `[FEED_FORWARD_ROWS, INNER_FACTOR * hidden]`.
    inner: Vec<f32>,
    /// Output of a linear layer that will be added to the states, `[tokens, hidden]`.
    added: Vec<f32>,
    bytes: Vec<u8>,
    scales: Vec<f32>,
    head: AttentionHead,
}

impl Network {
    /// Number of values in one output.
    pub(crate) fn output_width(&self) -> usize {
        self.head.width
    }

    /// Whether all tokens pass through the last layer.
    pub(crate) fn reads_all_tokens(&self) -> bool {
        self.head.pooling == Pooling::Sum || self.spans.is_some()
    }

    /// Number of tokens in the vocabulary.
    pub(crate) fn vocabulary(&self) -> usize {
        self.words.vocabulary
    }

    /// Fails with `Invalid` if the probe's shape does not fit this model.
    pub(crate) fn check(&self, probe: EarlyExitProbe<'_>) -> Result<()> {
        let fits = (1..self.layers.len()).contains(&probe.layers) && probe.weights.len() == 3 * self.hidden;
        if !fits || self.output_width() != 1 {
            return Err(Error::invalid("the early-exit probe was not made for this model"));
        }
        Ok(())
    }

    /// Computes the outputs (`[sequences, output width]`) of sequences.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn encode(&self, sequences: &[Sequence<'_>], workspace: &mut Workspace, outputs: &mut [f32]) {
        let mut outputs = outputs.chunks_exact_mut(self.output_width());
        self.each(sequences, workspace, &mut |states| {
            if let Some(output) = outputs.next() {
                self.write_output(states, output);
            }
        });
    }

    /// Computes the outputs of a model with spans: for each sequence its logits, then begin and end of each token.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn read(&self, sequences: &[Sequence<'_>], workspace: &mut Workspace) -> Vec<f32> {
        let mut outputs = vec![];
        self.each(sequences, workspace, &mut |states| {
            let from = outputs.len();
            outputs.resize(from + self.output_width(), 0.0);
            self.write_output(states, &mut outputs[from..]);
            let Some(SpanHead { weights, bias }) = &self.spans else { return };
            for state in states.chunks_exact(self.hidden) {
                let mut logits = *bias;
                for (value, weights) in state.iter().zip(weights.chunks_exact(2)) {
                    logits[0] += value * weights[0];
                    logits[1] += value * weights[1];
                }
                outputs.extend(logits);
            }
        });
        outputs
    }

    /// Calls `then` with the states of each sequence, in their order. If all tokens pass through the last layer, short
    /// sequences pass through the layers together, so that weights are fetched from memory less often.
    #[target_feature(enable = "avx2,fma")]
    fn each(&self, mut sequences: &[Sequence<'_>], workspace: &mut Workspace, then: &mut dyn FnMut(&[f32])) {
        while let [first, others @ ..] = sequences {
            let mut tokens = first.ids.len();
            let fits = |next: &&Sequence<'_>| {
                tokens += next.ids.len();
                self.reads_all_tokens() && tokens <= BATCH_TOKENS
            };
            let count = 1 + others.iter().take_while(fits).count();
            let (batch, rest) = sequences.split_at(count);
            self.each_of_batch(batch, workspace, then);
            sequences = rest;
        }
    }

    #[target_feature(enable = "avx2,fma")]
    fn each_of_batch(&self, batch: &[Sequence<'_>], workspace: &mut Workspace, then: &mut dyn FnMut(&[f32])) {
        let mut end = 0;
        let places: Vec<Range<usize>> = batch
            .iter()
            .map(|sequence| {
                end += sequence.ids.len();
                end - sequence.ids.len()..end
            })
            .collect();
        workspace.tokens.resize(end, self.hidden);
        for (sequence, place) in batch.iter().zip(&places) {
            let states = &mut workspace.tokens.states[place.start * self.hidden..place.end * self.hidden];
            self.embed(*sequence, 0, states);
        }
        self.run(0..self.layers.len(), &places, workspace);
        for place in &places {
            then(&workspace.tokens.states[place.start * self.hidden..place.end * self.hidden]);
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn score_with_early_exit(
        &self,
        pairs: &[Sequence<'_>],
        early_exit: EarlyExit<'_>,
        workspace: &mut Workspace,
        logits: &mut [f32],
    ) {
        let EarlyExit { prior_scores, full_tokens_max, probe } = early_exit;
        let mut states_at_probe = Vec::with_capacity(pairs.len());
        for (pair, logit) in pairs.iter().zip(logits.iter_mut()) {
            workspace.tokens.resize(pair.ids.len(), self.hidden);
            self.embed(*pair, 0, &mut workspace.tokens.states);
            self.run(0..probe.layers, from_ref(&(0..pair.ids.len())), workspace);
            *logit = predicted_logit(probe, &workspace.tokens.states, self.hidden, pair.first_length);
            states_at_probe.push(workspace.tokens.states.clone());
        }
        let score = |at: &usize| prior_scores[*at] + logits[*at];
        let mut best_first: Vec<usize> = (0..pairs.len()).collect();
        best_first.sort_by(|left, right| score(right).total_cmp(&score(left)));
        let mut budget = full_tokens_max;
        for (place, at) in best_first.into_iter().enumerate() {
            let tokens = pairs[at].ids.len();
            if place > 0 && tokens > budget {
                break;
            }
            budget = budget.saturating_sub(tokens);
            workspace.tokens.resize(tokens, self.hidden);
            workspace.tokens.states.copy_from_slice(&states_at_probe[at]);
            self.run(probe.layers..self.layers.len(), from_ref(&(0..tokens)), workspace);
            self.write_output(&workspace.tokens.states, &mut logits[at..=at]);
        }
    }

    /// Passes sequences through some of the layers. `places` are the tokens of each sequence. If the last layer is to
    /// compute the first token only, there is only one sequence.
    #[target_feature(enable = "avx2,fma")]
    fn run(&self, layers: Range<usize>, places: &[Range<usize>], workspace: &mut Workspace) {
        let Workspace { tokens: buffers, projected } = workspace;
        let tokens = buffers.states.len() / self.hidden;
        let stride = 3 * self.hidden;
        for at in layers {
            let layer = &self.layers[at];
            let is_last = at + 1 == self.layers.len();
            let wanted = if is_last && !self.reads_all_tokens() { 1 } else { tokens };
            layer.project(buffers, self.hidden, wanted, projected);
            for place in places {
                let keys = &projected[place.start * stride..place.end * stride];
                layer.attend(buffers, self.hidden, place.start..place.end.min(wanted), projected, &[keys]);
            }
            layer.add_attended(buffers, self.hidden, wanted);
            layer.feed_forward(buffers, self.hidden, wanted);
        }
    }

    fn write_output(&self, states: &[f32], output: &mut [f32]) {
        self.write_pooled(states.chunks_exact(self.hidden), output);
    }

    /// Writes the output for the states of a sequence's tokens.
    pub(crate) fn write_pooled<'a>(&self, mut states: impl Iterator<Item = &'a [f32]>, output: &mut [f32]) {
        let mut pooled = states.next().unwrap_or_default().to_vec();
        let mut tokens = 1;
        if self.head.pooling == Pooling::Sum {
            for state in states {
                pooled.iter_mut().zip(state).for_each(|(sum, component)| *sum += component);
                tokens += 1;
            }
        }
        self.head.write_output(pooled, tokens, output);
    }

    /// Writes the embeddings of the sequence's tokens from number `first` on: the normalised sum of the embeddings of
    /// word, position and text.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn embed(&self, sequence: Sequence<'_>, first: usize, states: &mut [f32]) {
        let mut added = vec![0f32; self.hidden];
        // In a model with spans, only tokens of the passage have the second type. The last separator has the first
        // type.
        let second_end = sequence.ids.len() - usize::from(self.spans.is_some());
        let tokens = sequence.ids.iter().enumerate().skip(first);
        for ((at, id), state) in tokens.zip(states.chunks_exact_mut(self.hidden)) {
            self.words.write_row(&self.map, *id as usize, state);
            added.copy_from_slice(&self.positions[at * self.hidden..][..self.hidden]);
            if let Some(types) = &self.types {
                let is_second = at >= sequence.first_length && at < second_end;
                let of_type = &types[usize::from(is_second) * self.hidden..][..self.hidden];
                added.iter_mut().zip(of_type).for_each(|(added, of_type)| *added += of_type);
            }
            add_and_normalise(state, &added, &self.norm.gain, &self.norm.shift, self.norm.epsilon);
        }
    }
}

impl Layer {
    /// Computes keys and values of all tokens in `buffers`, and queries of the first `wanted` tokens. Writes them to
    /// `projected` (`[tokens, 3 * hidden]`).
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn project(&self, buffers: &mut TokenBuffers, hidden: usize, wanted: usize, projected: &mut Vec<f32>) {
        let TokenBuffers { states, bytes, scales, .. } = buffers;
        let stride = 3 * hidden;
        projected.resize(states.len() * 3, 0.0);
        let rows = quantise(states, hidden, self.attention_smoothing.as_deref(), bytes, scales);
        multiply(&rows.first(wanted), &self.projections, 0..hidden, projected, stride);
        multiply(&rows, &self.projections, hidden..stride, projected, stride);
    }

    /// Computes self-attention for some tokens, whose queries are in the rows `queries` of `projected`. The elements of
    /// `parts` together have the keys and values of the tokens' whole sequence.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn attend(
        &self,
        buffers: &mut TokenBuffers,
        hidden: usize,
        queries: Range<usize>,
        projected: &[f32],
        parts: &[&[f32]],
    ) {
        let TokenBuffers { attended, head, .. } = buffers;
        let stride = 3 * hidden;
        for column in (0..hidden).step_by(HEAD_WIDTH) {
            head.pack(parts, stride, hidden + column, 2 * hidden + column);
            head.attend(projected, stride, queries.clone(), column, attended, hidden);
        }
    }

    /// Adds the results of attention to the states of the first `wanted` tokens.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn add_attended(&self, buffers: &mut TokenBuffers, hidden: usize, wanted: usize) {
        let TokenBuffers { states, attended, added, bytes, scales, .. } = buffers;
        let rows = quantise(&attended[..wanted * hidden], hidden, None, bytes, scales);
        multiply(&rows, &self.attention_output, 0..hidden, added, hidden);
        add_rows(&mut states[..wanted * hidden], added, &self.attention_norm);
    }

    /// Computes the feed-forward layer for the first `wanted` tokens.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn feed_forward(&self, buffers: &mut TokenBuffers, hidden: usize, wanted: usize) {
        let TokenBuffers { states, inner, added, bytes, scales, .. } = buffers;
        let width = INNER_FACTOR * hidden;
        for states in states[..wanted * hidden].chunks_mut(FEED_FORWARD_ROWS * hidden) {
            let count = states.len() / hidden;
            let rows = quantise(states, hidden, self.feed_forward_smoothing.as_deref(), bytes, scales);
            multiply(&rows, &self.up, 0..width, inner, width);
            let rows = quantise_activated(&mut inner[..count * width], width, bytes, scales);
            multiply(&rows, &self.down, 0..hidden, added, hidden);
            add_rows(states, added, &self.feed_forward_norm);
        }
    }
}

impl TokenBuffers {
    pub(crate) fn resize(&mut self, tokens: usize, hidden: usize) {
        let inner = INNER_FACTOR * hidden;
        self.states.resize(tokens * hidden, 0.0);
        self.attended.resize(tokens * hidden, 0.0);
        self.added.resize(tokens * hidden, 0.0);
        self.inner.resize(FEED_FORWARD_ROWS * inner, 0.0);
        self.bytes.resize((tokens * hidden).max(FEED_FORWARD_ROWS * inner), 0);
        self.scales.resize(tokens.max(FEED_FORWARD_ROWS), 0.0);
    }
}

#[target_feature(enable = "avx2,fma")]
fn add_rows(states: &mut [f32], added: &[f32], norm: &Norm) {
    let width = norm.gain.len();
    for (state, added) in states.chunks_exact_mut(width).zip(added.chunks_exact(width)) {
        add_and_normalise(state, added, &norm.gain, &norm.shift, norm.epsilon);
    }
}

/// Returns the logit that a probe predicts from the states after the probe's layers.
fn predicted_logit(probe: EarlyExitProbe<'_>, states: &[f32], hidden: usize, first_length: usize) -> f32 {
    let (first_text, second_text) = states.split_at(first_length * hidden);
    let of_means = [&states[..hidden], first_text, second_text].into_iter().zip(probe.weights.chunks_exact(hidden));
    let terms = of_means.map(|(states, weights)| {
        let sum: f32 = states.chunks_exact(hidden).map(|state| dot(state, weights)).sum();
        sum / (states.len() / hidden).max(1) as f32
    });
    terms.sum::<f32>() + probe.bias
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
