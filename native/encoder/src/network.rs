//! The layers of a model, and how a sequence passes through them.
//! The inner loops are in `kernels`; two threads on one sequence are in `two_threads`.

use std::ops::Range;

use half::f16;

use crate::error::{Error, Result};
use crate::kernels::{HEAD_WIDTH, Head, add_and_normalise, multiply, quantise, quantise_activated};
use crate::onnx_tensors::{ElementType, OnnxTensors};
use crate::weights::{COLUMNS, Linear};
use crate::{EarlyExit, EarlyExitProbe, Sequence};

/// The `producer_name` that `data/models/recipe/export_onnx.py` writes into its files.
const PRODUCER: &str = "mneme-export";

/// Number of tokens that pass through a feed-forward layer together. With this number, their inner activations fit into
/// the second-level cache.
const FEED_FORWARD_ROWS: usize = 32;

/// The inner width of a feed-forward layer is `INNER_FACTOR * hidden`.
const INNER_FACTOR: usize = 4;

/// Gain and shift of a layer normalisation, `[hidden]` each.
struct Norm {
    gain: Vec<f32>,
    shift: Vec<f32>,
}

/// One transformer layer.
pub(crate) struct Layer {
    /// Factors by which the states are multiplied before quantisation, `[hidden]`. `None` if all factors are 1.
    attention_smoothing: Option<Vec<f32>>,
    /// Linear layer whose outputs are queries, keys and values, in this order.
    projections: Linear,
    attention_output: Linear,
    attention_norm: Norm,
    /// Like `attention_smoothing`, but for the inputs of `up`.
    feed_forward_smoothing: Option<Vec<f32>>,
    up: Linear,
    down: Linear,
    feed_forward_norm: Norm,
}

enum Output {
    /// The mean state of all tokens, scaled to unit length.
    Vector,
    /// A logit, computed from the state of the first token: a layer `pool` with tanh, then a dot product with
    /// `weights`.
    Logit { pool: Vec<f32>, pool_bias: Vec<f32>, weights: Vec<f32>, bias: f32 },
}

/// A model: its embeddings, layers and output.
pub(crate) struct Network {
    tensors: OnnxTensors,
    pub(crate) hidden: usize,
    vocabulary: usize,
    tokens_max: usize,
    /// Embeddings of the positions, `[tokens_max, hidden]`.
    positions: Vec<f32>,
    /// Embeddings of the first and the second text, `[2, hidden]`. `None` if `positions` includes them already.
    types: Option<Vec<f32>>,
    norm: Norm,
    pub(crate) layers: Vec<Layer>,
    output: Output,
}

/// Buffers for one sequence. They are reused for the next sequence, because allocating memory takes as long as some of
/// the arithmetic.
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
    head: Head,
}

impl Network {
    /// Reads a model from its constants. Fails with `Invalid` if another exporter wrote the file.
    pub(crate) fn read(tensors: OnnxTensors) -> Result<Self> {
        let is_embedder = match (tensors.producer(), tensors.graph()) {
            (PRODUCER, "mneme-embedder") => true,
            (PRODUCER, "mneme-cross-encoder") => false,
            (producer, graph) => {
                return Err(Error::invalid(format!("the model {graph} by {producer} is not supported")));
            }
        };
        let [vocabulary, hidden] = sides(&tensors, "emb.word")?;
        let [tokens_max, _] = sides(&tensors, "emb.pos")?;
        if hidden == 0 || !hidden.is_multiple_of(HEAD_WIDTH) {
            return Err(Error::invalid(format!("the model's hidden size {hidden} is not a multiple of {HEAD_WIDTH}")));
        }
        tensors.bytes("emb.word", ElementType::Float16, &[vocabulary, hidden])?;
        let mut layers = Vec::new();
        while tensors.shape(&format!("l{}.q.q", layers.len())).is_some() {
            layers.push(Layer::read(&tensors, layers.len(), hidden)?);
        }
        let output = if is_embedder {
            Output::Vector
        } else {
            Output::Logit {
                pool: tensors.floats("pool.w", &[hidden, hidden])?,
                pool_bias: tensors.floats("pool.b", &[hidden])?,
                weights: tensors.floats("cls.w", &[1, hidden])?,
                bias: tensors.floats("cls.b", &[1])?[0],
            }
        };
        Ok(Network {
            hidden,
            vocabulary,
            tokens_max,
            positions: tensors.floats("emb.pos", &[tokens_max, hidden])?,
            types: (!is_embedder).then(|| tensors.floats("emb.type", &[2, hidden])).transpose()?,
            norm: Norm::read(&tensors, "emb.ln", hidden)?,
            layers,
            output,
            tensors,
        })
    }

    /// Number of values in one output.
    pub(crate) fn output_width(&self) -> usize {
        match self.output {
            Output::Vector => self.hidden,
            Output::Logit { .. } => 1,
        }
    }

    /// Whether the output is a vector.
    pub(crate) fn is_embedder(&self) -> bool {
        matches!(self.output, Output::Vector)
    }

    /// Number of tokens in the vocabulary.
    pub(crate) fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Maximum number of tokens of a sequence.
    pub(crate) fn tokens_max(&self) -> usize {
        self.tokens_max
    }

    /// Fails with `Invalid` if the probe's shape does not fit this model.
    pub(crate) fn check(&self, probe: EarlyExitProbe<'_>) -> Result<()> {
        let fits = (1..self.layers.len()).contains(&probe.layers) && probe.weights.len() == 3 * self.hidden;
        match self.output {
            Output::Logit { .. } if fits => Ok(()),
            _ => Err(Error::invalid("the early-exit probe was not made for this model")),
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn encode(&self, sequence: Sequence<'_>, workspace: &mut Workspace, output: &mut [f32]) {
        workspace.tokens.resize(sequence.ids.len(), self.hidden);
        self.embed(sequence, 0, &mut workspace.tokens.states);
        self.run(0..self.layers.len(), workspace);
        self.write_output(&workspace.tokens.states, output);
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
            self.run(0..probe.layers, workspace);
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
            self.run(probe.layers..self.layers.len(), workspace);
            self.write_output(&workspace.tokens.states, &mut logits[at..=at]);
        }
    }

    #[target_feature(enable = "avx2,fma")]
    fn run(&self, layers: Range<usize>, workspace: &mut Workspace) {
        let Workspace { tokens: buffers, projected } = workspace;
        let tokens = buffers.states.len() / self.hidden;
        for at in layers {
            let is_last = at + 1 == self.layers.len();
            // A logit depends only on the first token of the last layer.
            let wanted = if is_last && matches!(self.output, Output::Logit { .. }) { 1 } else { tokens };
            self.layers[at].project(buffers, self.hidden, wanted, projected);
            self.layers[at].attend(buffers, self.hidden, wanted, projected, &[projected]);
            self.layers[at].feed_forward(buffers, self.hidden, wanted);
        }
    }

    fn write_output(&self, states: &[f32], output: &mut [f32]) {
        match &self.output {
            Output::Vector => write_unit_mean(states.chunks_exact(self.hidden), output),
            Output::Logit { pool, pool_bias, weights, bias } => {
                let first = &states[..self.hidden];
                let rows = pool.chunks_exact(self.hidden).zip(pool_bias).zip(weights);
                let terms = rows.map(|((row, bias), weight)| (dot(row, first) + bias).tanh() * weight);
                output[0] = terms.sum::<f32>() + bias;
            }
        }
    }

    /// Writes the embeddings of the sequence's tokens from number `first` on: the normalised sum of the embeddings of
    /// word, position and text.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn embed(&self, sequence: Sequence<'_>, first: usize, states: &mut [f32]) {
        let row_bytes = self.hidden * size_of::<f16>();
        let shape = [self.vocabulary, self.hidden];
        let words = self.tensors.bytes("emb.word", ElementType::Float16, &shape).expect("checked when it was read");
        let mut added = vec![0f32; self.hidden];
        let tokens = sequence.ids.iter().enumerate().skip(first);
        for ((at, id), state) in tokens.zip(states.chunks_exact_mut(self.hidden)) {
            let word = words[*id as usize * row_bytes..][..row_bytes].as_chunks::<2>().0;
            let word = word.iter().map(|half| f16::from_le_bytes(*half).to_f32());
            state.iter_mut().zip(word).for_each(|(state, word)| *state = word);
            added.copy_from_slice(&self.positions[at * self.hidden..][..self.hidden]);
            if let Some(types) = &self.types {
                let of_type = &types[usize::from(at >= sequence.first_length) * self.hidden..][..self.hidden];
                added.iter_mut().zip(of_type).for_each(|(added, of_type)| *added += of_type);
            }
            add_and_normalise(state, &added, &self.norm.gain, &self.norm.shift);
        }
    }
}

impl Layer {
    fn read(tensors: &OnnxTensors, number: usize, hidden: usize) -> Result<Self> {
        let name = |part: &str| format!("l{number}.{part}");
        let smoothing = |part: &str| {
            let name = name(part);
            tensors.shape(&name).is_some().then(|| tensors.floats(&name, &[hidden])).transpose()
        };
        let linear = |parts: &[&str], bias: &str, inputs, outputs| {
            let parts: Vec<String> = parts.iter().map(|part| name(part)).collect();
            read_linear(tensors, &parts, &name(bias), inputs, outputs)
        };
        let inner = INNER_FACTOR * hidden;
        Ok(Layer {
            attention_smoothing: smoothing("qkv.smooth")?,
            projections: linear(&["q", "k", "v"], "qkv.b", hidden, hidden)?,
            attention_output: linear(&["o"], "ln1.bias", hidden, hidden)?,
            attention_norm: Norm::read(tensors, &name("ln1"), hidden)?,
            feed_forward_smoothing: smoothing("up.smooth")?,
            up: linear(&["up"], "up.b", hidden, inner)?,
            down: linear(&["down"], "ln2.bias", inner, hidden)?,
            feed_forward_norm: Norm::read(tensors, &name("ln2"), hidden)?,
        })
    }

    /// Computes keys and values of all tokens in `buffers`, and queries of the first `wanted` tokens. Writes them to
    /// `projected` (`[tokens, 3 * hidden]`).
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn project(&self, buffers: &mut TokenBuffers, hidden: usize, wanted: usize, projected: &mut Vec<f32>) {
        let TokenBuffers { states, bytes, scales, .. } = buffers;
        let stride = 3 * hidden;
        projected.resize(states.len() * 3, 0.0);
        let rows = quantise(states, hidden, self.attention_smoothing.as_deref(), bytes, scales);
        let panels = hidden / COLUMNS;
        multiply(&rows.first(wanted), &self.projections, 0..panels, projected, stride);
        multiply(&rows, &self.projections, panels..3 * panels, projected, stride);
    }

    /// Computes self-attention for the first `wanted` tokens. `projected` has their queries. The elements of `parts`
    /// together have the keys and values of the whole sequence.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn attend(
        &self,
        buffers: &mut TokenBuffers,
        hidden: usize,
        wanted: usize,
        projected: &[f32],
        parts: &[&[f32]],
    ) {
        let TokenBuffers { states, attended, added, bytes, scales, head, .. } = buffers;
        let stride = 3 * hidden;
        for column in (0..hidden).step_by(HEAD_WIDTH) {
            head.pack(parts, stride, hidden + column, 2 * hidden + column);
            head.attend(projected, stride, 0..wanted, column, attended, hidden);
        }
        let rows = quantise(&attended[..wanted * hidden], hidden, None, bytes, scales);
        multiply(&rows, &self.attention_output, 0..hidden / COLUMNS, added, hidden);
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
            multiply(&rows, &self.up, 0..width / COLUMNS, inner, width);
            let rows = quantise_activated(&mut inner[..count * width], width, bytes, scales);
            multiply(&rows, &self.down, 0..hidden / COLUMNS, added, hidden);
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

impl Norm {
    fn read(tensors: &OnnxTensors, name: &str, width: usize) -> Result<Self> {
        let (gain, shift) = (format!("{name}.g"), format!("{name}.b"));
        Ok(Norm { gain: tensors.floats(&gain, &[width])?, shift: tensors.floats(&shift, &[width])? })
    }
}

/// Reads weight matrices (`[inputs, outputs]` each) and joins them to one linear layer with the outputs of all.
fn read_linear(tensors: &OnnxTensors, parts: &[String], bias: &str, inputs: usize, outputs: usize) -> Result<Linear> {
    let all = parts.len() * outputs;
    let (mut weights, mut scales) = (vec![0i8; inputs * all], Vec::with_capacity(all));
    for (part, name) in parts.iter().enumerate() {
        scales.extend(tensors.floats(&format!("{name}.s"), &[outputs])?);
        let bytes = tensors.bytes(&format!("{name}.q"), ElementType::Int8, &[inputs, outputs])?;
        for (row, bytes) in weights.chunks_exact_mut(all).zip(bytes.chunks_exact(outputs)) {
            let row = &mut row[part * outputs..][..outputs];
            row.iter_mut().zip(bytes).for_each(|(weight, byte)| *weight = *byte as i8);
        }
    }
    Linear::pack(&weights, inputs, scales, tensors.floats(bias, &[all])?)
}

#[target_feature(enable = "avx2,fma")]
fn add_rows(states: &mut [f32], added: &[f32], norm: &Norm) {
    let width = norm.gain.len();
    for (state, added) in states.chunks_exact_mut(width).zip(added.chunks_exact(width)) {
        add_and_normalise(state, added, &norm.gain, &norm.shift);
    }
}

/// Writes the mean of the states, scaled to unit length.
pub(crate) fn write_unit_mean<'a>(states: impl Iterator<Item = &'a [f32]>, output: &mut [f32]) {
    output.fill(0.0);
    for state in states {
        output.iter_mut().zip(state).for_each(|(sum, component)| *sum += component);
    }
    let length = output.iter().map(|component| component * component).sum::<f32>().sqrt().max(1e-12);
    output.iter_mut().for_each(|component| *component /= length);
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

fn sides(tensors: &OnnxTensors, name: &str) -> Result<[usize; 2]> {
    let shape = tensors.shape(name).and_then(|shape| shape.try_into().ok());
    shape.ok_or_else(|| Error::invalid(format!("the model has no matrix {name}")))
}
