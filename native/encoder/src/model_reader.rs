//! Reads a network from the graph of a model file. The graph is followed backwards from its output, so that the number
//! of layers, the kind of word table and the head come from the file. Whatever differs from the supported form is
//! refused.

use crate::attention::HEAD_WIDTH;
use crate::error::{Error, Result};
use crate::graph::{Found, Graph};
use crate::head::{Head, PooledHead};
use crate::instructions::Instructions;
use crate::kernels::{GELU_MIN, GELU_ZERO, SCALE_MIN, SIGNED_MAX, SIGNED_ZERO};
use crate::network::{INNER_FACTOR, Layer, Network, Norm, SpanHead};
use crate::onnx_file::{Attribute, ElementType, OnnxFile};
use crate::weights::Linear;
use crate::word_table::WordTable;

const LAYER_NORM: &str = "LayerNormalization(?sum, ?gain, ?shift)";
/// Outputs of a sublayer, their bias, and the inputs that are added to them.
const RESIDUAL: &str = "Add(Add(?output, ?input), ?bias)";
/// A linear layer without bias. Its inputs are quantised with one scale per token.
const LINEAR: &str = "Mul(MatMulIntegerToFloat(QuantizeLinear(?input, ?scale, Expand(?zero, Shape(?scale))), \
                      ?weights, ?one, ?scales, ?zero), Unsqueeze(?scale, ?))";
/// Scale of inputs of either sign: maps their largest magnitude to the largest quantised number.
const SIGNED_SCALE: &str = "Max(Mul(Max(ReduceMax(?input), Neg(ReduceMin(?input))), ?inverse), ?least)";
/// Scale of results of GELU, whose least value is known.
const GELU_SCALE: &str = "Max(Mul(ReduceMax(?input), ?inverse), ?least)";
const SMOOTHED: &str = "Mul(?input, ?factors)";
const FEED_FORWARD: &str = "BiasGelu(?up, ?bias)";
/// Attention of all tokens, and of the first token only.
const ATTENTION: [&str; 2] = [
    "Reshape(?attention:MultiHeadAttention(Reshape(?q, ?), Reshape(?k, ?), Reshape(?v, ?), ?bias, \
     Cast(attention_mask)), ?)",
    "Gather(?attention:MultiHeadAttention(Reshape(?q, ?), Reshape(?k, ?), Reshape(?v, ?), ?bias, \
     Cast(attention_mask)), ?index)",
];
const FIRST_STATES: &str = "Gather(Reshape(?states, ?), ?index)";
const EMBEDDINGS: &str = "LayerNormalization(Reshape(?sum, ?), ?gain, ?shift)";
/// Sums of word and position embeddings, with and without the embedding that says whether a token is of the
/// first or the second text (token type).
const EMBEDDING_SUMS: [&str; 2] = [
    "Add(Add(?words, Slice(?positions, ?zero, ?)), Gather(?types, token_type_ids))",
    "Add(?words, Slice(?positions, ?zero, ?))",
];

/// Logits of begin and end of an answer, for each token.
const SPANS: &str = "Add(MatMul(Reshape(?states, ?), ?weights), ?bias)";

/// Reads a network for a processor with `instructions`. `words` is the file with its word table. Fails with `Invalid`
/// and the reason if the graph is not supported.
pub(crate) fn read_network(file: &OnnxFile, words: &OnnxFile, instructions: Instructions) -> Result<Network> {
    let graph = Graph::of(file)?;
    let output = file.outputs().first().ok_or_else(|| Error::invalid("the model has no output"))?;
    let norm = file.nodes().iter().find(|node| node.operator == "LayerNormalization");
    let gain = norm.and_then(|norm| norm.inputs.get(1)).ok_or_else(|| Error::invalid("the model has no layers"))?;
    let hidden = file.shape_of(gain)?.iter().product();
    if hidden == 0 || !usize::is_multiple_of(hidden, HEAD_WIDTH) {
        return Err(Error::invalid(format!("the model's hidden size {hidden} is not a multiple of {HEAD_WIDTH}")));
    }
    let PooledHead { head, mut states, is_first_only } = Head::read(&graph, output, hidden)?;
    let reader = Reader { graph, hidden, instructions };
    let spans = reader.spans(file.outputs().get(1), states)?;
    let mut layers = Vec::new();
    while reader.graph.find(states, EMBEDDINGS).is_err() {
        let (layer, input) = reader.layer(states, layers.is_empty() && is_first_only)?;
        layers.push(layer);
        states = input;
    }
    layers.reverse();
    reader.network(states, layers, head, spans, words)
}

/// Reads layers of one hidden size.
struct Reader<'file> {
    graph: Graph<'file>,
    hidden: usize,
    instructions: Instructions,
}

/// A linear layer whose outputs are added to the states, and the normalisation of the sum.
struct Sublayer<'file> {
    output: &'file str,
    bias: &'file str,
    /// The states to which the outputs are added.
    states: &'file str,
    norm: Norm,
}

/// Range of the inputs of a linear layer.
#[derive(Clone, Copy)]
enum InputRange {
    Signed,
    Gelu,
}

impl<'file> Reader<'file> {
    /// Reads the layer that computes `output`. Returns it with its input. `is_first_only` says that it computes only
    /// the first token.
    fn layer(&self, output: &'file str, is_first_only: bool) -> Result<(Layer, &'file str)> {
        let Reader { graph, hidden, .. } = self;
        let feed_forward = self.sublayer(output)?;
        let (down, activated) = self.linear(&[feed_forward.output], feed_forward.bias, InputRange::Gelu)?;
        let found = graph.find(activated, FEED_FORWARD)?;
        let (up, smoothed) = self.linear(&[found.value("up")], found.value("bias"), InputRange::Signed)?;
        let (feed_forward_smoothing, up_states) = self.smoothing(smoothed)?;
        self.check_same(up_states, feed_forward.states)?;
        let attention = self.sublayer(feed_forward.states)?;
        let (attention_output, attended) = self.linear(&[attention.output], attention.bias, InputRange::Signed)?;
        let (form, found) = graph.find_one(attended, &ATTENTION)?;
        let states = if form == 0 { attention.states } else { self.first_states(attended, &found, attention.states)? };
        if (form == 1) != is_first_only {
            return Err(Error::invalid("the model's output does not fit the tokens that its last layer computes"));
        }
        let node = graph.node(found.value("attention"))?;
        node.check_integer("num_heads", 0, (hidden / HEAD_WIDTH) as i64)?;
        node.check_integer("unidirectional", 0, 0)?;
        if let found @ Some(_) = node.attribute("scale") {
            return Err(node.refusal("scale", found));
        }
        let projected = ["q", "k", "v"].map(|name| found.value(name));
        let (projections, smoothed) = self.linear(&projected, found.value("bias"), InputRange::Signed)?;
        let (attention_smoothing, projected_states) = self.smoothing(smoothed)?;
        self.check_same(projected_states, states)?;
        let inner = INNER_FACTOR * hidden;
        for (linear, inputs, outputs) in [
            (&projections, *hidden, 3 * hidden),
            (&attention_output, *hidden, *hidden),
            (&up, *hidden, inner),
            (&down, inner, *hidden),
        ] {
            if (linear.inputs(), linear.outputs()) != (inputs, outputs) {
                let found = (linear.inputs(), linear.outputs());
                let expected = (inputs, outputs);
                return Err(Error::invalid(format!("the model has a layer of {found:?}, not of {expected:?}")));
            }
        }
        let (attention_norm, feed_forward_norm) = (attention.norm, feed_forward.norm);
        let layer = Layer {
            attention_smoothing,
            projections,
            attention_output,
            attention_norm,
            feed_forward_smoothing,
            up,
            down,
            feed_forward_norm,
        };
        Ok((layer, states))
    }

    /// Returns the states of all tokens. A last layer that computes only the first token takes the first of them.
    fn first_states(&self, attended: &str, found: &Found<'file>, first: &'file str) -> Result<&'file str> {
        let states = self.graph.find(first, FIRST_STATES)?;
        for (value, index) in [(attended, found.value("index")), (first, states.value("index"))] {
            self.graph.check_integers(index, &[0])?;
            self.graph.node(value)?.check_integer("axis", 0, 1)?;
        }
        Ok(states.value("states"))
    }

    fn sublayer(&self, output: &'file str) -> Result<Sublayer<'file>> {
        let found = self.graph.find(output, LAYER_NORM)?;
        let norm = self.norm(output, &found)?;
        let found = self.graph.find(found.value("sum"), RESIDUAL)?;
        Ok(Sublayer { output: found.value("output"), bias: found.value("bias"), states: found.value("input"), norm })
    }

    fn norm(&self, output: &str, found: &Found<'file>) -> Result<Norm> {
        let node = self.graph.node(output)?;
        node.check_integer("axis", -1, -1)?;
        let epsilon = match node.attribute("epsilon") {
            Some(Attribute::Float(epsilon)) => *epsilon,
            found => return Err(node.refusal("epsilon", found)),
        };
        let [gain, shift] = ["gain", "shift"].map(|name| self.graph.file.floats(found.value(name), &[self.hidden]));
        Ok(Norm { gain: gain?, shift: shift?, epsilon })
    }

    /// Reads linear layers with the same inputs and joins them to one layer with the outputs of all. Returns it with
    /// the value of its inputs.
    fn linear(&self, products: &[&'file str], bias: &str, range: InputRange) -> Result<(Linear, &'file str)> {
        let Graph { file, .. } = self.graph;
        let mut parts = Vec::with_capacity(products.len());
        for product in products {
            let found = self.graph.find(product, LINEAR)?;
            self.graph.check_number(found.value("one"), 1.0)?;
            self.check_range(&found, range)?;
            parts.push(found);
        }
        let first = parts.first().ok_or_else(|| Error::invalid("a linear layer without outputs"))?;
        let (input, [inputs, _]) = (first.value("input"), file.sides(first.value("weights"))?);
        let widths: Vec<usize> =
            parts.iter().map(|part| Ok(file.sides(part.value("weights"))?[1])).collect::<Result<_>>()?;
        let outputs = widths.iter().sum();
        let (mut weights, mut scales, mut column) = (vec![0i8; inputs * outputs], Vec::with_capacity(outputs), 0);
        for (part, width) in parts.iter().zip(widths) {
            self.check_same(part.value("input"), input)?;
            scales.extend(file.floats(part.value("scales"), &[width])?);
            let bytes = file.bytes(part.value("weights"), ElementType::Int8, &[inputs, width])?;
            for (row, bytes) in weights.chunks_exact_mut(outputs).zip(bytes.chunks_exact(width)) {
                let row = &mut row[column..][..width];
                row.iter_mut().zip(bytes).for_each(|(weight, byte)| *weight = *byte as i8);
            }
            column += width;
        }
        let bias = file.floats(bias, &[outputs])?;
        Ok((Linear::pack(&weights, inputs, scales, bias, self.instructions)?, input))
    }

    /// Fails unless the inputs of a linear layer are quantised as the kernels do it.
    fn check_range(&self, linear: &Found<'file>, range: InputRange) -> Result<()> {
        let (pattern, zero, largest, least) = match range {
            InputRange::Signed => (SIGNED_SCALE, SIGNED_ZERO, SIGNED_MAX, SCALE_MIN),
            InputRange::Gelu => (GELU_SCALE, GELU_ZERO, f32::from(255 - GELU_ZERO), -GELU_MIN / f32::from(GELU_ZERO)),
        };
        let found = self.graph.find(linear.value("scale"), pattern)?;
        self.check_same(found.value("input"), linear.value("input"))?;
        self.graph.check_number(found.value("inverse"), 1.0 / largest)?;
        self.graph.check_number(found.value("least"), least)?;
        let found_zero = self.graph.file.bytes(linear.value("zero"), ElementType::UInt8, &[])?[0];
        if found_zero != zero {
            return Err(Error::invalid(format!(
                "the model's zero point is {found_zero}, where only {zero} is supported"
            )));
        }
        Ok(())
    }

    /// Returns the smoothing factors of a value and what they multiply; `None` if the value is not smoothed.
    fn smoothing(&self, value: &'file str) -> Result<(Option<Vec<f32>>, &'file str)> {
        let Ok(found) = self.graph.find(value, SMOOTHED) else { return Ok((None, value)) };
        let factors = self.graph.file.floats(found.value("factors"), &[self.hidden])?;
        Ok((Some(factors), found.value("input")))
    }

    /// Reads the head of spans, which computes `output` from the same states as the other head; `None` if the output is
    /// something else.
    fn spans(&self, output: Option<&'file String>, states: &str) -> Result<Option<SpanHead>> {
        let Graph { file, .. } = self.graph;
        let Some(found) = output.and_then(|output| self.graph.find(output, SPANS).ok()) else { return Ok(None) };
        self.check_same(found.value("states"), states)?;
        let weights = file.floats(found.value("weights"), &[self.hidden, 2])?;
        let bias = file.floats(found.value("bias"), &[2])?;
        Ok(Some(SpanHead { weights, bias: [bias[0], bias[1]] }))
    }

    fn network(
        &self,
        states: &'file str,
        layers: Vec<Layer>,
        head: Head,
        spans: Option<SpanHead>,
        words_file: &OnnxFile,
    ) -> Result<Network> {
        let Graph { file, .. } = self.graph;
        let found = self.graph.find(states, EMBEDDINGS)?;
        let norm = self.norm(states, &found)?;
        let (form, found) = self.graph.find_one(found.value("sum"), &EMBEDDING_SUMS)?;
        self.graph.check_integers(found.value("zero"), &[0])?;
        let words = WordTable::read(&self.graph, found.value("words"), words_file)?;
        let [tokens_max, _] = file.sides(found.value("positions"))?;
        let positions = file.floats(found.value("positions"), &[tokens_max, self.hidden])?;
        let types = if form == 0 { Some(file.floats(found.value("types"), &[2, self.hidden])?) } else { None };
        if words.hidden != self.hidden || words.vocabulary == 0 || tokens_max == 0 {
            return Err(Error::invalid(format!(
                "the model's word table has {} by {} numbers, its layers are {} wide",
                words.vocabulary, words.hidden, self.hidden
            )));
        }
        let map = words_file.map();
        Ok(Network { map, hidden: self.hidden, tokens_max, words, positions, types, norm, layers, head, spans })
    }

    fn check_same(&self, found: &str, expected: &str) -> Result<()> {
        if found != expected {
            return Err(Error::invalid(format!("the model uses {found}, where only {expected} is supported")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{Encoder, is_supported};
    use crate::kernels::tests::available;
    use crate::synthetic::{Change, Output, Synthetic, TOKENS_MAX, Table, VOCABULARY};
    use crate::{EarlyExit, EarlyExitProbe, Sequence};
    use mneme_testing::{Chance, TempDir};

    const OUTPUTS: [Output; 5] =
        [Output::UnitMean, Output::Affine, Output::Projected, Output::PooledLogit, Output::LinearLogit];

    fn open(model: &Synthetic) -> Result<Encoder> {
        let folder = TempDir::new("synthetic");
        Encoder::open(&model.write(&folder), None)
    }

    /// Maximum distance of outputs. A value that lies between two bytes may be rounded to either, which changes the
    /// output of such a small model by up to 0.03. Outputs of a wrong computation are about 1 apart.
    const DISTANCE_MAX: f64 = 0.1;

    fn distance(found: &[f32], expected: &[f64]) -> f64 {
        assert_eq!(found.len(), expected.len());
        found.iter().zip(expected).map(|(found, expected)| (f64::from(*found) - expected).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn models_of_any_depth_table_and_head_are_computed() {
        if !is_supported() {
            return println!("skipped: this processor has no AVX2");
        }
        let mut chance = Chance::new();
        let tables = [Table::Blocks, Table::Halves, Table::Bytes];
        let cases = tables.into_iter().flat_map(|table| OUTPUTS.map(|output| (table, output)));
        for (at, (table, output)) in cases.enumerate() {
            let layers = 1 + at % 4;
            let model = Synthetic::new(layers, table, output, &mut chance);
            let encoder = open(&model).expect("a supported model");
            let folder = TempDir::new("synthetic");
            let path = model.write(&folder);
            let others = available().into_iter().map(|instructions| {
                (instructions, Encoder::open_for(&path, None, instructions).expect("a supported model"))
            });
            let others: Vec<_> = others.collect();
            for tokens in [1, 2, 13, TOKENS_MAX] {
                let ids: Vec<u32> = (0..tokens).map(|_| chance.below(VOCABULARY) as u32).collect();
                let sequence = Sequence { ids: &ids, first_length: tokens / 3 };
                let mut found = vec![f32::NAN; encoder.output_width()];
                encoder.encode(&[sequence], &mut found).expect("an output");
                let distance = distance(&found, &model.encode(sequence));
                assert!(distance < DISTANCE_MAX, "{layers} layers, {table:?}, {output:?}, {tokens} tokens: {distance}");
                let mut shared = vec![f32::NAN; encoder.output_width()];
                encoder.encode_on_two_threads(sequence, &mut shared).expect("an output");
                assert_eq!(shared, found, "two threads");
                for (instructions, other) in &others {
                    let mut same = vec![f32::NAN; encoder.output_width()];
                    other.encode(&[sequence], &mut same).expect("an output");
                    assert_eq!(same, found, "{instructions:?}");
                }
            }
        }
    }

    #[test]
    fn models_with_spans_read_the_word_table_of_another_file() {
        if !is_supported() {
            return println!("skipped: this processor has no AVX2");
        }
        let mut chance = Chance::new();
        for (layers, table) in [(1, Table::Blocks), (3, Table::Halves), (2, Table::Bytes)] {
            let model = Synthetic::new(layers, table, Output::Spans, &mut chance);
            let folder = TempDir::new("synthetic");
            let (path, words) = (model.write(&folder), folder.path().join("words.onnx"));
            assert!(Encoder::open(&path, None).is_err(), "its word table is not in its own file");
            let encoder = Encoder::open(&path, Some(&words)).expect("a supported model");
            assert!(encoder.has_spans());
            assert_eq!(encoder.output_width(), 2);
            let ids: Vec<u32> = (0..TOKENS_MAX).map(|_| chance.below(VOCABULARY) as u32).collect();
            let lengths = [2, 13, TOKENS_MAX, 5];
            let pairs = lengths.map(|tokens| Sequence { ids: &ids[..tokens], first_length: tokens / 3 });
            let together = encoder.read(&pairs).expect("logits and spans");
            let mut rest = &together[..];
            for pair in pairs {
                let (found, others) = rest.split_at(2 + 2 * pair.ids.len());
                rest = others;
                assert!(distance(&found[..2], &model.encode(pair)) < DISTANCE_MAX, "logits: {found:?}");
                let spans = model.spans(pair);
                for (found, expected) in found[2..].iter().zip(&spans) {
                    assert!((f64::from(*found) - expected).abs() < DISTANCE_MAX, "{found} is not {expected}");
                }
                assert_eq!(encoder.read(&[pair]).as_deref(), Ok(found), "alone and together");
                let mut logits = [f32::NAN; 2];
                encoder.encode(&[pair], &mut logits).expect("logits");
                assert_eq!(logits, found[..2]);
            }
            assert!(rest.is_empty());
            let refused = Sequence { ids: &[], first_length: 0 };
            assert!(matches!(encoder.read(&[pairs[0], refused]), Err(Error::Invalid(_))));
            assert_eq!(encoder.read(&[]), Ok(vec![]));
        }
        let model = Synthetic::new(1, Table::Blocks, Output::UnitMean, &mut chance);
        let encoder = open(&model).expect("a supported model");
        assert!(!encoder.has_spans());
        assert!(matches!(encoder.read(&[Sequence { ids: &[1, 2], first_length: 1 }]), Err(Error::Invalid(_))));
    }

    #[test]
    fn tokens_beyond_the_model_are_refused() {
        if !is_supported() {
            return println!("skipped: this processor has no AVX2");
        }
        let model = Synthetic::new(1, Table::Blocks, Output::UnitMean, &mut Chance::new());
        let encoder = open(&model).expect("a supported model");
        let mut output = vec![0f32; encoder.output_width()];
        let mut encode = |ids: &[u32]| encoder.encode(&[Sequence { ids, first_length: 0 }], &mut output);
        assert_eq!(encode(&[VOCABULARY as u32 - 1; TOKENS_MAX]), Ok(()));
        for refused in [&[VOCABULARY as u32][..], &[0; TOKENS_MAX + 1], &[]] {
            assert!(matches!(encode(refused), Err(Error::Invalid(_))), "{refused:?}");
        }
    }

    #[test]
    fn early_exit_works_for_every_head_with_one_logit() {
        if !is_supported() {
            return println!("skipped: this processor has no AVX2");
        }
        let mut chance = Chance::new();
        for output in OUTPUTS {
            let model = Synthetic::new(6, Table::Blocks, output, &mut chance);
            let encoder = open(&model).expect("a supported model");
            let ids: Vec<u32> = (0..20).map(|_| chance.below(VOCABULARY) as u32).collect();
            let pairs = [Sequence { ids: &ids, first_length: 4 }, Sequence { ids: &ids[..12], first_length: 4 }];
            let weights = vec![0.01f32; 3 * crate::synthetic::HIDDEN];
            let probe = EarlyExitProbe { layers: 2, weights: &weights, bias: 0.5 };
            let early_exit = EarlyExit { prior_scores: &[100.0, 0.0], full_tokens_max: 0, probe };
            let mut logits = [f32::NAN; 2];
            let scored = encoder.score_with_early_exit(&pairs, early_exit, &mut logits);
            if encoder.output_width() != 1 {
                assert!(matches!(scored, Err(Error::Invalid(_))), "{output:?}");
                continue;
            }
            assert_eq!(scored, Ok(()));
            let full = pairs.map(|pair| model.encode(pair)[0]);
            assert!((f64::from(logits[0]) - full[0]).abs() < DISTANCE_MAX, "{output:?}: {logits:?}, not {full:?}");
            assert!(logits[1].is_finite() && f64::from(logits[1]) != full[1], "the second is predicted");
        }
    }

    #[test]
    fn graphs_of_another_form_are_refused_with_the_reason() {
        if !is_supported() {
            return println!("skipped: this processor has no AVX2");
        }
        let refusal = |output, table, change| {
            let mut model = Synthetic::new(2, table, output, &mut Chance::new());
            model.change = change;
            open(&model).err().unwrap_or_else(|| panic!("{output:?} is not refused")).to_string()
        };
        let operators = [
            (Output::UnitMean, "BiasGelu", "FastGelu"),
            (Output::UnitMean, "Floor", "Ceil"),
            (Output::UnitMean, "MultiHeadAttention", "Attention"),
            (Output::UnitMean, "MatMulIntegerToFloat", "DynamicQuantizeMatMul"),
            (Output::UnitMean, "LayerNormalization", "SimplifiedLayerNormalization"),
            (Output::UnitMean, "ReduceL2", "ReduceL1"),
            (Output::UnitMean, "ReduceMin", "ReduceMean"),
            (Output::Affine, "ReduceSum", "ReduceProd"),
            (Output::PooledLogit, "Tanh", "Relu"),
            (Output::PooledLogit, "Slice", "Gather"),
        ];
        for (output, operator, other) in operators {
            let reason = refusal(output, Table::Blocks, Change::Operator(operator, other));
            let expected = if operator == "LayerNormalization" {
                "the model has no layers".into()
            } else {
                format!(" by {other}")
            };
            assert!(reason.contains(&expected), "{operator}: {reason}");
        }
        let constants = [
            (Output::UnitMean, "l1.qkv.zp", [127].to_vec()),
            (Output::UnitMean, "l0.down.zp", [128].to_vec()),
            (Output::UnitMean, "l0.o.i", (1.0f32 / 126.0).to_le_bytes().to_vec()),
            (Output::UnitMean, "l0.down.m", [0, 0, 0, 0].to_vec()),
            (Output::UnitMean, "one", 2.0f32.to_le_bytes().to_vec()),
            (Output::UnitMean, "c8", 7.0f32.to_le_bytes().to_vec()),
            (Output::UnitMean, "zero1", 2i64.to_le_bytes().to_vec()),
            (Output::PooledLogit, "first", 1i64.to_le_bytes().to_vec()),
            (Output::UnitMean, "ax1", 0i64.to_le_bytes().to_vec()),
            (Output::UnitMean, "emb.q4s", [0; 6].to_vec()),
        ];
        for (output, name, bytes) in constants {
            let reason = refusal(output, Table::Blocks, Change::Constant(name, bytes));
            let is_named = reason.contains(name) || reason.contains("zero point") || name == "ax1";
            assert!(is_named, "{name}: {reason}");
        }
        for (name, value) in [("num_heads", 4), ("axis", 7), ("keepdims", 0)] {
            let reason = refusal(Output::UnitMean, Table::Halves, Change::Attribute(name, value));
            assert!(reason.contains(&format!("unsupported {name} Some(Integer({value}))")), "{name}: {reason}");
        }
        for (name, bytes) in [("emb.q8", vec![0; 7]), ("emb.q8s", vec![0; 6])] {
            let reason = refusal(Output::UnitMean, Table::Bytes, Change::Constant(name, bytes));
            assert!(reason.contains(name), "{name}: {reason}");
        }
        let reason = refusal(Output::LinearLogit, Table::Halves, Change::Attribute("transB", 2));
        assert!(reason.contains("transB"), "{reason}");
    }

    #[test]
    fn damaged_models_are_refused_or_read_and_nothing_else() {
        if !is_supported() {
            return println!("skipped: this processor has no AVX2");
        }
        let mut chance = Chance::new();
        let folder = TempDir::new("damaged");
        let path = Synthetic::new(1, Table::Blocks, Output::Affine, &mut chance).write(&folder);
        let whole = std::fs::read(&path).expect("the model");
        for _ in 0..400 {
            let mut damaged = whole.clone();
            for _ in 0..1 + chance.below(3) {
                // Most bytes are weights; the graph is at the beginning.
                let end = if chance.below(2) == 0 { 8_000 } else { damaged.len() };
                let at = chance.below(end);
                damaged[at] = chance.bits() as u8;
            }
            let other = folder.path().join("damaged.onnx");
            std::fs::write(&other, &damaged).expect("a file in a fresh folder");
            if let Ok(encoder) = Encoder::open(&other, None) {
                let mut output = vec![0f32; encoder.output_width()];
                let _ = encoder.encode(&[Sequence { ids: &[1, 2, 3], first_length: 1 }], &mut output);
            }
            std::fs::remove_file(&other).expect("the file that was written");
        }
    }
}
