//! Finds parts of a model's graph by their form. `model_reader` and `head` know the forms of the models.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};
use crate::onnx_file::{Attribute, Node, OnnxFile};

/// A model file with an index of the nodes that compute its values.
pub struct Graph<'file> {
    pub file: &'file OnnxFile,
    producers: HashMap<&'file str, &'file Node>,
}

/// Names of the values that a pattern found, by the names that the pattern gives them.
#[derive(Debug, Default)]
pub struct Found<'file> {
    values: HashMap<String, &'file str>,
    /// Number of nodes that matched.
    nodes: usize,
}

impl<'file> Found<'file> {
    /// Returns the value that the pattern calls `?name`. The pattern must have this name.
    pub fn value(&self, name: &str) -> &'file str {
        self.values[name]
    }
}

impl<'file> Graph<'file> {
    /// Fails if a node reads a value that it or a later node computes, so no search in the graph can run in a circle.
    pub fn of(file: &'file OnnxFile) -> Result<Self> {
        let mut producers = HashMap::new();
        let computed: HashSet<&str> = file.nodes().iter().flat_map(|node| &node.outputs).map(String::as_str).collect();
        for node in file.nodes() {
            let is_late =
                |input: &&String| computed.contains(input.as_str()) && !producers.contains_key(input.as_str());
            if let Some(input) = node.inputs.iter().find(is_late) {
                return Err(Error::invalid(format!("the model reads {input} before it is computed")));
            }
            producers.extend(node.outputs.iter().map(|output| (output.as_str(), node)));
        }
        Ok(Graph { file, producers })
    }

    /// Returns the node that computes a value, or `None` for a constant and for an input of the model.
    pub fn producer(&self, value: &str) -> Option<&'file Node> {
        self.producers.get(value).copied()
    }

    /// Returns the node that computes a value, which must exist.
    pub fn node(&self, value: &str) -> Result<&'file Node> {
        self.producer(value).ok_or_else(|| Error::invalid(format!("the model's {value} is not computed by a node")))
    }

    /// Matches the computation of a value against a pattern, such as `Add(MatMul(?x, ?weights), ?bias)`. `?name`
    /// matches any value, but everywhere the same one; `?` matches any value; `?name:Op(..)` names the result of a
    /// node; a name without `?` matches only the value with this name. Fails with the first node that differs.
    pub fn find(&self, value: &'file str, pattern: &str) -> Result<Found<'file>> {
        self.find_one(value, &[pattern]).map(|(_, found)| found)
    }

    /// Returns the number of the first pattern that matches, with what it found. Fails with the reason why the pattern
    /// that fits best does not match.
    pub fn find_one(&self, value: &'file str, patterns: &[&str]) -> Result<(usize, Found<'file>)> {
        let mut best: Option<(usize, Error)> = None;
        for (number, pattern) in patterns.iter().enumerate() {
            let mut found = Found::default();
            match self.matches(value, pattern, &mut found) {
                Ok(rest) => {
                    assert!(rest.is_empty(), "the pattern {pattern} ends at its last bracket");
                    return Ok((number, found));
                }
                Err(_) if best.as_ref().is_some_and(|(nodes, _)| *nodes >= found.nodes) => {}
                Err(error) => best = Some((found.nodes, error)),
            }
        }
        Err(best.map_or_else(|| Error::invalid("no pattern"), |(_, error)| error))
    }

    /// Matches the beginning of `pattern`, one expression. Returns the rest of the pattern.
    fn matches<'p>(&self, value: &'file str, pattern: &'p str, found: &mut Found<'file>) -> Result<&'p str> {
        let end = pattern.find(['(', ')', ',', ':']).unwrap_or(pattern.len());
        let (word, rest) = pattern.split_at(end);
        if let Some(rest) = rest.strip_prefix(':') {
            bind(word, value, found)?;
            return self.matches(value, rest, found);
        }
        let Some(mut rest) = rest.strip_prefix('(') else {
            bind(word, value, found)?;
            return Ok(rest);
        };
        let differs = |actual: &str| {
            Error::invalid(format!("the model computes {value} by {actual}, where only {word} is supported"))
        };
        let node = self.producer(value).ok_or_else(|| differs("no node"))?;
        if node.operator != word {
            return Err(differs(&node.operator));
        }
        found.nodes += 1;
        for (at, input) in node.inputs.iter().enumerate() {
            if at > 0 {
                rest = rest.strip_prefix(", ").ok_or_else(|| differs("a node with more inputs"))?;
            }
            rest = self.matches(input, rest, found)?;
        }
        rest.strip_prefix(')').ok_or_else(|| differs("a node with fewer inputs"))
    }

    /// Fails unless a constant is a single number with the expected value.
    pub fn check_number(&self, name: &str, expected: f32) -> Result<()> {
        let is_list = self.file.shape(name).is_some_and(|shape| shape.len() == 1);
        let found = self.file.floats(name, if is_list { &[1] } else { &[] })?[0];
        if (found - expected).abs() > expected.abs() * 1e-5 {
            return Err(Error::invalid(format!("the model's {name} is {found}, where only {expected} is supported")));
        }
        Ok(())
    }

    /// Fails unless a constant is the expected index or list of indices.
    pub fn check_integers(&self, name: &str, expected: &[i64]) -> Result<()> {
        let found = self.file.integers(name)?;
        if found != expected {
            return Err(Error::invalid(format!(
                "the model's {name} is {found:?}, where only {expected:?} is supported"
            )));
        }
        Ok(())
    }
}

impl Node {
    /// Fails if an integer attribute has another value than the expected one. `default` is its value if it is not set.
    pub fn check_integer(&self, name: &str, default: i64, expected: i64) -> Result<()> {
        match self.attribute(name) {
            None if default == expected => Ok(()),
            Some(Attribute::Integer(found)) if *found == expected => Ok(()),
            found => Err(self.refusal(name, found)),
        }
    }

    /// Fails if a float attribute has another value than 1, its default.
    pub fn check_factor(&self, name: &str) -> Result<()> {
        match self.attribute(name) {
            None => Ok(()),
            Some(Attribute::Float(1.0)) => Ok(()),
            found => Err(self.refusal(name, found)),
        }
    }

    /// Returns an error that says which attribute is not supported.
    pub fn refusal(&self, name: &str, found: Option<&Attribute>) -> Error {
        let output = self.outputs.first().map_or("", String::as_str);
        Error::invalid(format!("the model's node {} of {output} has the unsupported {name} {found:?}", self.operator))
    }
}

fn bind<'file>(word: &str, value: &'file str, found: &mut Found<'file>) -> Result<()> {
    let expected = match word.strip_prefix('?') {
        Some("") => return Ok(()),
        Some(name) => *found.values.entry(name.to_owned()).or_insert(value),
        None => word,
    };
    if expected != value {
        return Err(Error::invalid(format!("the model uses {value}, where only {expected} is supported")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::GraphWriter;

    fn small() -> OnnxFile {
        let mut graph = GraphWriter::default();
        let bias = graph.floats("bias", &[2], &[0.5, 1.0]);
        let two = graph.floats("two", &[], &[2.0]);
        graph.integers("axes", &[1]);
        let product = graph.node("MatMul", &["x", &bias], &[]);
        let sum = graph.node("Add", &[&product, &product], &[("axis", Attribute::Integer(-1))]);
        graph.named_node("Mul", &[&sum, &two], "result", &[]);
        graph.open("result")
    }

    #[test]
    fn a_pattern_names_the_values_of_a_computation() {
        let file = small();
        let graph = Graph::of(&file).expect("a graph without circles");
        let found = graph.find("result", "Mul(Add(?product:MatMul(x, ?bias), ?product), ?)").expect("the graph's form");
        assert_eq!(found.value("bias"), "bias");
        assert_eq!(graph.node(found.value("product")).expect("a node").operator, "MatMul");
        let (number, found) = graph.find_one("result", &["Sub(?a, ?b)", "Mul(?a, ?b)"]).expect("the second");
        assert_eq!((number, found.value("b")), (1, "two"));
    }

    #[test]
    fn another_form_is_refused_with_the_place_where_it_differs() {
        let file = small();
        let graph = Graph::of(&file).expect("a graph without circles");
        for (pattern, reason) in [
            ("Sub(?, ?)", "computes result by Mul, where only Sub is supported"),
            ("Mul(?)", "computes result by a node with more inputs, where only Mul"),
            ("Mul(?, ?, ?)", "computes result by a node with fewer inputs, where only Mul"),
            ("Mul(?, Add(?, ?))", "computes two by no node, where only Add"),
            ("Mul(Add(MatMul(y, ?), ?), ?)", "uses x, where only y is supported"),
            ("Mul(?same, ?same)", "uses two, where only"),
        ] {
            let error = graph.find("result", pattern).expect_err(pattern).to_string();
            assert!(error.contains(reason), "{pattern}: {error}");
        }
        let patterns = ["Sub(?, ?)", "Mul(Sub(?, ?), ?)", "Div(?, ?)"];
        let error = graph.find_one("result", &patterns).expect_err("no pattern matches").to_string();
        assert!(error.contains("where only Sub is supported") && !error.contains("result"), "the best fits: {error}");
        assert!(graph.node("two").is_err() && graph.node("x").is_err());
    }

    #[test]
    fn a_circle_is_refused() {
        let mut graph = GraphWriter::default();
        graph.named_node("Add", &["x", "b"], "a", &[]);
        graph.named_node("Tanh", &["a"], "b", &[]);
        let file = graph.open("b");
        let error = Graph::of(&file).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("the model reads b before it is computed"));
    }

    #[test]
    fn numbers_and_attributes_of_other_values_are_refused() {
        let file = small();
        let graph = Graph::of(&file).expect("a graph without circles");
        assert_eq!((graph.check_number("two", 2.0), graph.check_integers("axes", &[1])), (Ok(()), Ok(())));
        assert!(graph.check_number("two", 2.1).is_err() && graph.check_number("bias", 0.5).is_err());
        assert!(graph.check_integers("axes", &[0]).is_err() && graph.check_integers("two", &[2]).is_err());
        let add = graph.find("result", "Mul(?sum, ?)").and_then(|found| graph.node(found.value("sum"))).expect("a sum");
        assert_eq!((add.check_integer("axis", 0, -1), add.check_integer("other", 3, 3)), (Ok(()), Ok(())));
        assert!(add.check_integer("axis", -1, 1).is_err() && add.check_integer("other", 3, 1).is_err());
        assert!(add.check_factor("alpha").is_ok() && add.check_factor("axis").is_err());
    }
}
