//! Reads the constants of an ONNX file by name. The file is mapped into memory and constants are read in place, so
//! processes that map the same file share its memory. `network` knows the meaning of the constants. This file reads
//! only the parts of the format (<https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>) that constants need.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;

use crate::error::{Error, Result};

/// Type of the elements of a tensor. The numbers are those of ONNX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementType {
    Float32 = 1,
    Int8 = 3,
    Float16 = 10,
}

struct Tensor {
    shape: Vec<usize>,
    element: u64,
    bytes: Range<usize>,
}

/// The constants of one model file.
pub struct OnnxTensors {
    map: Mmap,
    producer: String,
    graph: String,
    tensors: HashMap<String, Tensor>,
}

impl OnnxTensors {
    /// Maps a model file into memory. If the file is shortened afterwards, the process dies. Model files are written
    /// only once, so this does not happen.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::Io(format!("{}: {error}", path.display())))?;
        // SAFETY: the file is only read, and model files are never shortened (see above).
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::Io(format!("{}: {error}", path.display())))?;
        let mut found = OnnxTensors { map, producer: String::new(), graph: String::new(), tensors: HashMap::new() };
        found.read().ok_or_else(|| Error::invalid(format!("{} is not an ONNX model", path.display())))?;
        Ok(found)
    }

    /// Name of the program that wrote the file.
    pub fn producer(&self) -> &str {
        &self.producer
    }

    /// Name of the graph.
    pub fn graph(&self) -> &str {
        &self.graph
    }

    /// Returns the shape of a constant, or `None` if the model does not have the constant.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|tensor| tensor.shape.as_slice())
    }

    /// Returns the bytes of a constant: row by row, little-endian, not aligned.
    pub fn bytes(&self, name: &str, element: ElementType, shape: &[usize]) -> Result<&[u8]> {
        let tensor = self.tensors.get(name).ok_or_else(|| Error::invalid(format!("the model has no {name}")))?;
        let width = match element {
            ElementType::Float32 => 4,
            ElementType::Float16 => 2,
            ElementType::Int8 => 1,
        };
        let is_as_expected = tensor.element == element as u64 && tensor.shape == shape;
        if !is_as_expected || tensor.bytes.len() != shape.iter().product::<usize>() * width {
            return Err(Error::invalid(format!("the model's {name} is not {element:?} {shape:?}")));
        }
        Ok(&self.map[tensor.bytes.clone()])
    }

    /// Returns a copy of a constant of 32-bit floats.
    pub fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (cells, _) = self.bytes(name, ElementType::Float32, shape)?.as_chunks::<4>();
        Ok(cells.iter().map(|cell| f32::from_le_bytes(*cell)).collect())
    }

    fn read(&mut self) -> Option<()> {
        let (mut producer, mut graph, mut tensors) = (String::new(), String::new(), HashMap::new());
        for field in Fields::of(&self.map, 0..self.map.len()) {
            match field? {
                (2, Value::Bytes(range)) => producer = self.text(range)?,
                (7, Value::Bytes(range)) => {
                    for field in Fields::of(&self.map, range) {
                        match field? {
                            (2, Value::Bytes(range)) => graph = self.text(range)?,
                            (5, Value::Bytes(range)) => {
                                let (name, tensor) = self.tensor(range)?;
                                tensors.insert(name, tensor);
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        (self.producer, self.graph, self.tensors) = (producer, graph, tensors);
        Some(())
    }

    fn tensor(&self, range: Range<usize>) -> Option<(String, Tensor)> {
        let mut name = String::new();
        let mut tensor = Tensor { shape: Vec::new(), element: 0, bytes: 0..0 };
        for field in Fields::of(&self.map, range) {
            match field? {
                (1, Value::Number(side)) => tensor.shape.push(usize::try_from(side).ok()?),
                (1, Value::Bytes(range)) => {
                    let mut at = range.start;
                    while at < range.end {
                        tensor.shape.push(usize::try_from(varint(&self.map[..range.end], &mut at)?).ok()?);
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
    /// Positions are those of the whole file.
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
            5 => self.skip(4)?,
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

    /// A file with the constants "a", `[2, 1]` floats, and "b", `[3]` signed bytes with a packed shape.
    fn small_model() -> Vec<u8> {
        let a =
            [vec![0x08, 2, 0x08, 1, 0x10, 1], field(8, b"a"), field(9, &[1.5f32, -2.0].map(f32::to_le_bytes).concat())];
        let b = [field(1, &[3]), vec![0x10, 3], field(8, b"b"), field(9, &[1, 2, 255])];
        let unknown = [vec![0x79, 0, 0, 0, 0, 0, 0, 0, 0], vec![0x7D, 0, 0, 0, 0]];
        let graph = [field(2, b"net"), field(5, &a.concat()), field(1, b"a node"), field(5, &b.concat())];
        [unknown.concat(), field(2, b"maker"), field(7, &graph.concat())].concat()
    }

    fn open(bytes: &[u8]) -> Result<OnnxTensors> {
        let folder = TempDir::new("onnx");
        let path = folder.path().join("model.onnx");
        std::fs::write(&path, bytes).expect("a file in a fresh folder");
        OnnxTensors::open(&path)
    }

    #[test]
    fn constants_are_found_by_name_type_and_shape() {
        let model = open(&small_model()).expect("a model");
        assert_eq!((model.producer(), model.graph()), ("maker", "net"));
        assert_eq!(model.floats("a", &[2, 1]), Ok(vec![1.5, -2.0]));
        assert_eq!(model.bytes("b", ElementType::Int8, &[3]), Ok([1u8, 2, 255].as_slice()));
        assert_eq!((model.shape("b"), model.shape("c")), (Some([3].as_slice()), None));
        for (name, shape) in [("a", vec![2]), ("a", vec![1, 2]), ("b", vec![3]), ("c", vec![1])] {
            assert!(matches!(model.floats(name, &shape), Err(Error::Invalid(_))), "{name} {shape:?}");
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
                let _ = (model.floats("a", &[2, 1]), model.bytes("b", ElementType::Int8, &[3]));
            }
        }
        assert!(matches!(open(b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Err(Error::Invalid(_))));
        assert!(matches!(OnnxTensors::open(Path::new("/nowhere/model.onnx")), Err(Error::Io(_))));
    }
}
