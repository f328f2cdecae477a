//! Saves and loads the graph. It is derived from the vector log, so the file names the log and how much of it the graph
//! contains. If the file does not match the log or is damaged, it is not used, and the graph is built again. The file
//! is read instead of mapped, so that a disk error is an error of this call and does not end the process.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::files::sync_directory;
use crate::vectors::graph::hnsw::{Graph, LAYERS_MAX, degree_of};
use crate::vectors::graph::layers::NO_SLOT;
use crate::vectors::little_endian::{u32_at, u64_at};

/// Name of the file in the folder of its vector set.
pub const GRAPH_FILE: &str = "vectors.hnsw";
const MAGIC: &[u8; 8] = b"MNEMEHNS";
const FORMAT_VERSION: u32 = 1;
/// Size of the header: magic, version, dimensions, log epoch, number of the last record, entry, slots of each layer,
/// checksum.
const HEADER_BYTES: usize = 8 + 4 + 4 + 8 + 8 + 8 + 4 * LAYERS_MAX + 4;

/// Which part of which log a graph belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPart {
    /// Number of components of a vector.
    pub dimensions: u32,
    /// Number that the log got when it was created or compacted.
    pub epoch: u64,
    /// Number of the record with the vector of the last row of the graph.
    pub last_record: u64,
}

struct Header {
    part: LogPart,
    entry: u64,
    lengths: [u32; LAYERS_MAX],
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(FORMAT_VERSION.to_le_bytes());
        bytes.extend(self.part.dimensions.to_le_bytes());
        bytes.extend(self.part.epoch.to_le_bytes());
        bytes.extend(self.part.last_record.to_le_bytes());
        bytes.extend(self.entry.to_le_bytes());
        self.lengths.iter().for_each(|length| bytes.extend(length.to_le_bytes()));
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// Decodes a header. The error says what is wrong with it.
    fn decode(bytes: &[u8; HEADER_BYTES]) -> std::result::Result<Header, String> {
        if u32_at(bytes, HEADER_BYTES - 4) != crc32fast::hash(&bytes[..HEADER_BYTES - 4]) {
            return Err("its header has a wrong checksum".to_owned());
        }
        if !bytes.starts_with(MAGIC) || u32_at(bytes, 8) != FORMAT_VERSION {
            return Err(format!("it is no graph of format {FORMAT_VERSION}"));
        }
        let part = LogPart { dimensions: u32_at(bytes, 12), epoch: u64_at(bytes, 16), last_record: u64_at(bytes, 24) };
        let lengths = std::array::from_fn(|layer| u32_at(bytes, 40 + 4 * layer));
        Ok(Header { part, entry: u64_at(bytes, 32), lengths })
    }

    fn file_bytes(&self) -> u64 {
        let layers = self.lengths.iter().enumerate();
        let slots = layers.map(|(layer, length)| u64::from(*length) * slot_bytes(layer) as u64);
        HEADER_BYTES as u64 + slots.sum::<u64>() + 4
    }
}

/// Size of a slot in the file, in bytes: its links, and above the base layer also its row and the slot below.
fn slot_bytes(layer: usize) -> usize {
    4 * (degree_of(layer) + if layer == 0 { 0 } else { 2 })
}

/// Writes a graph, durably, and replaces an older file by it. Returns its size in bytes. The graph must not change
/// meanwhile. After an error or a crash, the file is the older one or the whole new one.
pub fn save(graph: &Graph, path: &Path, part: LogPart) -> Result<u64> {
    let temporary = path.with_extension("saving");
    let written = write(graph, &temporary, part)
        .and_then(|bytes| fs::rename(&temporary, path).map(|()| bytes))
        .and_then(|bytes| sync_directory(path).map(|()| bytes));
    written.map_err(|cause| {
        // A file that cannot be removed only wastes space, and the next attempt overwrites it.
        let _ = fs::remove_file(&temporary);
        Error::from_io(&format!("saving {}", path.display()), &cause)
    })
}

fn write(graph: &Graph, path: &Path, part: LogPart) -> io::Result<u64> {
    let lengths = std::array::from_fn(|layer| graph.layers[layer].len());
    let header = Header { part, entry: graph.raw_entry(), lengths };
    let file = File::create(path)?;
    let mut writer = BufWriter::with_capacity(1 << 20, &file);
    writer.write_all(&header.encode())?;
    let (mut checksum, mut slot_data) = (crc32fast::Hasher::new(), Vec::new());
    for (at, layer) in graph.layers.iter().enumerate() {
        let view = layer.view();
        for slot in 0..lengths[at] {
            slot_data.clear();
            view.links(slot).for_each(|link| slot_data.extend(link.to_le_bytes()));
            slot_data.resize(4 * degree_of(at), 0xff);
            if at > 0 {
                slot_data.extend(view.row(slot).to_le_bytes());
                slot_data.extend(view.below(slot).to_le_bytes());
            }
            checksum.update(&slot_data);
            writer.write_all(&slot_data)?;
        }
    }
    writer.write_all(&checksum.finalize().to_le_bytes())?;
    writer.flush()?;
    drop(writer);
    file.sync_all()?;
    Ok(header.file_bytes())
}

/// Reads a graph. `part_of` returns the part of the log to which that many rows belong; `None` if the log has fewer.
/// Returns `None` if there is no file, and an inner error with the reason if the file cannot be used.
pub fn load(
    path: &Path,
    part_of: impl FnOnce(u32) -> Option<LogPart>,
) -> Result<Option<std::result::Result<Graph, String>>> {
    let failed = |cause: io::Error| Error::from_io(&format!("reading {}", path.display()), &cause);
    let Some((header, mut reader)) = open(path)? else { return Ok(None) };
    let header = match header {
        Ok(header) if part_of(header.lengths[0]) == Some(header.part) => header,
        Ok(_) => return Ok(Some(Err("it belongs to another state of the vector log".to_owned()))),
        Err(reason) => return Ok(Some(Err(reason))),
    };
    let graph = Graph::default();
    let mut checksum = crc32fast::Hasher::new();
    let mut links = Vec::new();
    for (at, length) in header.lengths.into_iter().enumerate() {
        let (layer, rows) = (&graph.layers[at], header.lengths[0]);
        let mut slot_data = vec![0; slot_bytes(at)];
        for slot in 0..length {
            reader.read_exact(&mut slot_data).map_err(failed)?;
            checksum.update(&slot_data);
            let number = |index: usize| u32_at(&slot_data, 4 * index);
            links.clear();
            links.extend((0..degree_of(at)).map(number).take_while(|link| *link != NO_SLOT));
            let (row, below) = if at == 0 {
                (slot, NO_SLOT)
            } else {
                let lower = graph.layers[at - 1].view();
                let (row, below) = (number(degree_of(at)), number(degree_of(at) + 1));
                if below >= graph.layers[at - 1].len() || row >= rows || lower.row(below) != row {
                    return Ok(Some(Err("a slot has no place in the layer below".to_owned())));
                }
                (row, below)
            };
            if links.iter().any(|link| *link >= length) {
                return Ok(Some(Err("a link leads out of its layer".to_owned())));
            }
            let slot = layer.push(row, below);
            layer.view().set_links(slot, &links);
        }
    }
    let mut stored = [0; 4];
    reader.read_exact(&mut stored).map_err(failed)?;
    if u32_at(&stored, 0) != checksum.finalize() {
        return Ok(Some(Err("it has a wrong checksum".to_owned())));
    }
    match header.entry {
        u64::MAX => {}
        entry => {
            let (layer, slot) = ((entry >> 32) as usize, entry as u32);
            if graph.layers.get(layer).is_none_or(|layer| slot >= layer.len()) {
                return Ok(Some(Err("it begins at a slot that does not exist".to_owned())));
            }
            graph.set_entry(layer, slot);
        }
    }
    Ok(Some(Ok(graph)))
}

/// Reads a file and returns what is wrong with it. `None` if nothing is, or if the file is missing, because then the
/// graph is built again.
pub fn damage_of(path: &Path) -> Result<Option<String>> {
    let failed = |cause: io::Error| Error::from_io(&format!("reading {}", path.display()), &cause);
    let Some((header, mut reader)) = open(path)? else { return Ok(None) };
    let header = match header {
        Ok(header) => header,
        Err(reason) => return Ok(Some(reason)),
    };
    let (mut left, mut checksum) = (header.file_bytes() - HEADER_BYTES as u64 - 4, crc32fast::Hasher::new());
    let mut part = vec![0; 1 << 20];
    while left > 0 {
        let part = &mut part[..left.min(1 << 20) as usize];
        reader.read_exact(part).map_err(failed)?;
        checksum.update(part);
        left -= part.len() as u64;
    }
    let mut stored = [0; 4];
    reader.read_exact(&mut stored).map_err(failed)?;
    Ok((u32_at(&stored, 0) != checksum.finalize()).then(|| "it has a wrong checksum".to_owned()))
}

type Opened = (std::result::Result<Header, String>, BufReader<File>);

/// Opens a file and reads its header. Returns `None` if there is no file.
fn open(path: &Path) -> Result<Option<Opened>> {
    let failed = |cause: io::Error| Error::from_io(&format!("reading {}", path.display()), &cause);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    let length = file.metadata().map_err(failed)?.len();
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut bytes = [0; HEADER_BYTES];
    let header = if length < HEADER_BYTES as u64 {
        Err("it is truncated".to_owned())
    } else {
        reader.read_exact(&mut bytes).map_err(failed)?;
        let is_whole = |header: &Header| header.file_bytes() == length;
        Header::decode(&bytes)
            .and_then(|header| if is_whole(&header) { Ok(header) } else { Err("it has a wrong length".to_owned()) })
    };
    Ok(Some((header, reader)))
}
