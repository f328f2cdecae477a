//! Small models with random weights for tests: writes them as ONNX files of the form that `data/models/recipe` exports,
//! and computes their outputs in 64-bit floats, independently of the kernels. Only tests use it.

use std::path::{Path, PathBuf};

use half::f16;
use mneme_testing::{Chance, TempDir};

use crate::Sequence;
use crate::onnx_file::{Attribute, ElementType, OnnxFile};

pub const HIDDEN: usize = 64;
pub const VOCABULARY: usize = 50;
pub const TOKENS_MAX: usize = 40;
const INNER: usize = 4 * HIDDEN;
const HEADS: usize = 2;
const EPSILON: f32 = 1e-5;
const BLOCK: usize = 32;

/// Writes the nodes and constants of a graph.
#[derive(Default)]
pub struct GraphWriter {
    nodes: Vec<u8>,
    constants: Vec<u8>,
    count: usize,
    /// A change to the written graph, for tests that a different graph is refused.
    pub change: Change,
}

/// A change to the written graph, for tests that a different graph is refused.
#[derive(Default, Clone)]
pub enum Change {
    #[default]
    Nothing,
    /// Every node of the first operator becomes one of the second.
    Operator(&'static str, &'static str),
    /// A constant with this name gets other bytes.
    Constant(&'static str, Vec<u8>),
    /// An integer attribute of all nodes that have it gets another value.
    Attribute(&'static str, i64),
}

impl GraphWriter {
    pub fn constant(&mut self, name: &str, element: ElementType, shape: &[usize], bytes: &[u8]) -> String {
        let bytes = match &self.change {
            Change::Constant(changed, other) if *changed == name => other,
            _ => bytes,
        };
        let sides = shape.iter().flat_map(|side| number_field(1, *side as u64));
        let header = sides.chain(number_field(2, element as u64)).collect();
        let tensor = [header, field(8, name.as_bytes()), field(9, bytes)].concat();
        self.constants.extend(field(5, &tensor));
        name.to_owned()
    }

    pub fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, ElementType::Float32, shape, &bytes)
    }

    /// Adds a list of integers.
    pub fn integers(&mut self, name: &str, values: &[i64]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, ElementType::Int64, &[values.len()], &bytes)
    }

    /// Adds a node and returns the name of the value that it computes.
    pub fn node(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> String {
        self.count += 1;
        let output = format!("{operator}_{}", self.count);
        self.named_node(operator, inputs, &output, attributes);
        output
    }

    pub fn named_node(&mut self, operator: &str, inputs: &[&str], output: &str, attributes: &[(&str, Attribute)]) {
        let operator = match self.change {
            Change::Operator(changed, other) if changed == operator => other,
            _ => operator,
        };
        let mut node: Vec<u8> = inputs.iter().flat_map(|input| field(1, input.as_bytes())).collect();
        node.extend([field(2, output.as_bytes()), field(4, operator.as_bytes())].concat());
        for (name, attribute) in attributes {
            let attribute = match (attribute, &self.change) {
                (Attribute::Integer(_), Change::Attribute(changed, other)) if changed == name => {
                    Attribute::Integer(*other)
                }
                _ => attribute.clone(),
            };
            let value = match attribute {
                Attribute::Float(value) => [&[2 << 3 | 5], &value.to_le_bytes()[..], &number_field(20, 1)].concat(),
                Attribute::Integer(value) => [number_field(3, value as u64), number_field(20, 2)].concat(),
                Attribute::Integers(values) => {
                    let values = values.iter().flat_map(|value| number_field(8, *value as u64));
                    values.chain(number_field(20, 7)).collect()
                }
                Attribute::Other => number_field(20, 3),
            };
            node.extend(field(5, &[field(1, name.as_bytes()), value].concat()));
        }
        self.nodes.extend(field(1, &node));
    }

    /// Writes the file.
    pub fn write(self, path: &Path, output: &str) {
        self.write_with(path, &[output]);
    }

    /// Writes a file whose graph has these outputs.
    pub fn write_with(self, path: &Path, outputs: &[&str]) {
        let outputs: Vec<u8> = outputs.iter().flat_map(|output| field(12, &field(1, output.as_bytes()))).collect();
        let graph = [self.nodes, self.constants, outputs].concat();
        std::fs::write(path, field(7, &graph)).expect("a file in a fresh folder");
    }

    /// Writes the file to a temporary folder and opens it.
    pub fn open(self, output: &str) -> OnnxFile {
        let folder = TempDir::new("graph");
        let path = folder.path().join("model.onnx");
        self.write(&path, output);
        OnnxFile::open(&path).expect("a model")
    }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = vec![];
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number_field(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn field(number: u64, content: &[u8]) -> Vec<u8> {
    [&varint(number << 3 | 2), &varint(content.len() as u64), content].concat()
}

/// How the word table is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Halves,
    Blocks,
    Bytes,
}

/// Output that the model computes from the states of its last layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The mean state, scaled to unit length.
    UnitMean,
    /// `normalise(W (x - m))` of the mean `x`.
    Affine,
    /// `normalise(x - B Bᵀ x - m)` of the mean `x`.
    Projected,
    /// A layer with tanh on the first token's state, then a linear layer.
    PooledLogit,
    /// A linear layer on the first token's state. The last layer computes all tokens.
    LinearLogit,
    /// A layer with tanh on the first token's state, then two logits; and two logits of the state of each token. The
    /// word table is in a file of its own.
    Spans,
}

/// A model with random weights.
pub struct Synthetic {
    pub layers: usize,
    pub table: Table,
    pub output: Output,
    /// Whether the model tells the first and the second text apart.
    pub has_types: bool,
    pub change: Change,
    words: Vec<f32>,
    stored_words: Vec<u8>,
    stored_scales: Vec<u8>,
    positions: Vec<f32>,
    types: Vec<f32>,
    layer_weights: Vec<LayerWeights>,
    norm: [Vec<f32>; 2],
    matrix: Vec<f32>,
    projected_matrix: Vec<f32>,
    vector: Vec<f32>,
}

struct Weights {
    inputs: usize,
    bytes: Vec<i8>,
    scales: Vec<f32>,
    bias: Vec<f32>,
}

struct LayerWeights {
    smoothing: [Vec<f32>; 2],
    projections: [Weights; 3],
    attention_output: Weights,
    up: Weights,
    down: Weights,
    norms: [[Vec<f32>; 2]; 2],
}

/// Number of dimensions that `Output::Projected` removes.
const REMOVED: usize = 3;

impl Synthetic {
    pub fn new(layers: usize, table: Table, output: Output, chance: &mut Chance) -> Self {
        let mut floats = |count: usize, low: f32, high: f32| -> Vec<f32> {
            (0..count).map(|_| low + (high - low) * chance.below(1 << 20) as f32 / (1 << 20) as f32).collect()
        };
        let positions = floats(TOKENS_MAX * HIDDEN, -0.2, 0.2);
        let types = floats(2 * HIDDEN, -0.4, 0.4);
        let norm = [floats(HIDDEN, 0.5, 1.5), floats(HIDDEN, -0.3, 0.3)];
        let matrix = floats(HIDDEN * HIDDEN, -0.3, 0.3);
        let projected_matrix = floats(HIDDEN * REMOVED, -0.2, 0.2);
        let vector = floats(HIDDEN, -0.3, 0.3);
        let layer_weights = (0..layers)
            .map(|_| {
                let smoothing = [floats(HIDDEN, 0.5, 2.0), floats(HIDDEN, 0.5, 2.0)];
                let mut norm = || [floats(HIDDEN, 0.5, 1.5), floats(HIDDEN, -0.3, 0.3)];
                let norms = [norm(), norm()];
                let mut weights = |inputs: usize, outputs: usize| {
                    let step = 1.7 / (64.0 * (inputs as f32).sqrt());
                    Weights {
                        inputs,
                        bytes: floats(inputs * outputs, -64.0, 64.0)
                            .iter()
                            .map(|weight| weight.round() as i8)
                            .collect(),
                        scales: floats(outputs, 0.7 * step, 1.3 * step),
                        bias: floats(outputs, -0.2, 0.2),
                    }
                };
                LayerWeights {
                    smoothing,
                    norms,
                    projections: [weights(HIDDEN, HIDDEN), weights(HIDDEN, HIDDEN), weights(HIDDEN, HIDDEN)],
                    attention_output: weights(HIDDEN, HIDDEN),
                    up: weights(HIDDEN, INNER),
                    down: weights(INNER, HIDDEN),
                }
            })
            .collect();
        let (mut words, mut stored_words, mut stored_scales) = (vec![], vec![], vec![]);
        match table {
            Table::Halves => {
                for value in floats(VOCABULARY * HIDDEN, -1.0, 1.0).into_iter().map(f16::from_f32) {
                    words.push(value.to_f32());
                    stored_words.extend(value.to_le_bytes());
                }
            }
            Table::Blocks => {
                for scale in floats(VOCABULARY * HIDDEN / BLOCK, -0.12, 0.12).into_iter().map(f16::from_f32) {
                    stored_scales.extend(scale.to_le_bytes());
                    let numbers: Vec<u8> = floats(BLOCK, 0.0, 15.99).into_iter().map(|number| number as u8).collect();
                    words.extend(numbers.iter().map(|number| (f32::from(*number) - 8.0) * scale.to_f32()));
                    stored_words.extend((0..BLOCK / 2).map(|at| numbers[at] | numbers[at + BLOCK / 2] << 4));
                }
            }
            Table::Bytes => {
                for scale in floats(VOCABULARY, -0.008, 0.008).into_iter().map(f16::from_f32) {
                    stored_scales.extend(scale.to_le_bytes());
                    let numbers: Vec<i8> = floats(HIDDEN, -128.0, 127.99).iter().map(|number| *number as i8).collect();
                    words.extend(numbers.iter().map(|number| f32::from(*number) * scale.to_f32()));
                    stored_words.extend(numbers.iter().map(|number| *number as u8));
                }
            }
        }
        let (has_types, change) = (matches!(output, Output::PooledLogit | Output::Spans), Change::Nothing);
        Synthetic {
            layers,
            table,
            output,
            has_types,
            change,
            words,
            stored_words,
            stored_scales,
            positions,
            types,
            layer_weights,
            norm,
            matrix,
            projected_matrix,
            vector,
        }
    }

    /// Writes the model to a folder and returns the path of the file. The word table of `Output::Spans` is in
    /// `words.onnx` beside it.
    pub fn write(&self, folder: &TempDir) -> PathBuf {
        let path = folder.path().join("synthetic.onnx");
        let writer = || GraphWriter { change: self.change.clone(), ..GraphWriter::default() };
        let mut graph = writer();
        let output = self.write_graph(&mut graph);
        if self.output != Output::Spans {
            graph.write(&path, &output);
            return path;
        }
        graph.write_with(&path, &[&output, "spans"]);
        let mut words = writer();
        self.write_table_constants(&mut words);
        words.write(&folder.path().join("words.onnx"), "none");
        path
    }

    fn write_graph(&self, g: &mut GraphWriter) -> String {
        let (keep, axis) = (Attribute::Integer(1), |axis| [("axis", Attribute::Integer(axis))]);
        let axis_one = g.integers("ax1", &[1]);
        let (one, tiny_scale) = (g.floats("one", &[], &[1.0]), g.floats("tinyscale", &[], &[1e-8]));
        let shape = g.node("Shape", &["input_ids"], &[]);
        let flat = g.integers("flat", &[-1, HIDDEN as i64]);
        let mask = g.node("Cast", &["attention_mask"], &[]);
        let words = self.write_words(g);
        let (positions, zero) =
            (g.floats("emb.pos", &[TOKENS_MAX, HIDDEN], &self.positions), g.integers("zero1", &[0]));
        let positions = g.node("Slice", &[&positions, &zero, &shape], &[]);
        let mut sum = g.node("Add", &[&words, &positions], &[]);
        if self.has_types {
            let types = g.floats("emb.type", &[2, HIDDEN], &self.types);
            let types = g.node("Gather", &[&types, "token_type_ids"], &[]);
            sum = g.node("Add", &[&sum, &types], &[]);
        }
        let norm = |g: &mut GraphWriter, value: &str, name: &str, [gain, shift]: &[Vec<f32>; 2]| {
            let gain = g.floats(&format!("{name}.g"), &[HIDDEN], gain);
            let shift = g.floats(&format!("{name}.b"), &[HIDDEN], shift);
            let attributes = [("axis", Attribute::Integer(-1)), ("epsilon", Attribute::Float(EPSILON))];
            g.node("LayerNormalization", &[value, &gain, &shift], &attributes)
        };
        let quantised = |g: &mut GraphWriter, value: &str, name: &str, is_gelu: bool| {
            let high = g.node("ReduceMax", &[value], &[]);
            let (inverse, least, zero) =
                if is_gelu { (1.0 / 191.0, 0.17 / 64.0, 64) } else { (1.0 / 127.0, 1e-8, 128u8) };
            let inverse = g.floats(&format!("{name}.i"), &[], &[inverse]);
            let least = if is_gelu { g.floats(&format!("{name}.m"), &[], &[least]) } else { tiny_scale.clone() };
            let largest = if is_gelu {
                high
            } else {
                let low = g.node("ReduceMin", &[value], &[]);
                let low = g.node("Neg", &[&low], &[]);
                g.node("Max", &[&high, &low], &[])
            };
            let scale = g.node("Mul", &[&largest, &inverse], &[]);
            let scale = g.node("Max", &[&scale, &least], &[]);
            let zero = g.constant(&format!("{name}.zp"), ElementType::UInt8, &[], &[zero]);
            let shape = g.node("Shape", &[&scale], &[]);
            let zeros = g.node("Expand", &[&zero, &shape], &[]);
            let bytes = g.node("QuantizeLinear", &[value, &scale, &zeros], &axis(0));
            let scale = g.node("Unsqueeze", &[&scale, &axis_one], &[]);
            [bytes, scale, zero]
        };
        let linear = |g: &mut GraphWriter, [bytes, scale, zero]: &[String; 3], name: &str, weights: &Weights| {
            let shape = [weights.inputs, weights.scales.len()];
            let stored: Vec<u8> = weights.bytes.iter().map(|weight| *weight as u8).collect();
            let matrix = g.constant(&format!("{name}.q"), ElementType::Int8, &shape, &stored);
            let scales = g.floats(&format!("{name}.s"), &shape[1..], &weights.scales);
            let product = g.node("MatMulIntegerToFloat", &[bytes, &matrix, &one, &scales, zero], &[]);
            g.node("Mul", &[&product, scale], &[])
        };
        let residual =
            |g: &mut GraphWriter, output: &str, states: &str, name: &str, bias: &[f32], of: &[Vec<f32>; 2]| {
                let sum = g.node("Add", &[output, states], &[]);
                let bias = g.floats(&format!("{name}.bias"), &[HIDDEN], bias);
                let sum = g.node("Add", &[&sum, &bias], &[]);
                norm(g, &sum, name, of)
            };
        let sum = g.node("Reshape", &[&sum, &flat], &[]);
        let mut states = norm(g, &sum, "emb.ln", &self.norm);
        let first = g.constant("first", ElementType::Int64, &[], &0i64.to_le_bytes());
        for (number, layer) in self.layer_weights.iter().enumerate() {
            let name = |part: &str| format!("l{number}.{part}");
            let smoothing = g.floats(&name("qkv.smooth"), &[HIDDEN], &layer.smoothing[0]);
            let smoothed = g.node("Mul", &[&states, &smoothing], &[]);
            let rows = quantised(g, &smoothed, &name("qkv"), false);
            let mut inputs = vec![];
            for (part, weights) in ["q", "k", "v"].iter().zip(&layer.projections) {
                let product = linear(g, &rows, &name(part), weights);
                inputs.push(g.node("Reshape", &[&product, &shape], &[]));
            }
            let bias: Vec<f32> = layer.projections.iter().flat_map(|weights| weights.bias.clone()).collect();
            inputs.extend([g.floats(&name("qkv.b"), &[3 * HIDDEN], &bias), mask.clone()]);
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let heads = [("num_heads", Attribute::Integer(HEADS as i64))];
            let attended = g.node("MultiHeadAttention", &inputs, &heads);
            let is_first_only = self.output == Output::PooledLogit && number + 1 == self.layers;
            let attended = if is_first_only {
                states = g.node("Reshape", &[&states, &shape], &[]);
                states = g.node("Gather", &[&states, &first], &axis(1));
                g.node("Gather", &[&attended, &first], &axis(1))
            } else {
                g.node("Reshape", &[&attended, &flat], &[])
            };
            let rows = quantised(g, &attended, &name("o"), false);
            let output = linear(g, &rows, &name("o"), &layer.attention_output);
            states = residual(g, &output, &states, &name("ln1"), &layer.attention_output.bias, &layer.norms[0]);
            let smoothing = g.floats(&name("up.smooth"), &[HIDDEN], &layer.smoothing[1]);
            let smoothed = g.node("Mul", &[&states, &smoothing], &[]);
            let rows = quantised(g, &smoothed, &name("up"), false);
            let up = linear(g, &rows, &name("up"), &layer.up);
            let bias = g.floats(&name("up.b"), &[INNER], &layer.up.bias);
            let up = g.node("BiasGelu", &[&up, &bias], &[]);
            let rows = quantised(g, &up, &name("down"), true);
            let output = linear(g, &rows, &name("down"), &layer.down);
            states = residual(g, &output, &states, &name("ln2"), &layer.down.bias, &layer.norms[1]);
        }
        if self.output == Output::PooledLogit {
            return self.write_logit(g, &states);
        }
        let states = g.node("Reshape", &[&states, &shape], &[]);
        if self.output == Output::LinearLogit || self.output == Output::Spans {
            if self.output == Output::Spans {
                let weights = g.floats("span.w", &[HIDDEN, 2], &self.matrix[..2 * HIDDEN]);
                let bias = g.floats("span.b", &[2], &self.norm[0][..2]);
                let logits = g.node("MatMul", &[&states, &weights], &[]);
                g.named_node("Add", &[&logits, &bias], "spans", &[]);
            }
            let state = g.node("Gather", &[&states, &first], &axis(1));
            return self.write_logit(g, &state);
        }
        let floats = g.node("Cast", &["attention_mask"], &[]);
        let row = g.node("Unsqueeze", &[&floats, &axis_one], &[]);
        let sum = g.node("MatMul", &[&row, &states], &[]);
        let mut vector = g.node("Squeeze", &[&sum, &axis_one], &[]);
        if self.output != Output::UnitMean {
            let tokens = g.node("ReduceSum", &[&floats, &axis_one], &[("keepdims", keep.clone())]);
            vector = g.node("Div", &[&vector, &tokens], &[]);
            let shift = g.floats("head.shift", &[HIDDEN], &self.vector);
            if self.output == Output::Affine {
                vector = g.node("Sub", &[&vector, &shift], &[]);
                let matrix = g.floats("head.w", &[HIDDEN, HIDDEN], &self.matrix);
                vector = g.node("MatMul", &[&vector, &matrix], &[]);
            } else {
                let matrix = g.floats("head.b", &[HIDDEN, REMOVED], &self.projected_matrix);
                let parts = g.node("MatMul", &[&vector, &matrix], &[]);
                // `Gemm` multiplies by the transposed matrix.
                let removed = g.node("Gemm", &[&parts, &matrix], &[("transB", Attribute::Integer(1))]);
                vector = g.node("Sub", &[&vector, &removed], &[]);
                vector = g.node("Sub", &[&vector, &shift], &[]);
            }
        }
        let axes = [("axes", Attribute::Integers(vec![1])), ("keepdims", keep)];
        let length = g.node("ReduceL2", &[&vector], &axes);
        let tiny = g.floats("tiny", &[], &[1e-12]);
        let length = g.node("Max", &[&length, &tiny], &[]);
        g.node("Div", &[&vector, &length], &[])
    }

    fn write_words(&self, g: &mut GraphWriter) -> String {
        if self.output != Output::Spans {
            self.write_table_constants(g);
        }
        if self.table == Table::Halves {
            let rows = g.node("Gather", &["emb.word", "input_ids"], &[]);
            return g.node("Cast", &[&rows], &[]);
        }
        if self.table == Table::Bytes {
            let [rows, scales] = ["emb.q8", "emb.q8s"].map(|name| {
                let rows = g.node("Gather", &[name, "input_ids"], &[]);
                g.node("Cast", &[&rows], &[])
            });
            return g.node("Mul", &[&rows, &scales], &[]);
        }
        let (table, scales) = ("emb.q4", "emb.q4s");
        let [sixteen, sixteenth, eight] =
            [("c16", 16.0), ("ci16", 1.0 / 16.0), ("c8", 8.0)].map(|(name, number)| g.floats(name, &[], &[number]));
        let rows = g.node("Gather", &[table, "input_ids"], &[]);
        let bytes = g.node("Cast", &[&rows], &[]);
        let shifted = g.node("Mul", &[&bytes, &sixteenth], &[]);
        let high = g.node("Floor", &[&shifted], &[]);
        let back = g.node("Mul", &[&high, &sixteen], &[]);
        let low = g.node("Sub", &[&bytes, &back], &[]);
        let numbers = g.node("Concat", &[&low, &high], &[("axis", Attribute::Integer(-1))]);
        let numbers = g.node("Sub", &[&numbers, &eight], &[]);
        let scales = g.node("Gather", &[scales, "input_ids"], &[]);
        let scales = g.node("Cast", &[&scales], &[]);
        let words = g.node("Mul", &[&numbers, &scales], &[]);
        g.node("Reshape", &[&words, "any shape"], &[])
    }

    fn write_table_constants(&self, g: &mut GraphWriter) {
        if self.table == Table::Halves {
            g.constant("emb.word", ElementType::Float16, &[VOCABULARY, HIDDEN], &self.stored_words);
            return;
        }
        if self.table == Table::Bytes {
            g.constant("emb.q8", ElementType::Int8, &[VOCABULARY, HIDDEN], &self.stored_words);
            g.constant("emb.q8s", ElementType::Float16, &[VOCABULARY, 1], &self.stored_scales);
            return;
        }
        g.constant("emb.q4", ElementType::UInt8, &[VOCABULARY, HIDDEN / BLOCK, BLOCK / 2], &self.stored_words);
        g.constant("emb.q4s", ElementType::Float16, &[VOCABULARY, HIDDEN / BLOCK, 1], &self.stored_scales);
    }

    fn write_logit(&self, g: &mut GraphWriter, state: &str) -> String {
        let transposed = [("transB", Attribute::Integer(1))];
        let mut state = state.to_owned();
        if matches!(self.output, Output::PooledLogit | Output::Spans) {
            let matrix = g.floats("pool.w", &[HIDDEN, HIDDEN], &self.matrix);
            let bias = g.floats("pool.b", &[HIDDEN], &self.norm[1]);
            state = g.node("Gemm", &[&state, &matrix, &bias], &transposed);
            state = g.node("Tanh", &[&state], &[]);
        }
        let logits = if self.output == Output::Spans { 2 } else { 1 };
        let rows = [&self.vector[..], &self.norm[1]].concat();
        let weights = g.floats("cls.w", &[logits, HIDDEN], &rows[..logits * HIDDEN]);
        let bias = g.floats("cls.b", &[logits], &self.norm[0][..logits]);
        g.node("Gemm", &[&state, &weights, &bias], &transposed)
    }

    /// The states of the last layer.
    fn states(&self, sequence: Sequence<'_>) -> Vec<Vec<f64>> {
        let mut states: Vec<Vec<f64>> =
            sequence.ids.iter().enumerate().map(|(at, id)| self.embedding(at, *id, sequence)).collect();
        for layer in &self.layer_weights {
            states = layer.apply(&states);
        }
        states
    }

    /// Computes the logits of begin and end of each token, for `Output::Spans`.
    pub fn spans(&self, sequence: Sequence<'_>) -> Vec<f64> {
        let logit = |state: &[f64], side: usize| {
            let products = state.iter().enumerate().map(|(at, value)| value * f64::from(self.matrix[2 * at + side]));
            products.sum::<f64>() + f64::from(self.norm[0][side])
        };
        self.states(sequence).iter().flat_map(|state| [logit(state, 0), logit(state, 1)]).collect()
    }

    /// Computes the output of a sequence.
    pub fn encode(&self, sequence: Sequence<'_>) -> Vec<f64> {
        let states = self.states(sequence);
        let count = states.len() as f64;
        let mean: Vec<f64> = (0..HIDDEN).map(|at| states.iter().map(|state| state[at]).sum::<f64>() / count).collect();
        let (matrix, vector) = (doubles(&self.matrix), doubles(&self.vector));
        let projected = doubles(&self.projected_matrix);
        match self.output {
            Output::UnitMean => unit(mean),
            Output::Affine => {
                let centred: Vec<f64> = mean.iter().zip(&vector).map(|(x, m)| x - m).collect();
                let column = |column: usize| (0..HIDDEN).map(|row| centred[row] * matrix[row * HIDDEN + column]).sum();
                unit((0..HIDDEN).map(column).collect())
            }
            Output::Projected => {
                let part = |part: usize| (0..HIDDEN).map(|row| mean[row] * projected[row * REMOVED + part]).sum();
                let parts: Vec<f64> = (0..REMOVED).map(part).collect();
                let removed =
                    |row: usize| (0..REMOVED).map(|part| parts[part] * projected[row * REMOVED + part]).sum::<f64>();
                unit((0..HIDDEN).map(|row| mean[row] - removed(row) - vector[row]).collect())
            }
            Output::PooledLogit | Output::Spans => {
                let pooled = |row: usize| {
                    let sum: f64 = (0..HIDDEN).map(|at| matrix[row * HIDDEN + at] * states[0][at]).sum();
                    (sum + f64::from(self.norm[1][row])).tanh()
                };
                let second = doubles(&self.norm[1]);
                let rows = if self.output == Output::Spans { vec![vector, second] } else { vec![vector] };
                let logit = |row: &Vec<f64>| (0..HIDDEN).map(|at| pooled(at) * row[at]).sum::<f64>();
                rows.iter().zip(&self.norm[0]).map(|(row, bias)| logit(row) + f64::from(*bias)).collect()
            }
            Output::LinearLogit => {
                let sum: f64 = states[0].iter().zip(&vector).map(|(state, weight)| state * weight).sum();
                vec![sum + f64::from(self.norm[0][0])]
            }
        }
    }

    fn embedding(&self, at: usize, id: u32, sequence: Sequence<'_>) -> Vec<f64> {
        let word = &self.words[id as usize * HIDDEN..][..HIDDEN];
        let position = &self.positions[at * HIDDEN..][..HIDDEN];
        let is_last = at + 1 == sequence.ids.len();
        let is_second = at >= sequence.first_length && !(is_last && self.output == Output::Spans);
        let of_type = &self.types[usize::from(is_second) * HIDDEN..][..HIDDEN];
        let sum = (0..HIDDEN).map(|at| {
            let of_type = if self.has_types { of_type[at] } else { 0.0 };
            f64::from(word[at]) + f64::from(position[at]) + f64::from(of_type)
        });
        normalised(sum.collect(), &self.norm)
    }
}

impl LayerWeights {
    fn apply(&self, states: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let [queries, keys, values] = self.projections.each_ref().map(|weights| {
            states.iter().map(|state| weights.apply(&smoothed(state, &self.smoothing[0]), false)).collect::<Vec<_>>()
        });
        let width = HIDDEN / HEADS;
        (0..states.len())
            .map(|token| {
                let mut attended = vec![0.0; HIDDEN];
                for head in (0..HIDDEN).step_by(width) {
                    let score = |other: usize| {
                        let products = (head..head + width).map(|at| queries[token][at] * keys[other][at]);
                        (products.sum::<f64>() / (width as f64).sqrt()).exp()
                    };
                    let scores: Vec<f64> = (0..states.len()).map(score).collect();
                    let total: f64 = scores.iter().sum();
                    for at in head..head + width {
                        attended[at] = scores.iter().zip(&values).map(|(score, value)| score / total * value[at]).sum();
                    }
                }
                let attended = self.attention_output.apply(&attended, false);
                let state = normalised(added(&attended, &states[token]), &self.norms[0]);
                let up = self.up.apply(&smoothed(&state, &self.smoothing[1]), false);
                let down = self.down.apply(&up.into_iter().map(gelu).collect::<Vec<_>>(), true);
                normalised(added(&down, &state), &self.norms[1])
            })
            .collect()
    }
}

impl Weights {
    fn apply(&self, inputs: &[f64], is_gelu: bool) -> Vec<f64> {
        let largest = |least: f64, of: &dyn Fn(f64) -> f64| inputs.iter().map(|value| of(*value)).fold(least, f64::max);
        let (scale, zero) = if is_gelu {
            ((largest(0.0, &|value| value) / 191.0).max(0.17 / 64.0), 64.0)
        } else {
            (largest(0.0, &f64::abs) / 127.0, 128.0)
        };
        let bytes: Vec<f64> =
            inputs.iter().map(|value| ((value / scale).round_ties_even() + zero).clamp(0.0, 255.0) - zero).collect();
        let outputs = self.scales.len();
        let output = |column: usize| {
            let products = (0..self.inputs).map(|row| bytes[row] * f64::from(self.bytes[row * outputs + column]));
            products.sum::<f64>() * scale * f64::from(self.scales[column]) + f64::from(self.bias[column])
        };
        (0..outputs).map(output).collect()
    }
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

fn smoothed(state: &[f64], factors: &[f32]) -> Vec<f64> {
    state.iter().zip(factors).map(|(value, factor)| value * f64::from(*factor)).collect()
}

fn added(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn normalised(values: Vec<f64>, [gain, shift]: &[Vec<f32>; 2]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    let normal = values.iter().map(|value| (value - mean) / (variance + f64::from(EPSILON)).sqrt());
    normal
        .zip(gain.iter().zip(shift))
        .map(|(value, (gain, shift))| value * f64::from(*gain) + f64::from(*shift))
        .collect()
}

fn unit(values: Vec<f64>) -> Vec<f64> {
    let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    values.into_iter().map(|value| value / length).collect()
}

/// GELU by numerical integration of the normal density.
fn gelu(x: f64) -> f64 {
    const STEPS: i32 = 200;
    let width = x / f64::from(STEPS);
    let density = |at: f64| (-at * at / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let area: f64 = (0..STEPS).map(|step| density((f64::from(step) + 0.5) * width) * width).sum();
    x * (0.5 + area)
}
