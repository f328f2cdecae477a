//! Reads the nodes and constants of an ONNX file. The file is mapped into memory and constants are read in place, so
//! processes that map the same file share its memory. `graph` finds nodes, `model_reader` knows what they mean. This
//! file reads only some parts of the format (<https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>).

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::{Error, Result};

/// Type of the elements of a tensor. The numbers are those of ONNX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementType {
    Float32 = 1,
    UInt8 = 2,
    Int8 = 3,
    Int64 = 7,
    Float16 = 10,
}

impl ElementType {
    fn bytes(self) -> usize {
        match self {
            ElementType::UInt8 | ElementType::Int8 => 1,
            ElementType::Float16 => 2,
            ElementType::Float32 => 4,
            ElementType::Int64 => 8,
        }
    }
}

/// An operation of the graph.
#[derive(Debug, Default)]
pub struct Node {
    /// Type of the operation, such as `MatMul`.
    pub operator: String,
    /// Names of the values that the node reads. An optional input that is left out is empty.
    pub inputs: Vec<String>,
    /// Names of the values that the node computes.
    pub outputs: Vec<String>,
    attributes: HashMap<String, Attribute>,
}

/// Value of an attribute of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    Integer(i64),
    Float(f32),
    Integers(Vec<i64>),
    /// An attribute of a type that this file does not read.
    Other,
}

impl Node {
    /// Returns an attribute, or `None` if the node leaves it at its default.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.get(name)
    }
}

struct Tensor {
    shape: Vec<usize>,
    element: u64,
    bytes: Range<usize>,
}

/// The graph and the constants of one model file.
pub struct OnnxFile {
    map: Arc<Mmap>,
    nodes: Vec<Node>,
    outputs: Vec<String>,
    tensors: HashMap<String, Tensor>,
}

impl OnnxFile {
    /// Maps a model file into memory. If the file is shortened afterwards, the process dies. Model files are written
    /// only once, so this does not happen.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::Io(format!("{}: {error}", path.display())))?;
        // SAFETY: the file is only read, and model files are never shortened (see above).
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::Io(format!("{}: {error}", path.display())))?;
        let mut found = OnnxFile { map: Arc::new(map), nodes: vec![], outputs: vec![], tensors: HashMap::new() };
        found.read().ok_or_else(|| Error::invalid(format!("{} is not an ONNX model", path.display())))?;
        Ok(found)
    }

    /// Operations of the graph, in an order in which they can be computed.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Names of the graph's outputs.
    pub fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// Returns the mapped bytes of the whole file.
    pub fn map(&self) -> Arc<Mmap> {
        Arc::clone(&self.map)
    }

    /// Returns the shape of a constant, or `None` if the model does not have the constant.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|tensor| tensor.shape.as_slice())
    }

    /// Returns the shape of a constant that must be there.
    pub fn shape_of(&self, name: &str) -> Result<&[usize]> {
        self.shape(name).ok_or_else(|| Error::invalid(format!("the model's {name} is not a constant")))
    }

    /// Returns the sides of a constant matrix.
    pub fn sides(&self, name: &str) -> Result<[usize; 2]> {
        let shape = self.shape_of(name)?;
        shape.try_into().map_err(|_| Error::invalid(format!("the model's {name} is not a matrix but {shape:?}")))
    }

    /// Returns where the bytes of a constant are in the file: row by row, little-endian, not aligned.
    pub fn range(&self, name: &str, element: ElementType, shape: &[usize]) -> Result<Range<usize>> {
        self.shape_of(name)?;
        let tensor = &self.tensors[name];
        let cells = shape.iter().try_fold(1usize, |cells, side| cells.checked_mul(*side));
        let bytes = cells.and_then(|cells| cells.checked_mul(element.bytes()));
        let is_as_expected = tensor.element == element as u64 && tensor.shape == shape;
        if !is_as_expected || Some(tensor.bytes.len()) != bytes {
            return Err(Error::invalid(format!("the model's {name} is not {element:?} {shape:?}")));
        }
        Ok(tensor.bytes.clone())
    }

    /// Returns the bytes of a constant, as `range` describes them.
    pub fn bytes(&self, name: &str, element: ElementType, shape: &[usize]) -> Result<&[u8]> {
        Ok(&self.map[self.range(name, element, shape)?])
    }

    /// Returns a copy of a constant of 32-bit floats.
    pub fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (cells, _) = self.bytes(name, ElementType::Float32, shape)?.as_chunks::<4>();
        Ok(cells.iter().map(|cell| f32::from_le_bytes(*cell)).collect())
    }

    /// Returns the integers of a constant with one dimension or none.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>> {
        let shape = self.shape_of(name)?;
        if shape.len() > 1 {
            return Err(Error::invalid(format!("the model's {name} is not a list of integers")));
        }
        let (cells, _) = self.bytes(name, ElementType::Int64, shape)?.as_chunks::<8>();
        Ok(cells.iter().map(|cell| i64::from_le_bytes(*cell)).collect())
    }

    fn read(&mut self) -> Option<()> {
        let (mut nodes, mut outputs, mut tensors) = (vec![], vec![], HashMap::new());
        for field in Fields::of(&self.map, 0..self.map.len()) {
            let (7, Value::Bytes(range)) = field? else { continue };
            for field in Fields::of(&self.map, range) {
                match field? {
                    (1, Value::Bytes(range)) => nodes.push(self.node(range)?),
                    (5, Value::Bytes(range)) => {
                        let (name, tensor) = self.tensor(range)?;
                        tensors.insert(name, tensor);
                    }
                    (12, Value::Bytes(range)) => outputs.push(self.first_text(range)?),
                    _ => {}
                }
            }
        }
        (self.nodes, self.outputs, self.tensors) = (nodes, outputs, tensors);
        Some(())
    }

    fn node(&self, range: Range<usize>) -> Option<Node> {
        let mut node = Node::default();
        for field in Fields::of(&self.map, range) {
            match field? {
                (1, Value::Bytes(range)) => node.inputs.push(self.text(range)?),
                (2, Value::Bytes(range)) => node.outputs.push(self.text(range)?),
                (4, Value::Bytes(range)) => node.operator = self.text(range)?,
                (5, Value::Bytes(range)) => {
                    let (name, attribute) = self.attribute(range)?;
                    node.attributes.insert(name, attribute);
                }
                _ => {}
            }
        }
        Some(node)
    }

    fn attribute(&self, range: Range<usize>) -> Option<(String, Attribute)> {
        /// Numbers of the types of attributes that are read.
        const FLOAT: u64 = 1;
        const INTEGER: u64 = 2;
        const INTEGERS: u64 = 7;
        let (mut name, mut kind, mut float, mut integer, mut integers) = (String::new(), 0, 0f32, 0i64, vec![]);
        for field in Fields::of(&self.map, range) {
            match field? {
                (1, Value::Bytes(range)) => name = self.text(range)?,
                (2, Value::Word(bits)) => float = f32::from_bits(bits),
                (3, Value::Number(number)) => integer = number as i64,
                (8, Value::Number(number)) => integers.push(number as i64),
                (8, Value::Bytes(range)) => integers.extend(self.varints(range)?.into_iter().map(|bits| bits as i64)),
                (20, Value::Number(number)) => kind = number,
                _ => {}
            }
        }
        let attribute = match kind {
            FLOAT => Attribute::Float(float),
            INTEGER => Attribute::Integer(integer),
            INTEGERS => Attribute::Integers(integers),
            _ => Attribute::Other,
        };
        Some((name, attribute))
    }

    /// Returns the first field of a message whose first field is a text.
    fn first_text(&self, range: Range<usize>) -> Option<String> {
        match Fields::of(&self.map, range).next()?? {
            (1, Value::Bytes(range)) => self.text(range),
            _ => None,
        }
    }

    fn varints(&self, range: Range<usize>) -> Option<Vec<u64>> {
        let (mut at, mut found) = (range.start, vec![]);
        while at < range.end {
            found.push(varint(&self.map[..range.end], &mut at)?);
        }
        Some(found)
    }

    fn tensor(&self, range: Range<usize>) -> Option<(String, Tensor)> {
        let mut name = String::new();
        let mut tensor = Tensor { shape: Vec::new(), element: 0, bytes: 0..0 };
        for field in Fields::of(&self.map, range) {
            match field? {
                (1, Value::Number(side)) => tensor.shape.push(usize::try_from(side).ok()?),
                (1, Value::Bytes(range)) => {
                    for side in self.varints(range)? {
                        tensor.shape.push(usize::try_from(side).ok()?);
                    }
                }
                (2, Value::Number(element)) => tensor.element = element,
                (8, Value::Bytes(range)) => name = self.text(range)?,
                (9, Value::Bytes(range)) => tensor.bytes = range,
                _ => {}
            }
        }
        Some((name, tensor))
    }

    fn text(&self, range: Range<usize>) -> Option<String> {
        String::from_utf8(self.map[range].to_vec()).ok()
    }
}

enum Value {
    Number(u64),
    Bytes(Range<usize>),
    Word(u32),
    Skipped,
}

/// Iterates over the fields of a protobuf message, each with its number. If the bytes are not a message, the last
/// item is `None`.
struct Fields<'file> {
    file: &'file [u8],
    at: usize,
    is_broken: bool,
}

impl<'file> Fields<'file> {
    /// Iterates over the fields of the message in `range`. Ranges of fields are positions in the whole file.
    fn of(file: &'file [u8], range: Range<usize>) -> Self {
        Fields { file: &file[..range.end], at: range.start, is_broken: false }
    }

    fn field(&mut self) -> Option<(u64, Value)> {
        let key = varint(self.file, &mut self.at)?;
        let value = match key & 7 {
            0 => Value::Number(varint(self.file, &mut self.at)?),
            1 => self.skip(8)?,
            2 => {
                let length = usize::try_from(varint(self.file, &mut self.at)?).ok()?;
                let start = self.at;
                self.skip(length)?;
                Value::Bytes(start..self.at)
            }
            5 => {
                let word = self.file.get(self.at..)?.first_chunk::<4>()?;
                self.at += 4;
                Value::Word(u32::from_le_bytes(*word))
            }
            _ => return None,
        };
        Some((key >> 3, value))
    }

    fn skip(&mut self, bytes: usize) -> Option<Value> {
        self.at = self.at.checked_add(bytes).filter(|at| *at <= self.file.len())?;
        Some(Value::Skipped)
    }
}

impl Iterator for Fields<'_> {
    type Item = Option<(u64, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_broken || self.at >= self.file.len() {
            return None;
        }
        let field = self.field();
        self.is_broken = field.is_none();
        Some(field)
    }
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::{Chance, TempDir};

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        assert!(content.len() < 128, "lengths of one byte");
        [&[number << 3 | 2, content.len() as u8], content].concat()
    }

    fn node() -> Vec<u8> {
        let heads = [field(1, b"heads"), vec![0x18, 12, 0xA0, 0x01, 2]].concat();
        let epsilon = [field(1, b"epsilon"), vec![0x15], 0.5f32.to_le_bytes().to_vec(), vec![0xA0, 0x01, 1]].concat();
        let axes = [field(1, b"axes"), vec![0x40, 1, 0xA0, 0x01, 7]].concat();
        let negative = [vec![255; 9], vec![1]].concat();
        let packed = [field(1, b"packed"), field(8, &negative), vec![0xA0, 0x01, 7]].concat();
        let text = [field(1, b"text"), field(4, b"none"), vec![0xA0, 0x01, 3]].concat();
        let attributes = [heads, epsilon, axes, packed, text].map(|attribute| field(5, &attribute)).concat();
        [field(1, b"a"), field(1, b""), field(2, b"c"), field(3, b"its name"), field(4, b"MatMul"), attributes].concat()
    }

    /// A file with one node, and with the constants "a", `[2, 1]` floats, "b", `[3]` signed bytes with a packed shape,
    /// and "i", one integer.
    fn small_model() -> Vec<u8> {
        let a =
            [vec![0x08, 2, 0x08, 1, 0x10, 1], field(8, b"a"), field(9, &[1.5f32, -2.0].map(f32::to_le_bytes).concat())];
        let b = [field(1, &[3]), vec![0x10, 3], field(8, b"b"), field(9, &[1, 2, 255])];
        let i = [vec![0x10, 7], field(8, b"i"), field(9, &(-3i64).to_le_bytes())];
        let unknown = [vec![0x79, 0, 0, 0, 0, 0, 0, 0, 0], vec![0x7D, 0, 0, 0, 0]];
        let ends = [field(11, &field(1, b"a")), field(12, &field(1, b"c"))].concat();
        let node = node();
        let long = [vec![1 << 3 | 2, 0x80 | (node.len() & 127) as u8, (node.len() >> 7) as u8], node].concat();
        let graph = [field(2, b"net"), field(5, &a.concat()), long, field(5, &b.concat()), field(5, &i.concat()), ends];
        let graph = graph.concat();
        let length = [0x80 | (graph.len() & 127) as u8, (graph.len() >> 7) as u8];
        [unknown.concat(), field(2, b"maker"), vec![7 << 3 | 2], length.to_vec(), graph].concat()
    }

    fn open(bytes: &[u8]) -> Result<OnnxFile> {
        let folder = TempDir::new("onnx");
        let path = folder.path().join("model.onnx");
        std::fs::write(&path, bytes).expect("a file in a fresh folder");
        OnnxFile::open(&path)
    }

    #[test]
    fn constants_are_found_by_name_type_and_shape() {
        let model = open(&small_model()).expect("a model");
        assert_eq!(model.floats("a", &[2, 1]), Ok(vec![1.5, -2.0]));
        assert_eq!(model.sides("a"), Ok([2, 1]));
        assert_eq!(model.bytes("b", ElementType::Int8, &[3]), Ok([1u8, 2, 255].as_slice()));
        assert_eq!(model.integers("i"), Ok(vec![-3]));
        assert_eq!((model.shape("b"), model.shape("c")), (Some([3].as_slice()), None));
        for (name, shape) in [("a", vec![2]), ("a", vec![1, 2]), ("b", vec![3]), ("c", vec![1])] {
            assert!(matches!(model.floats(name, &shape), Err(Error::Invalid(_))), "{name} {shape:?}");
        }
        for name in ["a", "b", "c"] {
            assert!(matches!(model.integers(name), Err(Error::Invalid(_))), "{name}");
        }
        assert!(model.sides("b").is_err() && model.sides("c").is_err());
        let huge = model.bytes("b", ElementType::Int8, &[usize::MAX, 3]);
        assert!(matches!(huge, Err(Error::Invalid(_))), "a size beyond the address space");
    }

    #[test]
    fn nodes_have_their_operator_values_and_attributes() {
        let model = open(&small_model()).expect("a model");
        assert_eq!(model.outputs(), ["c"]);
        let [node] = model.nodes() else { panic!("one node, not {:?}", model.nodes()) };
        assert_eq!(
            (node.operator.as_str(), node.inputs.join("+"), node.outputs.join("+")),
            ("MatMul", "a+".into(), "c".into())
        );
        let expected = [
            ("heads", Some(Attribute::Integer(12))),
            ("epsilon", Some(Attribute::Float(0.5))),
            ("axes", Some(Attribute::Integers(vec![1]))),
            ("packed", Some(Attribute::Integers(vec![-1]))),
            ("text", Some(Attribute::Other)),
            ("none", None),
        ];
        for (name, attribute) in expected {
            assert_eq!(node.attribute(name), attribute.as_ref(), "{name}");
        }
    }

    #[test]
    fn damaged_files_are_refused_or_read_and_nothing_else() {
        let whole = small_model();
        let mut chance = Chance::new();
        for end in 1..whole.len() {
            let _ = open(&whole[..end]);
            let mut damaged = whole.clone();
            damaged[end] = chance.bits() as u8;
            if let Ok(model) = open(&damaged) {
                let _ = (model.floats("a", &[2, 1]), model.bytes("b", ElementType::Int8, &[3]), model.integers("i"));
            }
        }
        assert!(matches!(open(b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Err(Error::Invalid(_))));
        assert!(matches!(OnnxFile::open(Path::new("/nowhere/model.onnx")), Err(Error::Io(_))));
    }
}
