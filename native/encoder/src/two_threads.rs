//! Computes one sequence on two threads, each with half of the tokens. The layers are in `network`; `helper` owns the
//! second thread.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::Sequence;
use crate::helper::HalvedWork;
use crate::network::{Network, TokenBuffers};

/// A sequence in two halves, for up to two threads. The attention of a layer reads the tokens of both halves, so it
/// begins when both have ended the layer before.
pub(crate) struct SplitSequence {
    network: Arc<Network>,
    sequence: RwLock<SequenceCopy>,
    halves: [Mutex<TokenBuffers>; 2],
    /// Queries, keys and values, indexed by `[layer % 2][half]`: those of one layer are read while those of the next
    /// layer are written.
    projected: [[RwLock<Vec<f32>>; 2]; 2],
}

#[derive(Default)]
struct SequenceCopy {
    ids: Vec<u32>,
    first_length: usize,
    /// Index of the first token of the second half.
    middle: usize,
}

impl SplitSequence {
    /// Creates the buffers for a model. `None` if its last layer computes only one token, which cannot be divided.
    pub(crate) fn of(network: &Arc<Network>) -> Option<Self> {
        network.reads_all_tokens().then(|| SplitSequence {
            network: Arc::clone(network),
            sequence: RwLock::default(),
            halves: Default::default(),
            projected: Default::default(),
        })
    }

    /// Sets the next sequence. `Encoder::check` must have accepted it, and it must have at least four tokens.
    pub(crate) fn set_sequence(&self, sequence: Sequence<'_>) {
        let mut copy = self.sequence.write().unwrap_or_else(PoisonError::into_inner);
        copy.ids.clear();
        copy.ids.extend_from_slice(sequence.ids);
        copy.first_length = sequence.first_length;
        // The length of the first half is a multiple of four, because the kernels multiply eight or four rows at once
        // and fewer at a higher cost per row.
        copy.middle = (sequence.ids.len() / 2).next_multiple_of(4);
    }

    /// Writes the output. It must be called after all phases are done.
    pub(crate) fn write_output(&self, output: &mut [f32]) {
        let halves = self.halves.each_ref().map(|half| half.lock().unwrap_or_else(PoisonError::into_inner));
        let states = halves.iter().flat_map(|half| half.states.chunks_exact(self.network.hidden));
        self.network.write_pooled(states, output);
    }

    #[target_feature(enable = "avx2,fma")]
    fn compute(&self, phase: usize, half: usize) {
        let Network { hidden, layers, .. } = &*self.network;
        let mut buffers = self.halves[half].lock().unwrap_or_else(PoisonError::into_inner);
        if phase == 0 {
            let copy = self.sequence.read().unwrap_or_else(PoisonError::into_inner);
            let SequenceCopy { ids, first_length, middle } = &*copy;
            let range = [0..*middle, *middle..ids.len()][half].clone();
            buffers.resize(range.len(), *hidden);
            self.network.embed(Sequence { ids, first_length: *first_length }, range.start, &mut buffers.states);
        }
        let tokens = buffers.states.len() / hidden;
        if let Some(layer) = phase.checked_sub(1).map(|before| &layers[before]) {
            let projected = self.projected[(phase - 1) % 2].each_ref();
            let projected = projected.map(|half| half.read().unwrap_or_else(PoisonError::into_inner));
            layer.attend(&mut buffers, *hidden, 0..tokens, &projected[half], &[&projected[0], &projected[1]]);
            layer.add_attended(&mut buffers, *hidden, tokens);
            layer.feed_forward(&mut buffers, *hidden, tokens);
        }
        if let Some(layer) = layers.get(phase) {
            let mut projected = self.projected[phase % 2][half].write().unwrap_or_else(PoisonError::into_inner);
            layer.project(&mut buffers, *hidden, tokens, &mut projected);
        }
    }
}

impl HalvedWork for SplitSequence {
    /// There is one phase per layer, and one for the embeddings. A phase ends before the attention of the next layer,
    /// which needs both halves.
    fn phases(&self) -> usize {
        self.network.layers.len() + 1
    }

    fn run(&self, phase: usize, half: usize) {
        // SAFETY: `Encoder::open` creates a network only if the processor has the instructions.
        unsafe { self.compute(phase, half) };
    }
}
