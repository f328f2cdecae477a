//! The head of a model: what is computed from the states of the last layer. Heads are small, so any short computation
//! with vectors and constant matrices is supported, not only those of the models that ship with Mneme.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::onnx_file::{Attribute, Node};

/// How the head pools the states of the last layer into one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The sum of the states of all tokens.
    Sum,
    /// The state of the first token. The last layer computes no other.
    First,
}

/// A computation with vectors. Registers hold the constants, the pooled state, the number of tokens, and the result of
/// each step. The last step's result is the output.
#[derive(Debug)]
pub struct Head {
    pub pooling: Pooling,
    /// Number of values of the output.
    pub width: usize,
    /// Initial values of the registers. Those of results are empty.
    registers: Vec<Vec<f32>>,
    /// Registers with the pooled state and with the number of tokens.
    pooled: usize,
    tokens: Option<usize>,
    steps: Vec<Step>,
}

/// One operation. Numbers are those of registers.
#[derive(Debug)]
struct Step {
    operation: Operation,
    inputs: Vec<usize>,
    output: usize,
}

#[derive(Debug)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Max,
    Tanh,
    /// Euclidean length.
    Length,
    /// Product with a matrix, `[inputs, outputs]`.
    Project(Vec<f32>),
}

/// A head and the value from which it pools.
pub struct PooledHead<'file> {
    pub head: Head,
    /// Output of the last layer.
    pub states: &'file str,
    /// Whether the last layer already computes the first token only.
    pub is_first_only: bool,
}

impl Head {
    /// Reads the computation of `output`. `hidden` is the width of a state.
    pub fn read<'file>(graph: &Graph<'file>, output: &'file str, hidden: usize) -> Result<PooledHead<'file>> {
        let mut reader = Reader { graph, hidden, head: Head::new(), widths: vec![], known: HashMap::new(), leaf: None };
        let last = reader.register(output)?;
        let leaf = reader.leaf.ok_or_else(|| Error::invalid("the model's output reads no states"))?;
        let Leaf { pooling, states, is_first_only } = leaf;
        // The last step must compute the output; it might be a state or a constant.
        let is_computed = reader.head.steps.last().is_some_and(|step| step.output == last);
        if !is_computed {
            return Err(Error::invalid(format!("the model's output {output} is not computed from its states")));
        }
        let head = Head { pooling, width: reader.widths[last], ..reader.head };
        Ok(PooledHead { head, states, is_first_only })
    }

    fn new() -> Self {
        Head { pooling: Pooling::Sum, width: 0, registers: vec![], pooled: 0, tokens: None, steps: vec![] }
    }

    /// Computes the output from the pooled state (`[hidden]`) of a sequence.
    pub fn write_output(&self, pooled: Vec<f32>, tokens: usize, output: &mut [f32]) {
        let mut registers = self.registers.clone();
        registers[self.pooled] = pooled;
        if let Some(at) = self.tokens {
            registers[at] = vec![tokens as f32];
        }
        for step in &self.steps {
            let input = |at: usize| registers[step.inputs[at]].as_slice();
            registers[step.output] = match &step.operation {
                Operation::Add => elementwise(input(0), input(1), |a, b| a + b),
                Operation::Subtract => elementwise(input(0), input(1), |a, b| a - b),
                Operation::Multiply => elementwise(input(0), input(1), |a, b| a * b),
                Operation::Divide => elementwise(input(0), input(1), |a, b| a / b),
                Operation::Max => elementwise(input(0), input(1), f32::max),
                Operation::Tanh => input(0).iter().map(|value| value.tanh()).collect(),
                Operation::Length => vec![input(0).iter().map(|value| value * value).sum::<f32>().sqrt()],
                Operation::Project(matrix) => project(input(0), matrix),
            };
        }
        if let Some(last) = self.steps.last() {
            output.copy_from_slice(&registers[last.output]);
        }
    }
}

/// The pooled value at which reading ends, because `network` computes what lies before it.
struct Leaf<'file> {
    pooling: Pooling,
    states: &'file str,
    is_first_only: bool,
}

/// Reads the graph backwards from the output.
struct Reader<'graph, 'file> {
    graph: &'graph Graph<'file>,
    hidden: usize,
    head: Head,
    /// Number of values in each register.
    widths: Vec<usize>,
    /// Registers of the values that were read already.
    known: HashMap<&'file str, usize>,
    leaf: Option<Leaf<'file>>,
}

impl<'file> Reader<'_, 'file> {
    /// Returns the register of a value, and reads its computation if it is new.
    fn register(&mut self, value: &'file str) -> Result<usize> {
        if let Some(at) = self.known.get(value) {
            return Ok(*at);
        }
        let at = match self.leaf(value)? {
            Some(at) => at,
            None if self.graph.file.shape(value).is_some() => self.constant(value)?,
            None => self.step(self.graph.node(value)?)?,
        };
        self.known.insert(value, at);
        Ok(at)
    }

    /// Reads a value that is pooled from the states. Returns `None` if the value is something else.
    fn leaf(&mut self, value: &'file str) -> Result<Option<usize>> {
        const SUM: &str = "Squeeze(MatMul(Unsqueeze(Cast(attention_mask), ?axis), Reshape(?states, ?)), ?axis)";
        const TOKENS: [&str; 2] = ["ReduceSum(Cast(attention_mask), ?axis)", "ReduceSum(Cast(attention_mask))"];
        const FIRST: &str = "Gather(Reshape(?states, ?), ?index)";
        let graph = self.graph;
        if graph.find_one(value, &TOKENS).is_ok() {
            let node = graph.node(value)?;
            node.check_integer("keepdims", 1, 1)?;
            check_axis(graph, node)?;
            let at = self.add(vec![], 1);
            self.head.tokens = Some(at);
            return Ok(Some(at));
        }
        let leaf = if let Ok(found) = graph.find(value, SUM) {
            graph.check_integers(found.value("axis"), &[1])?;
            Leaf { pooling: Pooling::Sum, states: found.value("states"), is_first_only: false }
        } else if let Ok(found) = graph.find(value, FIRST) {
            graph.check_integers(found.value("index"), &[0])?;
            graph.node(value)?.check_integer("axis", 0, 1)?;
            Leaf { pooling: Pooling::First, states: found.value("states"), is_first_only: false }
        } else if graph.producer(value).is_some_and(|node| node.operator == "LayerNormalization") {
            Leaf { pooling: Pooling::First, states: value, is_first_only: true }
        } else {
            return Ok(None);
        };
        if self.leaf.is_some() {
            return Err(Error::invalid("the model pools its states in two ways, where only one is supported"));
        }
        self.leaf = Some(leaf);
        self.head.pooled = self.add(vec![], self.hidden);
        Ok(Some(self.head.pooled))
    }

    fn constant(&mut self, name: &'file str) -> Result<usize> {
        let shape = self.graph.file.shape_of(name)?;
        let width = shape.iter().product();
        let is_row = shape.iter().rev().skip(1).all(|side| *side == 1);
        if !is_row || width == 0 {
            return Err(Error::invalid(format!("the model's {name} is {shape:?}, where only a vector is supported")));
        }
        let values = self.graph.file.floats(name, shape)?;
        Ok(self.add(values, width))
    }

    fn step(&mut self, node: &'file Node) -> Result<usize> {
        let (operation, inputs) = match node.operator.as_str() {
            "Add" => (Operation::Add, self.two(node)?),
            "Sub" => (Operation::Subtract, self.two(node)?),
            "Mul" => (Operation::Multiply, self.two(node)?),
            "Div" => (Operation::Divide, self.two(node)?),
            "Max" => (Operation::Max, self.two(node)?),
            "Tanh" => (Operation::Tanh, vec![self.register(input(node, 0)?)?]),
            "ReduceL2" => {
                node.check_integer("keepdims", 1, 1)?;
                check_axis(self.graph, node)?;
                (Operation::Length, vec![self.register(input(node, 0)?)?])
            }
            "MatMul" => return self.product(node, false),
            "Gemm" => {
                node.check_integer("transA", 0, 0)?;
                node.check_factor("alpha")?;
                node.check_factor("beta")?;
                let is_transposed = node.check_integer("transB", 0, 1).is_ok();
                if !is_transposed {
                    node.check_integer("transB", 0, 0)?;
                }
                let product = self.product(node, is_transposed)?;
                let Some(bias) = node.inputs.get(2) else { return Ok(product) };
                (Operation::Add, vec![product, self.register(bias)?])
            }
            other => {
                let output = node.outputs.first().map_or("", String::as_str);
                return Err(Error::invalid(format!("the model computes {output} by {other}, which is not supported")));
            }
        };
        let width = match operation {
            Operation::Length => 1,
            Operation::Tanh => self.widths[inputs[0]],
            _ => {
                let [a, b] = [self.widths[inputs[0]], self.widths[inputs[1]]];
                if a != b && a != 1 && b != 1 {
                    return Err(Error::invalid(format!("the model combines vectors of {a} and {b} values")));
                }
                a.max(b)
            }
        };
        Ok(self.push(operation, inputs, width))
    }

    /// Reads a product of a vector (the node's first input) with a constant matrix (its second input).
    fn product(&mut self, node: &'file Node, is_transposed: bool) -> Result<usize> {
        let (vector, name) = (self.register(input(node, 0)?)?, input(node, 1)?);
        let sides @ [rows, columns] = self.graph.file.sides(name)?;
        let [inputs, outputs] = if is_transposed { [columns, rows] } else { sides };
        if inputs != self.widths[vector] || outputs == 0 {
            let width = self.widths[vector];
            return Err(Error::invalid(format!("the model multiplies {width} values by {name} of {inputs}")));
        }
        let mut matrix = self.graph.file.floats(name, &sides)?;
        if is_transposed {
            matrix = (0..inputs * outputs).map(|at| matrix[at % outputs * inputs + at / outputs]).collect();
        }
        Ok(self.push(Operation::Project(matrix), vec![vector], outputs))
    }

    fn two(&mut self, node: &'file Node) -> Result<Vec<usize>> {
        if node.inputs.len() != 2 {
            return Err(Error::invalid(format!(
                "the model's {} has {} inputs, not two",
                node.operator,
                node.inputs.len()
            )));
        }
        node.inputs.iter().map(|value| self.register(value)).collect()
    }

    fn push(&mut self, operation: Operation, inputs: Vec<usize>, width: usize) -> usize {
        let output = self.add(vec![], width);
        self.head.steps.push(Step { operation, inputs, output });
        output
    }

    fn add(&mut self, values: Vec<f32>, width: usize) -> usize {
        self.head.registers.push(values);
        self.widths.push(width);
        self.widths.len() - 1
    }
}

fn input(node: &Node, at: usize) -> Result<&str> {
    let missing = || Error::invalid(format!("the model's {} has too few inputs", node.operator));
    node.inputs.get(at).map(String::as_str).ok_or_else(missing)
}

/// Fails unless a node reduces the last of two dimensions. Older versions of ONNX name it in an attribute, newer ones
/// in a second input.
fn check_axis(graph: &Graph<'_>, node: &Node) -> Result<()> {
    let axes = match (node.inputs.get(1), node.attribute("axes")) {
        (Some(name), _) => graph.file.integers(name)?,
        (None, Some(Attribute::Integers(axes))) => axes.clone(),
        (None, found) => return Err(node.refusal("axes", found)),
    };
    if axes != [1] && axes != [-1] {
        return Err(Error::invalid(format!("the model's {} reduces the dimensions {axes:?}", node.operator)));
    }
    Ok(())
}

/// Combines two vectors. One of them may have a single value, which is then combined with every value of the other.
fn elementwise(a: &[f32], b: &[f32], combine: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    match (a, b) {
        (_, [b]) => a.iter().map(|a| combine(*a, *b)).collect(),
        ([a], _) => b.iter().map(|b| combine(*a, *b)).collect(),
        _ => a.iter().zip(b).map(|(a, b)| combine(*a, *b)).collect(),
    }
}

/// Multiplies a vector by a matrix (`[inputs, outputs]`). Going row by row lets the compiler use vector instructions.
fn project(vector: &[f32], matrix: &[f32]) -> Vec<f32> {
    let outputs = matrix.len() / vector.len();
    let mut sums = vec![0f32; outputs];
    for (factor, row) in vector.iter().zip(matrix.chunks_exact(outputs)) {
        sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += factor * weight);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::GraphWriter;

    /// A head with normalised states and their mean, of width 2.
    fn writer() -> (GraphWriter, String) {
        let mut graph = GraphWriter::default();
        graph.named_node("LayerNormalization", &["x", "gain", "shift"], "first", &[]);
        let axis = graph.integers("ax1", &[1]);
        let mask = graph.node("Cast", &["attention_mask"], &[]);
        let row = graph.node("Unsqueeze", &[&mask, &axis], &[]);
        let states = graph.node("Reshape", &["last", "shape"], &[]);
        let sum = graph.node("MatMul", &[&row, &states], &[]);
        let sum = graph.node("Squeeze", &[&sum, &axis], &[]);
        graph.named_node("ReduceSum", &[&mask, &axis], "tokens", &[]);
        graph.named_node("Div", &[&sum, "tokens"], "mean", &[]);
        (graph, sum)
    }

    fn read(graph: GraphWriter, output: &str) -> Result<(Head, bool)> {
        let file = graph.open(output);
        let graph = Graph::of(&file)?;
        Head::read(&graph, &file.outputs()[0], 2).map(|found| (found.head, found.is_first_only))
    }

    fn compute(head: &Head, pooled: [f32; 2], tokens: usize) -> Vec<f32> {
        let mut output = vec![f32::NAN; head.width];
        head.write_output(pooled.to_vec(), tokens, &mut output);
        output
    }

    #[test]
    fn a_head_combines_vectors_numbers_and_matrices() {
        let (mut graph, _) = writer();
        let matrix = graph.floats("matrix", &[2, 3], &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
        let product = graph.node("MatMul", &["mean", &matrix], &[]);
        let row = graph.floats("row", &[1, 3], &[1.0, 1.0, -100.0]);
        let least = graph.floats("least", &[], &[0.5]);
        let sum = graph.node("Add", &[&product, &row], &[]);
        let output = graph.node("Max", &[&least, &sum], &[]);
        let (head, is_first_only) = read(graph, &output).expect("a head");
        assert_eq!((head.pooling, head.width, is_first_only), (Pooling::Sum, 3, false));
        // The mean of two tokens is (1, -0.1).
        assert_eq!(compute(&head, [2.0, -0.2], 2), [1.0, 1.0, 0.5]);
        let (graph, sum) = writer();
        assert_eq!(read(graph, "mean").map(|(head, _)| compute(&head, [3.0, 6.0], 3)), Ok(vec![1.0, 2.0]));
        let (graph, _) = writer();
        assert!(read(graph, &sum).is_err(), "the states' sum alone is not a computed output");
    }

    #[test]
    fn a_head_that_is_not_understood_is_refused_with_the_reason() {
        let cases: [(&str, &[&str], &str); 9] = [
            ("Erf", &["mean"], "by Erf, which is not supported"),
            ("Add", &["mean", "mean", "mean"], "has 3 inputs, not two"),
            ("Add", &["mean", "three"], "combines vectors of 2 and 3 values"),
            ("Add", &["mean", "matrix"], "where only a vector is supported"),
            ("Add", &["mean", "first"], "pools its states in two ways"),
            ("Add", &["mean", "input_ids"], "input_ids is not computed by a node"),
            ("MatMul", &["mean", "matrix"], "multiplies 2 values by matrix of 3"),
            ("MatMul", &["mean", "first"], "first is not a constant"),
            ("Add", &["three", "three"], "reads no states"),
        ];
        for (operator, inputs, expected) in cases {
            let (mut graph, _) = writer();
            graph.floats("three", &[3], &[0.0; 3]);
            graph.floats("matrix", &[3, 2], &[0.0; 6]);
            let output = graph.node(operator, inputs, &[]);
            let reason = read(graph, &output).expect_err(operator).to_string();
            assert!(reason.contains(expected), "{operator} {inputs:?}: {reason}");
        }
    }
}
