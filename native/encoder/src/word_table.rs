//! The embeddings of a model's vocabulary, read in place from the mapped model file, or from that of another model.

use std::ops::Range;

use half::f16;
use memmap2::Mmap;

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::onnx_file::{ElementType, OnnxFile};

/// Number of embedding components that share a scale in a table of 4-bit blocks.
const BLOCK: usize = 32;
/// Number of bytes of a block: component `i` is in the low half of byte `i`, component `i + BLOCK_BYTES` in the high
/// half.
const BLOCK_BYTES: usize = BLOCK / 2;
/// The 4-bit number that represents 0.
const NIBBLE_ZERO: f32 = 8.0;

/// Word embeddings, `[vocabulary, hidden]`. They stay in the file as they are, because the table of a multilingual
/// model would take 400 MB as floats.
#[derive(Debug, PartialEq, Eq)]
pub struct WordTable {
    pub vocabulary: usize,
    pub hidden: usize,
    rows: Rows,
}

/// Where the rows are in the file.
#[derive(Debug, PartialEq, Eq)]
enum Rows {
    /// 16-bit floats.
    Halves(Range<usize>),
    /// Blocks of 4-bit numbers, and a scale (16-bit float) for each block.
    Blocks { bytes: Range<usize>, scales: Range<usize> },
    /// Signed bytes, and a scale (16-bit float) for each row.
    Bytes { bytes: Range<usize>, scales: Range<usize> },
}

impl WordTable {
    /// Finds the table whose rows for `input_ids` are the value `words`. `file` has the table, under the names that the
    /// graph gives to its parts.
    pub fn read<'file>(graph: &Graph<'file>, words: &'file str, file: &OnnxFile) -> Result<Self> {
        const HALVES: &str = "Cast(Gather(?table, input_ids))";
        // The low half of a byte is what remains without the high half.
        const BLOCKS: &str = "Reshape(Mul(Sub(Concat(Sub(?byte:Cast(Gather(?bytes, input_ids)), \
                              Mul(?high:Floor(Mul(?byte, ?sixteenth)), ?sixteen)), ?high), ?eight), \
                              Cast(Gather(?scales, input_ids))), ?)";
        const BYTES: &str = "Mul(Cast(Gather(?bytes, input_ids)), Cast(Gather(?scales, input_ids)))";
        let (number, found) = graph.find_one(words, &[HALVES, BLOCKS, BYTES])?;
        if number == 0 {
            let table = found.value("table");
            let [vocabulary, hidden] = file.sides(table)?;
            let rows = Rows::Halves(file.range(table, ElementType::Float16, &[vocabulary, hidden])?);
            return Ok(WordTable { vocabulary, hidden, rows });
        }
        let [bytes, scales] = ["bytes", "scales"].map(|name| found.value(name));
        if number == 2 {
            let [vocabulary, hidden] = file.sides(bytes)?;
            let rows = Rows::Bytes {
                bytes: file.range(bytes, ElementType::Int8, &[vocabulary, hidden])?,
                scales: file.range(scales, ElementType::Float16, &[vocabulary, 1])?,
            };
            return Ok(WordTable { vocabulary, hidden, rows });
        }
        let shape = file.shape_of(bytes)?;
        let &[vocabulary, blocks, BLOCK_BYTES] = shape else {
            return Err(Error::invalid(format!(
                "the model's {bytes} is {shape:?}; only blocks of {BLOCK} are supported"
            )));
        };
        for (name, number) in [("sixteenth", 1.0 / 16.0), ("sixteen", 16.0), ("eight", NIBBLE_ZERO)] {
            graph.check_number(found.value(name), number)?;
        }
        let rows = Rows::Blocks {
            bytes: file.range(bytes, ElementType::UInt8, &[vocabulary, blocks, BLOCK_BYTES])?,
            scales: file.range(scales, ElementType::Float16, &[vocabulary, blocks, 1])?,
        };
        Ok(WordTable { vocabulary, hidden: blocks * BLOCK, rows })
    }

    /// Writes the embedding of a token (`[hidden]`). `id` must be below `vocabulary`.
    pub fn write_row(&self, map: &Mmap, id: usize, output: &mut [f32]) {
        match &self.rows {
            Rows::Halves(range) => {
                let (cells, _) = row(&map[range.clone()], id, self.hidden * size_of::<f16>()).as_chunks();
                output.iter_mut().zip(cells).for_each(|(output, cell)| *output = f16::from_le_bytes(*cell).to_f32());
            }
            Rows::Blocks { bytes, scales } => {
                let blocks = self.hidden / BLOCK;
                let (blocks_of_row, _) = row(&map[bytes.clone()], id, blocks * BLOCK_BYTES).as_chunks::<BLOCK_BYTES>();
                let (scales, _) = row(&map[scales.clone()], id, blocks * size_of::<f16>()).as_chunks();
                for ((output, block), scale) in output.chunks_exact_mut(BLOCK).zip(blocks_of_row).zip(scales) {
                    let scale = f16::from_le_bytes(*scale).to_f32();
                    let (low, high) = output.split_at_mut(BLOCK_BYTES);
                    for ((low, high), byte) in low.iter_mut().zip(high).zip(block) {
                        *low = (f32::from(byte & 15) - NIBBLE_ZERO) * scale;
                        *high = (f32::from(byte >> 4) - NIBBLE_ZERO) * scale;
                    }
                }
            }
            Rows::Bytes { bytes, scales } => {
                let (scales, _) = map[scales.clone()].as_chunks();
                let scale = f16::from_le_bytes(scales[id]).to_f32();
                let cells = row(&map[bytes.clone()], id, self.hidden);
                output.iter_mut().zip(cells).for_each(|(output, cell)| *output = f32::from(*cell as i8) * scale);
            }
        }
    }
}

fn row(table: &[u8], number: usize, bytes: usize) -> &[u8] {
    &table[number * bytes..][..bytes]
}
