//! A BERT encoder on bytes: computes the models that `data/models/recipe` exports, without an interpreter between their
//! 400 operations, on processors with AVX2 and no byte products of their own. One sequence at a time, so that nothing is
//! padded and no answer depends on what else is asked; where somebody waits for it, two threads may share its tokens.
//! Weights are bytes of 7 bits, activations bytes with one scale per token; sums of products are exact, which they are not
//! in every runtime.
//!
//! Whether a model is one of these is told by its constants' names and shapes; that it is computed rightly, by the answers
//! that lie beside it, which a caller compares before relying on it.

use std::path::Path;
#[cfg(target_arch = "x86_64")]
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(target_arch = "x86_64")]
use self::avx2::{Halves, Network, Workspace};
use crate::error::{Error, Result};
#[cfg(target_arch = "x86_64")]
use crate::helper::{HalvedWork, Helper};
#[cfg(target_arch = "x86_64")]
use crate::onnx_tensors::OnnxTensors;

/// Whether this processor is one that the encoder is made for: it has AVX2, and not the instructions that add products of
/// bytes at once, with which onnxruntime is as fast.
pub fn is_made_for_this_processor() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let adds_products = is_x86_feature_detected!("avx512vnni") || is_x86_feature_detected!("avxvnni");
        is_supported() && !adds_products
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(target_arch = "x86_64")]
fn is_supported() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Tokens of one sequence.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    /// Ids of the vocabulary.
    pub ids: &'a [u32],
    /// How many of them are of the first text; the rest are of the second.
    pub first_length: usize,
}

/// How a logit can be told from the states after the first layers (`data/models/recipe/fit_skim.py`).
#[derive(Debug, Clone, Copy)]
pub struct Skim<'a> {
    /// So many.
    pub layers: usize,
    /// What the means of the states are multiplied by, `[3, hidden]`: the first token's, the first text's, the second text's.
    pub weights: &'a [f32],
    /// What is added.
    pub bias: f32,
}

/// A list of pairs of which only the better ones are read to the end.
#[derive(Debug, Clone, Copy)]
pub struct Contest<'a> {
    /// What each pair is worth beside its logit, in the same unit.
    pub head_starts: &'a [f32],
    /// Tokens of the pairs that are read to the end: those that are worth most with the logit that they seem to get, one after
    /// the other until the next one has too many, the first in any case.
    pub tokens_max: usize,
    /// How that is told.
    pub skim: Skim<'a>,
}

/// Fewer tokens than these are not worth being shared by two threads.
#[cfg(target_arch = "x86_64")]
const HALVED_TOKENS_MIN: usize = 8;

/// A model in memory. Its answers are unit vectors or single logits, as the file says.
#[cfg(target_arch = "x86_64")]
pub struct Encoder {
    network: Arc<Network>,
    workspace: Mutex<Workspace>,
    halved: Option<Halved>,
}

/// What two threads share of an answer, and the second one.
#[cfg(target_arch = "x86_64")]
struct Halved {
    helper: Helper,
    halves: Mutex<Arc<Halves>>,
}

#[cfg(target_arch = "x86_64")]
impl Halved {
    fn start(halves: Halves) -> Result<Self> {
        Ok(Halved { helper: Helper::start("mneme-encoder")?, halves: Mutex::new(Arc::new(halves)) })
    }
}

#[cfg(target_arch = "x86_64")]
impl Encoder {
    /// Reads a model. Refused (`Invalid`) are files of another making, and processors without AVX2.
    pub fn open(path: &Path) -> Result<Self> {
        if !is_supported() {
            return Err(unsupported());
        }
        let network = Arc::new(Network::read(OnnxTensors::open(path)?)?);
        let has_two_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        let halves = if has_two_cores { Halves::of(&network) } else { None };
        // Without a second thread it is slower, and as right.
        let halved = halves.and_then(|halves| Halved::start(halves).ok());
        Ok(Encoder { network, workspace: Mutex::default(), halved })
    }

    /// Numbers of an answer: the dimensions of a vector, or 1.
    pub fn answer_width(&self) -> usize {
        self.network.answer_width()
    }

    /// Answers a sequence.
    pub fn answer(&self, sequence: Sequence<'_>, answer: &mut [f32]) -> Result<()> {
        self.check(sequence)?;
        if answer.len() != self.answer_width() {
            return Err(Error::invalid("an answer of another width than the model's"));
        }
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `open` saw that the processor has the instructions.
        unsafe { self.network.answer(sequence, &mut workspace, answer) };
        Ok(())
    }

    /// The same answer sooner: a second thread computes half of the tokens, where there is a second core and the model answers
    /// with vectors. For a sequence that somebody waits for; of many at once, each core has its own to do.
    pub fn answer_soon(&self, sequence: Sequence<'_>, answer: &mut [f32]) -> Result<()> {
        let Some(Halved { helper, halves }) = &self.halved else { return self.answer(sequence, answer) };
        if sequence.ids.len() < HALVED_TOKENS_MIN || answer.len() != self.answer_width() {
            return self.answer(sequence, answer);
        }
        self.check(sequence)?;
        let halves = halves.lock().unwrap_or_else(|poisoned| {
            // The helper may still be at what failed: it keeps that, and this answer has other room.
            let mut held = poisoned.into_inner();
            *held = Arc::new(Halves::of(&self.network).expect("a model that had halves before"));
            halves.clear_poison();
            held
        });
        halves.ask(sequence);
        let work: Arc<dyn HalvedWork> = Arc::<Halves>::clone(&halves);
        helper.share(work);
        halves.write_answer(answer);
        Ok(())
    }

    /// Logits of the pairs of a contest: of those that are not read to the end, what they seem to be.
    pub fn judge(&self, pairs: &[Sequence<'_>], contest: Contest<'_>, logits: &mut [f32]) -> Result<()> {
        pairs.iter().try_for_each(|pair| self.check(*pair))?;
        if pairs.len() != contest.head_starts.len() || pairs.len() != logits.len() {
            return Err(Error::invalid("pairs, head starts and logits differ in number"));
        }
        self.network.check(contest.skim)?;
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as above.
        unsafe { self.network.judge(pairs, contest, &mut workspace, logits) };
        Ok(())
    }

    fn check(&self, Sequence { ids, first_length }: Sequence<'_>) -> Result<()> {
        let (tokens_max, vocabulary) = (self.network.tokens_max(), self.network.vocabulary());
        if ids.is_empty() || ids.len() > tokens_max || first_length > ids.len() {
            return Err(Error::invalid(format!("{} tokens, {first_length} of them first, of {tokens_max}", ids.len())));
        }
        if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
            return Err(Error::invalid(format!("token {id} of a vocabulary of {vocabulary}")));
        }
        Ok(())
    }
}

/// There is none for other processors.
#[cfg(not(target_arch = "x86_64"))]
pub enum Encoder {}

#[cfg(not(target_arch = "x86_64"))]
impl Encoder {
    /// Refused (`Invalid`).
    pub fn open(_path: &Path) -> Result<Self> {
        Err(unsupported())
    }

    /// Never called.
    pub fn answer_width(&self) -> usize {
        match *self {}
    }

    /// Never called.
    pub fn answer(&self, _sequence: Sequence<'_>, _answer: &mut [f32]) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn answer_soon(&self, _sequence: Sequence<'_>, _answer: &mut [f32]) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn judge(&self, _pairs: &[Sequence<'_>], _contest: Contest<'_>, _logits: &mut [f32]) -> Result<()> {
        match *self {}
    }
}

fn unsupported() -> Error {
    Error::invalid("the encoder needs a processor with AVX2")
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::ops::Range;
    use std::sync::{Arc, Mutex, PoisonError, RwLock};

    use half::f16;

    use super::{Contest, Sequence, Skim};
    use crate::encoder_kernels::{HEAD_WIDTH, Head, add_and_normalise, multiply, quantise, quantise_activated};
    use crate::encoder_weights::{COLUMNS, Linear};
    use crate::error::{Error, Result};
    use crate::helper::HalvedWork;
    use crate::onnx_tensors::{ElementType, OnnxTensors};

    /// Who writes such files: `data/models/recipe/export_onnx.py`.
    const PRODUCER: &str = "mneme-export";

    /// Tokens whose wide inner layer is computed before the next ones': it stays in the second-level cache.
    const INNER_ROWS: usize = 32;

    /// The wide inner layer is this many times as wide as the others: `INNER_FACTOR * hidden`.
    const INNER_FACTOR: usize = 4;

    struct Norm {
        gain: Vec<f32>,
        shift: Vec<f32>,
    }

    struct Layer {
        /// Before queries, keys and values are made; absent: 1.
        attention_smoothing: Option<Vec<f32>>,
        /// Queries, keys and values, one after the other.
        projections: Linear,
        gathered: Linear,
        gathered_norm: Norm,
        inner_smoothing: Option<Vec<f32>>,
        up: Linear,
        down: Linear,
        down_norm: Norm,
    }

    enum Answer {
        /// The mean over all tokens, at unit length.
        Vector,
        /// Of the first token, through two last layers.
        Logit { pool: Vec<f32>, pool_bias: Vec<f32>, weights: Vec<f32>, bias: f32 },
    }

    pub struct Network {
        tensors: OnnxTensors,
        hidden: usize,
        vocabulary: usize,
        tokens_max: usize,
        /// `[tokens_max, hidden]`
        positions: Vec<f32>,
        /// `[2, hidden]`; none: the positions contain it.
        types: Option<Vec<f32>>,
        norm: Norm,
        layers: Vec<Layer>,
        answer: Answer,
    }

    /// What one sequence needs while it is computed; kept, since fresh memory costs as much as some of the arithmetic.
    #[derive(Default)]
    pub struct Workspace {
        all: Part,
        /// `[tokens, 3 * hidden]`: queries, keys and values.
        projected: Vec<f32>,
    }

    /// What tokens of a sequence that follow each other need for themselves.
    #[derive(Default)]
    struct Part {
        /// `[tokens, hidden]`: what goes from layer to layer.
        states: Vec<f32>,
        /// `[tokens, hidden]`
        gathered: Vec<f32>,
        /// `[INNER_ROWS, INNER_FACTOR * hidden]`
        inner: Vec<f32>,
        /// `[tokens, hidden]`: what is added to the states.
        added: Vec<f32>,
        bytes: Vec<u8>,
        scales: Vec<f32>,
        head: Head,
    }

    impl Network {
        pub fn read(tensors: OnnxTensors) -> Result<Self> {
            let is_embedder = match (tensors.producer(), tensors.graph()) {
                (PRODUCER, "mneme-embedder") => true,
                (PRODUCER, "mneme-cross-encoder") => false,
                (producer, graph) => return Err(Error::invalid(format!("a model {graph} of {producer}"))),
            };
            let [vocabulary, hidden] = sides(&tensors, "emb.word")?;
            let [tokens_max, _] = sides(&tensors, "emb.pos")?;
            if hidden == 0 || !hidden.is_multiple_of(HEAD_WIDTH) {
                return Err(Error::invalid(format!("a model of {hidden} components: no multiple of {HEAD_WIDTH}")));
            }
            tensors.bytes("emb.word", ElementType::Float16, &[vocabulary, hidden])?;
            let mut layers = Vec::new();
            while tensors.shape(&format!("l{}.q.q", layers.len())).is_some() {
                layers.push(Layer::read(&tensors, layers.len(), hidden)?);
            }
            let answer = if is_embedder {
                Answer::Vector
            } else {
                Answer::Logit {
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
                answer,
                tensors,
            })
        }

        pub fn answer_width(&self) -> usize {
            match self.answer {
                Answer::Vector => self.hidden,
                Answer::Logit { .. } => 1,
            }
        }

        pub fn vocabulary(&self) -> usize {
            self.vocabulary
        }

        pub fn tokens_max(&self) -> usize {
            self.tokens_max
        }

        /// Refused is a skim that is another model's.
        pub fn check(&self, skim: Skim<'_>) -> Result<()> {
            let is_ours = (1..self.layers.len()).contains(&skim.layers) && skim.weights.len() == 3 * self.hidden;
            match self.answer {
                Answer::Logit { .. } if is_ours => Ok(()),
                _ => Err(Error::invalid("a skim that was not made for this model")),
            }
        }

        #[target_feature(enable = "avx2,fma")]
        pub fn answer(&self, sequence: Sequence<'_>, workspace: &mut Workspace, answer: &mut [f32]) {
            workspace.all.fit(sequence.ids.len(), self.hidden);
            self.look_up(sequence, 0, &mut workspace.all.states);
            self.run(0..self.layers.len(), workspace);
            self.write_answer(&workspace.all.states, answer);
        }

        #[target_feature(enable = "avx2,fma")]
        pub fn judge(
            &self,
            pairs: &[Sequence<'_>],
            contest: Contest<'_>,
            workspace: &mut Workspace,
            logits: &mut [f32],
        ) {
            let Contest { head_starts, tokens_max, skim } = contest;
            let mut skimmed = Vec::with_capacity(pairs.len());
            for (pair, logit) in pairs.iter().zip(logits.iter_mut()) {
                workspace.all.fit(pair.ids.len(), self.hidden);
                self.look_up(*pair, 0, &mut workspace.all.states);
                self.run(0..skim.layers, workspace);
                *logit = told(skim, &workspace.all.states, self.hidden, pair.first_length);
                skimmed.push(workspace.all.states.clone());
            }
            let worth = |at: &usize| head_starts[*at] + logits[*at];
            let mut best_first: Vec<usize> = (0..pairs.len()).collect();
            best_first.sort_by(|left, right| worth(right).total_cmp(&worth(left)));
            let mut left = tokens_max;
            for (place, at) in best_first.into_iter().enumerate() {
                let tokens = pairs[at].ids.len();
                if place > 0 && tokens > left {
                    break;
                }
                left = left.saturating_sub(tokens);
                workspace.all.fit(tokens, self.hidden);
                workspace.all.states.copy_from_slice(&skimmed[at]);
                self.run(skim.layers..self.layers.len(), workspace);
                self.write_answer(&workspace.all.states, &mut logits[at..=at]);
            }
        }

        #[target_feature(enable = "avx2,fma")]
        fn run(&self, layers: Range<usize>, workspace: &mut Workspace) {
            let Workspace { all, projected } = workspace;
            let tokens = all.states.len() / self.hidden;
            for at in layers {
                let is_last = at + 1 == self.layers.len();
                // What is answered from the first token needs no other out of the last layer.
                let wanted = if is_last && matches!(self.answer, Answer::Logit { .. }) { 1 } else { tokens };
                self.layers[at].project(all, self.hidden, wanted, projected);
                self.layers[at].attend(all, self.hidden, wanted, projected, &[projected]);
                self.layers[at].think(all, self.hidden, wanted);
            }
        }

        fn write_answer(&self, states: &[f32], answer: &mut [f32]) {
            match &self.answer {
                Answer::Vector => write_mean_direction(states.chunks_exact(self.hidden), answer),
                Answer::Logit { pool, pool_bias, weights, bias } => {
                    let first = &states[..self.hidden];
                    let rows = pool.chunks_exact(self.hidden).zip(pool_bias).zip(weights);
                    let terms = rows.map(|((row, bias), weight)| (dot(row, first) + bias).tanh() * weight);
                    answer[0] = terms.sum::<f32>() + bias;
                }
            }
        }

        /// The states of a sequence's tokens from `first` on, before any layer.
        #[target_feature(enable = "avx2,fma")]
        fn look_up(&self, sequence: Sequence<'_>, first: usize, states: &mut [f32]) {
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
                gathered: linear(&["o"], "ln1.bias", hidden, hidden)?,
                gathered_norm: Norm::read(tensors, &name("ln1"), hidden)?,
                inner_smoothing: smoothing("up.smooth")?,
                up: linear(&["up"], "up.b", hidden, inner)?,
                down: linear(&["down"], "ln2.bias", inner, hidden)?,
                down_norm: Norm::read(tensors, &name("ln2"), hidden)?,
            })
        }

        /// Keys and values of a part, and queries of its first `wanted` tokens.
        #[target_feature(enable = "avx2,fma")]
        fn project(&self, part: &mut Part, hidden: usize, wanted: usize, projected: &mut Vec<f32>) {
            let Part { states, bytes, scales, .. } = part;
            let stride = 3 * hidden;
            projected.resize(states.len() * 3, 0.0);
            let rows = quantise(states, hidden, self.attention_smoothing.as_deref(), bytes, scales);
            let panels = hidden / COLUMNS;
            multiply(&rows.first(wanted), &self.projections, 0..panels, projected, stride);
            multiply(&rows, &self.projections, panels..3 * panels, projected, stride);
        }

        /// The first `wanted` tokens of a part gather from all, which are `parts`; its own is `projected`.
        #[target_feature(enable = "avx2,fma")]
        fn attend(&self, part: &mut Part, hidden: usize, wanted: usize, projected: &[f32], parts: &[&[f32]]) {
            let Part { states, gathered, added, bytes, scales, head, .. } = part;
            let stride = 3 * hidden;
            for column in (0..hidden).step_by(HEAD_WIDTH) {
                head.pack(parts, stride, hidden + column, 2 * hidden + column);
                head.attend(projected, stride, 0..wanted, column, gathered, hidden);
            }
            let rows = quantise(&gathered[..wanted * hidden], hidden, None, bytes, scales);
            multiply(&rows, &self.gathered, 0..hidden / COLUMNS, added, hidden);
            add_rows(&mut states[..wanted * hidden], added, &self.gathered_norm);
        }

        /// The wide inner layer, for the first `wanted` tokens of a part.
        #[target_feature(enable = "avx2,fma")]
        fn think(&self, part: &mut Part, hidden: usize, wanted: usize) {
            let Part { states, inner, added, bytes, scales, .. } = part;
            let width = INNER_FACTOR * hidden;
            for states in states[..wanted * hidden].chunks_mut(INNER_ROWS * hidden) {
                let count = states.len() / hidden;
                let rows = quantise(states, hidden, self.inner_smoothing.as_deref(), bytes, scales);
                multiply(&rows, &self.up, 0..width / COLUMNS, inner, width);
                let rows = quantise_activated(&mut inner[..count * width], width, bytes, scales);
                multiply(&rows, &self.down, 0..hidden / COLUMNS, added, hidden);
                add_rows(states, added, &self.down_norm);
            }
        }
    }

    impl Part {
        fn fit(&mut self, tokens: usize, hidden: usize) {
            let inner = INNER_FACTOR * hidden;
            self.states.resize(tokens * hidden, 0.0);
            self.gathered.resize(tokens * hidden, 0.0);
            self.added.resize(tokens * hidden, 0.0);
            self.inner.resize(INNER_ROWS * inner, 0.0);
            self.bytes.resize((tokens * hidden).max(INNER_ROWS * inner), 0);
            self.scales.resize(tokens.max(INNER_ROWS), 0.0);
        }
    }

    impl Norm {
        fn read(tensors: &OnnxTensors, name: &str, width: usize) -> Result<Self> {
            let (gain, shift) = (format!("{name}.g"), format!("{name}.b"));
            Ok(Norm { gain: tensors.floats(&gain, &[width])?, shift: tensors.floats(&shift, &[width])? })
        }
    }

    /// Reads matrices `[inputs, outputs]` and puts them side by side.
    fn read_linear(
        tensors: &OnnxTensors,
        parts: &[String],
        bias: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<Linear> {
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

    /// A sequence as two parts, of which each thread computes one: layer by layer, since tokens gather from those of both.
    pub struct Halves {
        network: Arc<Network>,
        asked: RwLock<Asked>,
        parts: [Mutex<Part>; 2],
        /// Queries, keys and values of each part: those of a layer are read while those of the next one are written.
        projected: [[RwLock<Vec<f32>>; 2]; 2],
    }

    #[derive(Default)]
    struct Asked {
        ids: Vec<u32>,
        first_length: usize,
        /// Where the second part begins.
        middle: usize,
    }

    impl Halves {
        /// `None` for a model of logits, whose last layer is about one token.
        pub fn of(network: &Arc<Network>) -> Option<Self> {
            matches!(network.answer, Answer::Vector).then(|| Halves {
                network: Arc::clone(network),
                asked: RwLock::default(),
                parts: Default::default(),
                projected: Default::default(),
            })
        }

        /// Says which sequence is next: one that the network can read, of four tokens at least.
        pub fn ask(&self, sequence: Sequence<'_>) {
            let mut asked = self.asked.write().unwrap_or_else(PoisonError::into_inner);
            asked.ids.clear();
            asked.ids.extend_from_slice(sequence.ids);
            asked.first_length = sequence.first_length;
            // Rows are multiplied by eights and fours, and what remains one by one.
            asked.middle = (sequence.ids.len() / 2).next_multiple_of(4);
        }

        /// What the answer is, after all phases.
        pub fn write_answer(&self, answer: &mut [f32]) {
            let parts = self.parts.each_ref().map(|part| part.lock().unwrap_or_else(PoisonError::into_inner));
            let states = parts.iter().flat_map(|part| part.states.chunks_exact(self.network.hidden));
            write_mean_direction(states, answer);
        }

        #[target_feature(enable = "avx2,fma")]
        fn compute(&self, phase: usize, half: usize) {
            let Network { hidden, layers, .. } = &*self.network;
            let mut part = self.parts[half].lock().unwrap_or_else(PoisonError::into_inner);
            if phase == 0 {
                let asked = self.asked.read().unwrap_or_else(PoisonError::into_inner);
                let Asked { ids, first_length, middle } = &*asked;
                let range = [0..*middle, *middle..ids.len()][half].clone();
                part.fit(range.len(), *hidden);
                self.network.look_up(Sequence { ids, first_length: *first_length }, range.start, &mut part.states);
            }
            let tokens = part.states.len() / hidden;
            if let Some(layer) = phase.checked_sub(1).map(|before| &layers[before]) {
                let parts = self.projected[(phase - 1) % 2].each_ref();
                let parts = parts.map(|part| part.read().unwrap_or_else(PoisonError::into_inner));
                layer.attend(&mut part, *hidden, tokens, &parts[half], &[&parts[0], &parts[1]]);
                layer.think(&mut part, *hidden, tokens);
            }
            if let Some(layer) = layers.get(phase) {
                let mut projected = self.projected[phase % 2][half].write().unwrap_or_else(PoisonError::into_inner);
                layer.project(&mut part, *hidden, tokens, &mut projected);
            }
        }
    }

    impl HalvedWork for Halves {
        /// A layer's attention needs what is projected of both parts; what follows, up to the next layer's, does not.
        fn phases(&self) -> usize {
            self.network.layers.len() + 1
        }

        fn run(&self, phase: usize, half: usize) {
            // SAFETY: a network is only there where `Encoder::open` saw that the processor has the instructions.
            unsafe { self.compute(phase, half) };
        }
    }

    fn write_mean_direction<'a>(states: impl Iterator<Item = &'a [f32]>, answer: &mut [f32]) {
        answer.fill(0.0);
        for state in states {
            answer.iter_mut().zip(state).for_each(|(sum, component)| *sum += component);
        }
        let length = answer.iter().map(|component| component * component).sum::<f32>().sqrt().max(1e-12);
        answer.iter_mut().for_each(|component| *component /= length);
    }

    /// The logit that a pair seems to get.
    fn told(skim: Skim<'_>, states: &[f32], hidden: usize, first_length: usize) -> f32 {
        let (first_text, second_text) = states.split_at(first_length * hidden);
        let of_means = [&states[..hidden], first_text, second_text].into_iter().zip(skim.weights.chunks_exact(hidden));
        let terms = of_means.map(|(states, weights)| {
            let sum: f32 = states.chunks_exact(hidden).map(|state| dot(state, weights)).sum();
            sum / (states.len() / hidden).max(1) as f32
        });
        terms.sum::<f32>() + skim.bias
    }

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn sides(tensors: &OnnxTensors, name: &str) -> Result<[usize; 2]> {
        let shape = tensors.shape(name).and_then(|shape| shape.try_into().ok());
        shape.ok_or_else(|| Error::invalid(format!("the model has no matrix {name}")))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/models");

    fn model(name: &str) -> Option<Encoder> {
        if !is_supported() {
            println!("skipped: this processor has no AVX2");
            return None;
        }
        Some(Encoder::open(&Path::new(MODELS).join(name).join("model.onnx")).expect("a model that ships with Mneme"))
    }

    fn answer(encoder: &Encoder, ids: &[u32], first_length: usize) -> Result<Vec<f32>> {
        let mut answer = vec![0f32; encoder.answer_width()];
        encoder.answer(Sequence { ids, first_length }, &mut answer)?;
        Ok(answer)
    }

    // That answers are right is shown by test/inference, with the references that lie beside the models.
    #[test]
    fn an_answer_does_not_depend_on_what_was_asked_before() {
        let Some(embedder) = model("embedder") else { return };
        let short = answer(&embedder, &[101, 2054, 102], 3).expect("a vector");
        let length: f32 = short.iter().map(|component| component * component).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
        let long: Vec<u32> = (0..512).map(|at| 1000 + at * 7 % 20_000).collect();
        answer(&embedder, &long, long.len()).expect("as many tokens as there are positions");
        assert_eq!(answer(&embedder, &[101, 2054, 102], 3), Ok(short));
    }

    #[test]
    fn two_threads_answer_as_one_does() {
        let (Some(embedder), Some(reranker)) = (model("embedder"), model("reranker")) else { return };
        let ids: Vec<u32> = (0..512).map(|at| 1000 + at * 7 % 20_000).collect();
        let mut soon = vec![0f32; 384];
        for tokens in (1..70).chain([128, 255, 512, 3]) {
            let sequence = Sequence { ids: &ids[..tokens], first_length: tokens };
            embedder.answer_soon(sequence, &mut soon).expect("a vector");
            assert_eq!(answer(&embedder, sequence.ids, tokens).as_ref(), Ok(&soon), "{tokens} tokens");
        }
        let sequence = Sequence { ids: &ids[..30], first_length: 9 };
        let mut logit = [0f32];
        reranker.answer_soon(sequence, &mut logit).expect("a logit");
        assert_eq!(answer(&reranker, sequence.ids, 9).as_deref(), Ok(&logit[..]));
        let longer: Vec<u32> = vec![1000; 513];
        for refused in [&longer[..], &[30_522; 20], &[]] {
            let sequence = Sequence { ids: refused, first_length: 0 };
            assert!(matches!(embedder.answer_soon(sequence, &mut soon), Err(Error::Invalid(_))));
        }
        assert!(embedder.answer_soon(sequence, &mut [0.0; 2]).is_err(), "two numbers for a vector");
    }

    /// A reranker's pairs of one question, of different lengths, and some weights by which to tell logits.
    fn list() -> (Vec<Vec<u32>>, Vec<f32>) {
        let passage = |at: u32| (0..20 + 9 * at).map(move |token| 1000 + (at * 31 + token * 7) % 20_000);
        let pairs = (0..7).map(|at| [101, 2054, 102].into_iter().chain(passage(at)).collect()).collect();
        (pairs, (0..3 * 384).map(|at| (at % 13) as f32 * 0.01 - 0.06).collect())
    }

    #[test]
    fn of_a_contest_the_better_ones_are_read_to_the_end() {
        let Some(encoder) = model("reranker") else { return };
        let (ids, weights) = list();
        let pairs: Vec<Sequence<'_>> = ids.iter().map(|ids| Sequence { ids, first_length: 3 }).collect();
        let read: Vec<f32> = ids.iter().map(|ids| answer(&encoder, ids, 3).expect("a logit")[0]).collect();
        let judge = |head_starts: &[f32], tokens_max| {
            let mut logits = vec![0f32; pairs.len()];
            let skim = Skim { layers: 2, weights: &weights, bias: -1.0 };
            encoder.judge(&pairs, Contest { head_starts, tokens_max, skim }, &mut logits).expect("logits");
            logits
        };
        let all: usize = ids.iter().map(Vec::len).sum();
        assert_eq!(judge(&[0.0; 7], all), read, "all are read, as one by one");
        let only = |ahead: usize| {
            let mut starts = [0.0; 7];
            starts[ahead] = 100.0;
            judge(&starts, 0)
        };
        // what each seems to get, from lists in which another one is ahead
        let told: Vec<f32> = (0..7).map(|at| only((at + 1) % 7)[at]).collect();
        assert!(told.iter().zip(&read).all(|(told, read)| told != read));
        let mut best_first: Vec<usize> = (0..7).collect();
        best_first.sort_by(|left, right| told[*right].total_cmp(&told[*left]));
        for finishers in 1..7 {
            let tokens: usize = best_first[..finishers].iter().map(|at| ids[*at].len()).sum();
            let logits = judge(&[0.0; 7], tokens);
            for (place, at) in best_first.iter().enumerate() {
                let expected = if place < finishers { read[*at] } else { told[*at] };
                assert_eq!(logits[*at], expected, "place {place}, {finishers} are read");
            }
            let one_less = judge(&[0.0; 7], tokens - 1);
            assert_eq!(one_less[best_first[finishers - 1]] == read[best_first[finishers - 1]], finishers == 1);
        }
    }

    #[test]
    fn a_contest_of_another_model_is_refused() {
        let (Some(embedder), Some(reranker)) = (model("embedder"), model("reranker")) else { return };
        let (ids, weights) = list();
        let pairs = [Sequence { ids: &ids[0], first_length: 3 }];
        let judge = |encoder: &Encoder, layers, weights: &[f32], head_starts: &[f32]| {
            let skim = Skim { layers, weights, bias: 0.0 };
            encoder.judge(&pairs, Contest { head_starts, tokens_max: 1, skim }, &mut [0.0])
        };
        assert!(judge(&reranker, 2, &weights, &[0.0]).is_ok());
        for (encoder, layers, width, starts) in [
            (&embedder, 2, 1152, 1),
            (&reranker, 0, 1152, 1),
            (&reranker, 6, 1152, 1),
            (&reranker, 2, 1151, 1),
            (&reranker, 2, 1152, 0),
        ] {
            let refused = judge(encoder, layers, &weights[..width], &[0.0; 1][..starts]);
            assert!(
                matches!(refused, Err(Error::Invalid(_))),
                "{layers} layers, {width} weights, {starts} head starts"
            );
        }
    }

    #[test]
    fn what_no_model_can_read_is_refused() {
        let (Some(embedder), Some(reranker)) = (model("embedder"), model("reranker")) else { return };
        assert_eq!((embedder.answer_width(), reranker.answer_width()), (384, 1));
        for (ids, first_length) in [(vec![], 0), (vec![101; 513], 513), (vec![101], 2), (vec![30_522], 1)] {
            assert!(matches!(answer(&embedder, &ids, first_length), Err(Error::Invalid(_))), "{} tokens", ids.len());
        }
        let sequence = Sequence { ids: &[101, 102], first_length: 1 };
        assert!(matches!(reranker.answer(sequence, &mut [0.0; 2]), Err(Error::Invalid(_))), "two numbers for one");
    }

    #[test]
    fn files_of_another_making_are_refused() {
        if !is_supported() {
            return println!("skipped: this processor has no AVX2");
        }
        for file in ["embedder/model.json", "embedder/vocab.txt", "embedder/none.onnx"] {
            assert!(Encoder::open(&Path::new(MODELS).join(file)).is_err(), "{file}");
        }
    }
}
