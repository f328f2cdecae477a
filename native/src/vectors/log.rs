//! The vectors of a project on disk: an append-only log of checksummed records of equal size. `searcher` searches the
//! vectors. Of the embedding model, this file knows only the fingerprint, which must equal the one in the log.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use half::bf16;
use half::slice::HalfFloatSliceExt;

use crate::error::{Error, Result};
use crate::files::{set_aside, sync_directory};
use crate::vectors::little_endian::{u32_at, u64_at};

/// Name of the log in the folder of its vector set.
pub const LOG_FILE: &str = "vectors.log";
const MAGIC: &[u8; 8] = b"MNEMEVEC";
const FORMAT_VERSION: u32 = 1;
/// Size of the header, one disk sector: magic, version, dimensions, epoch, fingerprint length, fingerprint, zeros,
/// checksum.
const HEADER_BYTES: usize = 512;
/// Offset of the fingerprint in the header.
const FINGERPRINT_OFFSET: usize = 28;
/// Maximum length of a fingerprint in bytes. A SHA-256 in hex has 64 bytes.
pub const FINGERPRINT_BYTES_MAX: usize = HEADER_BYTES - FINGERPRINT_OFFSET - 4;
/// Maximum number of dimensions of a vector, which limits the size of a record. Embedding models in use have fewer.
pub const DIMENSIONS_MAX: usize = 4_096;

/// Chunk key in records whose vector was erased. No chunk has this key.
pub const ERASED_CHUNK: u64 = 0;

const TAG_PUT: u32 = 0x5055_5431;
const TAG_REMOVE: u32 = 0x4445_4C31;
/// Size in bytes of the tag, the chunk key and the memory key, which precede the vector in a record.
const RECORD_HEAD_BYTES: usize = 4 + 8 + 8;

/// One record of the log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Record<'vector> {
    /// Stores the vector of a chunk.
    Put {
        /// Key of the chunk.
        chunk_key: u64,
        /// Key of its memory.
        memory_key: u64,
        /// Unit vector `[dimensions]`, rounded to bf16.
        vector: &'vector [bf16],
    },
    /// A tombstone. It removes all vectors that the memory has in earlier records.
    Remove {
        /// Key of the memory.
        memory_key: u64,
    },
}

/// The damage that was found and repaired when the log was opened.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LogRepairs {
    /// Sentences for the operator; empty if nothing was damaged.
    pub sentences: Vec<String>,
    /// Number of records that were skipped because their checksum is wrong, although valid records follow them.
    pub damaged_records: u64,
}

/// The log, opened by the only writer, which appends records. Other threads read the log with a `VectorReader`.
#[derive(Debug)]
pub struct VectorLog {
    path: PathBuf,
    file: VectorReader,
    fingerprint: String,
    epoch: u64,
    records: u64,
    /// Whether the file may contain bytes of a failed append after the last record.
    has_unclean_tail: bool,
    /// Whether a compaction has renamed the file, but its folder is not synced yet.
    needs_directory_sync: bool,
}

/// Reads single vectors by record number. Clones share the open file. Any thread may use a reader.
#[derive(Debug, Clone)]
pub struct VectorReader {
    file: std::sync::Arc<File>,
    dimensions: usize,
}

impl VectorLog {
    /// Opens or creates the log and calls `visit(record number, record)` for each valid record in order.
    ///
    /// Damage is repaired and reported: an incomplete or damaged tail is cut off, and a damaged record before a valid
    /// one is skipped. If the header is damaged, the file is set aside as `<name>.damaged-<n>` and replaced by an empty
    /// log. If the header is valid but has another fingerprint or other dimensions, fails with `Invalid` and leaves the
    /// file unchanged.
    pub fn open(
        path: &Path,
        dimensions: usize,
        fingerprint: &str,
        mut visit: impl FnMut(u64, Record<'_>),
    ) -> Result<(VectorLog, LogRepairs)> {
        check_shape(dimensions, fingerprint)?;
        let mut repairs = LogRepairs::default();
        if let Some(header) = read_header(path)? {
            match header {
                Ok(header) => {
                    header.check_matches(dimensions, fingerprint, path)?;
                    let log = VectorLog::replay(path, header, &mut visit, &mut repairs)?;
                    return Ok((log, repairs));
                }
                Err(reason) => {
                    let aside = set_aside(path)?;
                    repairs.sentences.push(format!(
                        "the vector log {} has a damaged header ({reason}); it was set aside as {} and \
                         replaced by an empty one",
                        path.display(),
                        aside.display()
                    ));
                }
            }
        }
        let log = VectorLog::create(path, dimensions, fingerprint)?;
        Ok((log, repairs))
    }

    /// Number of records, including tombstones and damaged records. The next record gets this number.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Random number that the log got when it was created or compacted.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.file.offset_of(self.records)
    }

    /// A reader of the vectors of this log. After a compaction it still reads the old file.
    pub fn reader(&self) -> VectorReader {
        self.file.clone()
    }

    /// Appends records and waits until they are on disk (fdatasync). Returns the number of the first record. After an
    /// error (`NoSpace`, `Io`) the log is unchanged, and the call may be repeated.
    pub fn append(&mut self, records: &[Record<'_>]) -> Result<u64> {
        self.sync_directory_if_needed()?;
        if self.has_unclean_tail {
            self.truncate_tail().map_err(|cause| self.io_error("removing a failed append from", &cause))?;
        }
        let mut bytes = Vec::with_capacity(records.len() * self.file.record_bytes());
        for record in records {
            encode_record(record, self.file.dimensions, &mut bytes);
        }
        let offset = self.file.offset_of(self.records);
        let written = self.file.file.write_all_at(&bytes, offset).and_then(|()| self.file.file.sync_data());
        if let Err(cause) = written {
            // If removing the bytes fails as well, the flag is set, and the next append tries again before it writes.
            self.has_unclean_tail = self.truncate_tail().is_err();
            return Err(self.io_error("appending to", &cause));
        }
        let first = self.records;
        self.records += records.len() as u64;
        Ok(first)
    }

    /// Overwrites the vectors of records that store one with zeros, and their chunk keys with 0, durably. The number of
    /// records does not change. The records must be dead. A crash in between can leave a damaged record, which is
    /// reported when the log is opened, and does no harm.
    pub fn erase(&mut self, numbers: &[u64]) -> Result<()> {
        let zeros = vec![bf16::ZERO; self.file.dimensions];
        let (mut record, mut vector, mut bytes) = (vec![0; self.file.record_bytes()], Vec::new(), Vec::new());
        let mut erase_all = || -> io::Result<()> {
            for number in numbers {
                let offset = self.file.offset_of(*number);
                self.file.file.read_exact_at(&mut record, offset)?;
                if let Some(Record::Put { memory_key, .. }) = decode_record(&record, &mut vector) {
                    bytes.clear();
                    let erased = Record::Put { chunk_key: ERASED_CHUNK, memory_key, vector: &zeros };
                    encode_record(&erased, self.file.dimensions, &mut bytes);
                    self.file.file.write_all_at(&bytes, offset)?;
                }
            }
            self.file.file.sync_data()
        };
        erase_all().map_err(|cause| self.io_error("erasing records of", &cause))
    }

    /// Compacts the log: writes a new log with only the given records, in the given order, syncs it, and replaces this
    /// log by it. Record numbers begin at 0 again. Existing readers still read the old file. After
    /// an error this log is unchanged and stays in use.
    pub fn compact(&mut self, keep: impl Iterator<Item = u64>) -> Result<()> {
        let temporary = self.path.with_extension("compacting");
        let compacted =
            self.write_compacted(&temporary, keep).and_then(|log| fs::rename(&temporary, &self.path).map(|()| log));
        match compacted {
            Ok(log) => {
                // The renamed file is the log from now on, even if its folder cannot be synced. Then the next append
                // syncs the folder first, and fails if it cannot.
                *self = VectorLog { path: self.path.clone(), needs_directory_sync: true, ..log };
                // An error is ignored here, because the next append tries again.
                let _ = self.sync_directory_if_needed();
                Ok(())
            }
            Err(cause) => {
                // A file that cannot be removed only wastes space, and the next compaction overwrites it.
                let _ = fs::remove_file(&temporary);
                Err(self.io_error("compacting", &cause))
            }
        }
    }

    fn write_compacted(&self, path: &Path, keep: impl Iterator<Item = u64>) -> io::Result<VectorLog> {
        let header = Header::new(self.file.dimensions, &self.fingerprint);
        let file = open_for_writing(path, true)?;
        let mut writer = BufWriter::with_capacity(1 << 20, &file);
        writer.write_all(&header.encode())?;
        let mut record = vec![0; self.file.record_bytes()];
        let mut records = 0;
        for number in keep {
            self.file.file.read_exact_at(&mut record, self.file.offset_of(number))?;
            if decode_record(&record, &mut Vec::new()).is_none() {
                return Err(io::Error::other(format!("record {number} has a wrong checksum")));
            }
            writer.write_all(&record)?;
            records += 1;
        }
        writer.flush()?;
        drop(writer);
        file.sync_all()?;
        Ok(VectorLog::new(path, file, header, records))
    }

    fn create(path: &Path, dimensions: usize, fingerprint: &str) -> Result<VectorLog> {
        let header = Header::new(dimensions, fingerprint);
        let temporary = path.with_extension("creating");
        let written = open_for_writing(&temporary, true).and_then(|file| {
            file.write_all_at(&header.encode(), 0)?;
            file.sync_all()?;
            fs::rename(&temporary, path)?;
            sync_directory(path)?;
            Ok(file)
        });
        let file = written.map_err(|cause| Error::from_io(&format!("creating {}", path.display()), &cause))?;
        Ok(VectorLog::new(path, file, header, 0))
    }

    fn new(path: &Path, file: File, header: Header, records: u64) -> VectorLog {
        VectorLog {
            path: path.to_owned(),
            file: VectorReader { file: std::sync::Arc::new(file), dimensions: header.dimensions },
            fingerprint: header.fingerprint,
            epoch: header.epoch,
            records,
            has_unclean_tail: false,
            needs_directory_sync: false,
        }
    }

    /// Opens an existing log, visits its records and repairs its tail.
    fn replay(
        path: &Path,
        header: Header,
        visit: &mut impl FnMut(u64, Record<'_>),
        repairs: &mut LogRepairs,
    ) -> Result<VectorLog> {
        let opened = open_for_writing(path, false).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(|cause| Error::from_io(&format!("opening {}", path.display()), &cause))?;
        let mut log = VectorLog::new(path, file, header, 0);
        let record_count = (length - HEADER_BYTES as u64) / log.file.record_bytes() as u64;

        let (valid_end, mut damaged) =
            log.file.visit_records(record_count, visit).map_err(|cause| log.io_error("reading", &cause))?;

        // Damaged records at the end, with no valid record after them, belong to an append that a crash interrupted.
        damaged.retain(|number| *number < valid_end);
        log.records = valid_end;
        let tail_bytes = length - log.bytes();
        if tail_bytes > 0 {
            log.truncate_tail().map_err(|cause| log.io_error("truncating the damaged tail of", &cause))?;
            repairs.sentences.push(format!(
                "the vector log {} ended in {tail_bytes} bytes of an unfinished append; they were cut off",
                path.display()
            ));
        }
        if let Some(first) = damaged.first() {
            repairs.damaged_records = damaged.len() as u64;
            repairs.sentences.push(format!(
                "the vector log {} has {} damaged record(s), the first at number {first}; their vectors are missing",
                path.display(),
                damaged.len()
            ));
        }
        Ok(log)
    }

    /// Syncs the folder if a compaction has renamed the file, to make the renaming durable.
    fn sync_directory_if_needed(&mut self) -> Result<()> {
        if self.needs_directory_sync {
            sync_directory(&self.path).map_err(|cause| self.io_error("syncing the folder of", &cause))?;
            self.needs_directory_sync = false;
        }
        Ok(())
    }

    fn truncate_tail(&mut self) -> io::Result<()> {
        self.file.file.set_len(self.file.offset_of(self.records))?;
        self.file.file.sync_data()?;
        self.has_unclean_tail = false;
        Ok(())
    }

    fn io_error(&self, step: &str, cause: &io::Error) -> Error {
        Error::from_io(&format!("{step} the vector log {}", self.path.display()), cause)
    }
}

impl VectorReader {
    /// Reads the first `count` records of a file that was just opened, and calls `visit` for each valid one. Returns
    /// the number after the last valid record, and the numbers of the damaged records.
    fn visit_records(&self, count: u64, visit: &mut impl FnMut(u64, Record<'_>)) -> io::Result<(u64, Vec<u64>)> {
        let mut reader = BufReader::with_capacity(1 << 20, &*self.file);
        let (mut record, mut vector) = (vec![0; self.record_bytes()], Vec::new());
        let (mut valid_end, mut damaged) = (0, Vec::new());
        io::copy(&mut (&mut reader).take(HEADER_BYTES as u64), &mut io::sink())?;
        for number in 0..count {
            reader.read_exact(&mut record)?;
            match decode_record(&record, &mut vector) {
                Some(decoded) => {
                    visit(number, decoded);
                    valid_end = number + 1;
                }
                None => damaged.push(number),
            }
        }
        Ok((valid_end, damaged))
    }

    /// Reads the vector `[dimensions]` of a record that stores one into `vector`. Fails with `Damaged` if the checksum
    /// is wrong.
    pub fn read(&self, number: u64, vector: &mut Vec<bf16>) -> Result<()> {
        let mut record = vec![0; self.record_bytes()];
        self.file
            .read_exact_at(&mut record, self.offset_of(number))
            .map_err(|cause| Error::from_io("reading the vector log", &cause))?;
        match decode_record(&record, vector) {
            Some(Record::Put { .. }) => Ok(()),
            _ => Err(Error::Damaged(format!("record {number} of the vector log has a wrong checksum"))),
        }
    }

    fn record_bytes(&self) -> usize {
        RECORD_HEAD_BYTES + self.dimensions * 2 + 4
    }

    fn offset_of(&self, number: u64) -> u64 {
        HEADER_BYTES as u64 + number * self.record_bytes() as u64
    }
}

#[derive(Debug)]
struct Header {
    dimensions: usize,
    epoch: u64,
    fingerprint: String,
}

impl Header {
    fn new(dimensions: usize, fingerprint: &str) -> Header {
        Header { dimensions, epoch: random_number(), fingerprint: fingerprint.to_owned() }
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.dimensions as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[24..28].copy_from_slice(&(self.fingerprint.len() as u32).to_le_bytes());
        bytes[FINGERPRINT_OFFSET..FINGERPRINT_OFFSET + self.fingerprint.len()]
            .copy_from_slice(self.fingerprint.as_bytes());
        let checksum = crc32fast::hash(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Decodes a header. The error says what is wrong with the header.
    fn decode(bytes: &[u8; HEADER_BYTES]) -> std::result::Result<Header, String> {
        if u32_at(bytes, HEADER_BYTES - 4) != crc32fast::hash(&bytes[..HEADER_BYTES - 4]) {
            return Err("it has a wrong checksum".to_owned());
        }
        if &bytes[..8] != MAGIC {
            return Err("it is not a vector log".to_owned());
        }
        let version = u32_at(bytes, 8);
        if version != FORMAT_VERSION {
            return Err(format!("it has format {version}; this build reads format {FORMAT_VERSION}"));
        }
        let fingerprint = bytes.get(FINGERPRINT_OFFSET..FINGERPRINT_OFFSET + u32_at(bytes, 24) as usize);
        let fingerprint =
            fingerprint.and_then(|bytes| str::from_utf8(bytes).ok()).ok_or("its fingerprint is unreadable")?;
        Ok(Header {
            dimensions: u32_at(bytes, 12) as usize,
            epoch: u64_at(bytes, 16),
            fingerprint: fingerprint.to_owned(),
        })
    }

    /// Fails with `Invalid` unless the log was written with these dimensions and this model.
    fn check_matches(&self, dimensions: usize, fingerprint: &str, path: &Path) -> Result<()> {
        if self.dimensions == dimensions && self.fingerprint == fingerprint {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{} holds vectors of model {} with {} dimensions, but model {fingerprint} with \
             {dimensions} dimensions was requested",
            path.display(),
            self.fingerprint,
            self.dimensions
        )))
    }
}

/// Fails with `Invalid` if the file format cannot store these dimensions or this fingerprint.
fn check_shape(dimensions: usize, fingerprint: &str) -> Result<()> {
    if dimensions == 0 || dimensions > DIMENSIONS_MAX {
        return Err(Error::invalid(format!("vectors of {dimensions} dimensions; 1 to {DIMENSIONS_MAX} are supported")));
    }
    if fingerprint.is_empty() || fingerprint.len() > FINGERPRINT_BYTES_MAX {
        return Err(Error::invalid(format!(
            "a fingerprint of {} bytes; it must have 1 to {FINGERPRINT_BYTES_MAX}",
            fingerprint.len()
        )));
    }
    Ok(())
}

/// Reads the header of a log. Returns `None` if there is no file, and `Some(Err)` with the reason if the header is
/// damaged.
fn read_header(path: &Path) -> Result<Option<std::result::Result<Header, String>>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::from_io(&format!("opening {}", path.display()), &cause)),
    };
    let mut bytes = [0; HEADER_BYTES];
    match file.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(Header::decode(&bytes))),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(Err("it is truncated".to_owned()))),
        Err(cause) => Err(Error::from_io(&format!("reading {}", path.display()), &cause)),
    }
}

/// The fingerprint and dimensions of the vectors in a folder, and the size of their log in bytes. `None` if the folder
/// has no log with a valid header.
pub fn model_of_log(directory: &Path) -> Result<Option<(String, usize, u64)>> {
    let path = directory.join(LOG_FILE);
    let Some(Ok(header)) = read_header(&path)? else { return Ok(None) };
    let bytes = fs::metadata(&path).map_err(|cause| Error::from_io(&format!("reading {}", path.display()), &cause))?;
    Ok(Some((header.fingerprint, header.dimensions, bytes.len())))
}

/// A log for `damage_of_opened`. It keeps the file open, so that a log that is replaced meanwhile can still be read.
pub struct OpenedForCheck {
    /// `None` if the file is missing.
    file: Option<File>,
    /// The header, or what is wrong with it.
    header: std::result::Result<Header, String>,
    /// Number of records that the file must have; `None` if that is not known.
    records: Option<u64>,
}

/// Opens a log for `damage_of_opened`.
pub fn open_for_check(path: &Path, records: Option<u64>) -> Result<OpenedForCheck> {
    let header = read_header(path)?.unwrap_or_else(|| Err("it is missing".to_owned()));
    let file = match File::open(path) {
        Ok(file) => Some(file),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
        Err(cause) => return Err(Error::from_io(&format!("opening {}", path.display()), &cause)),
    };
    Ok(OpenedForCheck { file, header, records })
}

/// Reads a log and returns what is wrong with it; `None` if nothing is. `records` is the number of records that it must
/// have, if known.
pub fn damage_of(path: &Path, dimensions: usize, fingerprint: &str, records: Option<u64>) -> Result<Option<String>> {
    damage_of_opened(open_for_check(path, records)?, dimensions, fingerprint)
}

/// Reads an opened log of this model and returns what is wrong with it; `None` if nothing is.
pub fn damage_of_opened(opened: OpenedForCheck, dimensions: usize, fingerprint: &str) -> Result<Option<String>> {
    let OpenedForCheck { file, header, records } = opened;
    let (Some(file), Ok(header)) = (file, &header) else { return Ok(header.err()) };
    if header.dimensions != dimensions || header.fingerprint != fingerprint {
        return Ok(Some(format!("it has vectors of model {}", header.fingerprint)));
    }
    let io_error = |cause: io::Error| Error::from_io("checking a vector log", &cause);
    let length = file.metadata().map_err(io_error)?.len();
    let reader = VectorReader { file: std::sync::Arc::new(file), dimensions };
    let stored = length.saturating_sub(HEADER_BYTES as u64) / reader.record_bytes() as u64;
    let expected = records.unwrap_or(stored);
    if stored < expected {
        return Ok(Some(format!("it ends after {stored} of {expected} records")));
    }
    let (_, damaged) = reader.visit_records(expected, &mut |_, _| ()).map_err(io_error)?;
    let first = damaged.first();
    Ok(first.map(|first| format!("it has {} damaged record(s), the first at number {first}", damaged.len())))
}

fn open_for_writing(path: &Path, is_new: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(is_new).truncate(is_new).open(path)
}

/// Encodes a record with its checksum and appends it to `bytes`.
fn encode_record(record: &Record<'_>, dimensions: usize, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    let (tag, chunk_key, memory_key, vector) = match record {
        Record::Put { chunk_key, memory_key, vector } => (TAG_PUT, *chunk_key, *memory_key, *vector),
        Record::Remove { memory_key } => (TAG_REMOVE, 0, *memory_key, &[] as &[bf16]),
    };
    bytes.extend_from_slice(&tag.to_le_bytes());
    bytes.extend_from_slice(&chunk_key.to_le_bytes());
    bytes.extend_from_slice(&memory_key.to_le_bytes());
    vector.iter().for_each(|component| bytes.extend_from_slice(&component.to_le_bytes()));
    bytes.resize(start + RECORD_HEAD_BYTES + dimensions * 2, 0);
    let checksum = crc32fast::hash(&bytes[start..]);
    bytes.extend_from_slice(&checksum.to_le_bytes());
}

/// Decodes a record and stores its vector in `vector`. Returns `None` if the checksum or the tag is wrong.
fn decode_record<'vector>(bytes: &[u8], vector: &'vector mut Vec<bf16>) -> Option<Record<'vector>> {
    let (body, checksum) = bytes.split_at(bytes.len() - 4);
    if crc32fast::hash(body) != u32_at(checksum, 0) {
        return None;
    }
    let (chunk_key, memory_key) = (u64_at(body, 4), u64_at(body, 12));
    match u32_at(body, 0) {
        TAG_PUT => {
            vector.clear();
            vector
                .extend(body[RECORD_HEAD_BYTES..].chunks_exact(2).map(|pair| bf16::from_le_bytes([pair[0], pair[1]])));
            Some(Record::Put { chunk_key, memory_key, vector })
        }
        TAG_REMOVE => Some(Record::Remove { memory_key }),
        _ => None,
    }
}

/// Rounds `[n]` floats to bf16.
pub fn to_bf16(vector: &[f32]) -> Vec<bf16> {
    let mut rounded = vec![bf16::ZERO; vector.len()];
    rounded.convert_from_f32_slice(vector);
    rounded
}

fn random_number() -> u64 {
    // Uses the random seed that the standard library gives the hasher of a map, to avoid a dependency on a random
    // number crate.
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::{Chance, TempDir};

    const DIMENSIONS: usize = 5;
    const STRIDE: usize = RECORD_HEAD_BYTES + DIMENSIONS * 2 + 4;

    /// Like `Record`, but owns its vector.
    #[derive(Debug, Clone, PartialEq)]
    enum Entry {
        Put(u64, u64, Vec<bf16>),
        Remove(u64),
    }

    impl Entry {
        fn random(chance: &mut Chance) -> Entry {
            match chance.below(4) {
                0 => Entry::Remove(chance.bits()),
                _ => Entry::Put(chance.bits(), chance.bits(), to_bf16(&chance.unit_vector(DIMENSIONS))),
            }
        }

        fn record(&self) -> Record<'_> {
            match self {
                Entry::Put(chunk_key, memory_key, vector) => {
                    Record::Put { chunk_key: *chunk_key, memory_key: *memory_key, vector }
                }
                Entry::Remove(memory_key) => Record::Remove { memory_key: *memory_key },
            }
        }
    }

    type Replay = (VectorLog, Vec<(u64, Entry)>, LogRepairs);

    fn open(path: &Path) -> Result<Replay> {
        let mut seen = Vec::new();
        let (log, repairs) = VectorLog::open(path, DIMENSIONS, "model-a", |number, record| {
            let entry = match record {
                Record::Put { chunk_key, memory_key, vector } => Entry::Put(chunk_key, memory_key, vector.to_vec()),
                Record::Remove { memory_key } => Entry::Remove(memory_key),
            };
            seen.push((number, entry));
        })?;
        Ok((log, seen, repairs))
    }

    fn append(log: &mut VectorLog, entries: &[Entry]) {
        log.append(&entries.iter().map(Entry::record).collect::<Vec<_>>()).expect("room on the disk");
    }

    /// Writes a log of `count` random entries and closes it. Returns the entries.
    fn written(path: &Path, count: usize, chance: &mut Chance) -> Vec<Entry> {
        let entries: Vec<Entry> = (0..count).map(|_| Entry::random(chance)).collect();
        let (mut log, _, _) = open(path).expect("a new log");
        entries.chunks(3).for_each(|round| append(&mut log, round));
        entries
    }

    fn numbered(entries: &[Entry]) -> Vec<(u64, Entry)> {
        (0..).zip(entries.iter().cloned()).collect()
    }

    #[test]
    fn appended_records_are_replayed_in_order() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let mut entries = written(&path, 20, &mut chance);
        for _ in 0..3 {
            let (mut log, seen, repairs) = open(&path).expect("an undamaged log");
            assert_eq!((seen, repairs), (numbered(&entries), LogRepairs::default()));
            let more = Entry::random(&mut chance);
            append(&mut log, std::slice::from_ref(&more));
            entries.push(more);
        }
    }

    #[test]
    fn a_log_truncated_at_any_byte_keeps_its_complete_records_and_accepts_new_ones() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let entries = written(&path, 6, &mut chance);
        let bytes = fs::read(&path).expect("readable");
        for length in HEADER_BYTES..bytes.len() {
            fs::write(&path, &bytes[..length]).expect("writable");
            let complete = (length - HEADER_BYTES) / STRIDE;
            let (mut log, seen, repairs) = open(&path).expect("a truncated log opens");
            assert_eq!(seen, numbered(&entries[..complete]), "truncated at {length}");
            let is_incomplete = !(length - HEADER_BYTES).is_multiple_of(STRIDE);
            assert_eq!(repairs.sentences.len(), usize::from(is_incomplete), "truncated at {length}");
            append(&mut log, &entries[5..]);
            let mut expected = entries[..complete].to_vec();
            expected.push(entries[5].clone());
            let (_, seen, repairs) = open(&path).expect("a repaired log opens");
            assert_eq!((seen, repairs), (numbered(&expected), LogRepairs::default()), "truncated at {length}");
        }
    }

    #[test]
    fn a_flipped_bit_loses_only_its_record_and_is_reported() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let entries = written(&path, 5, &mut chance);
        let bytes = fs::read(&path).expect("readable");
        for at in HEADER_BYTES..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << chance.below(8);
            fs::write(&path, &flipped).expect("writable");
            let victim = (at - HEADER_BYTES) / STRIDE;
            let mut expected = numbered(&entries);
            expected.remove(victim);
            let (log, seen, repairs) = open(&path).expect("a damaged log opens");
            assert_eq!(seen, expected, "flipped at {at}");
            assert_eq!(repairs.sentences.len(), 1);
            // A damaged last record cannot be distinguished from an unfinished append.
            let is_last = victim == 4;
            assert_eq!(repairs.damaged_records, u64::from(!is_last));
            assert_eq!(log.records(), if is_last { 4 } else { 5 });
        }
    }

    #[test]
    fn a_log_with_a_damaged_header_is_set_aside_and_replaced() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        written(&path, 5, &mut chance);
        let bytes = fs::read(&path).expect("readable");
        for (round, at) in [0, 8, 12, 16, 24, 30, HEADER_BYTES - 1].into_iter().enumerate() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << chance.below(8);
            fs::write(&path, &flipped).expect("writable");
            let (log, seen, repairs) = open(&path).expect("a new log");
            assert_eq!((log.records(), seen.len(), repairs.sentences.len()), (0, 0, 1), "flipped at {at}");
            let aside = directory.path().join(format!("log.damaged-{}", round + 1));
            assert_eq!(fs::read(aside).expect("kept"), flipped);
        }
        fs::write(&path, &bytes[..100]).expect("writable");
        let (_, _, repairs) = open(&path).expect("a new log");
        assert!(repairs.sentences[0].contains("truncated"), "{:?}", repairs.sentences);
    }

    #[test]
    fn another_model_is_refused_by_name_and_the_file_stays_unchanged() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        written(&path, 2, &mut chance);
        let before = fs::read(&path).expect("readable");
        for (dimensions, fingerprint) in [(DIMENSIONS, "model-b"), (DIMENSIONS + 1, "model-a")] {
            let error = VectorLog::open(&path, dimensions, fingerprint, |_, _| ()).expect_err("refused");
            assert_eq!(error.code(), "invalid");
            let text = error.to_string();
            assert!(text.contains("model-a") && text.contains(fingerprint), "{text}");
            assert!(text.contains(&dimensions.to_string()), "{text}");
        }
        assert_eq!(fs::read(&path).expect("readable"), before);
    }

    #[test]
    fn dimensions_and_fingerprints_are_refused_just_beyond_their_limits() {
        let directory = TempDir::new("log");
        let try_open = |dimensions: usize, fingerprint: &str| {
            let path = directory.path().join(format!("{dimensions}-{}", fingerprint.len()));
            VectorLog::open(&path, dimensions, fingerprint, |_, _| ()).map(|_| ()).map_err(|error| error.code())
        };
        let longest = "f".repeat(FINGERPRINT_BYTES_MAX);
        assert_eq!(try_open(1, "f"), Ok(()));
        assert_eq!(try_open(DIMENSIONS_MAX, &longest), Ok(()));
        assert_eq!(try_open(0, "f"), Err("invalid"));
        assert_eq!(try_open(DIMENSIONS_MAX + 1, "f"), Err("invalid"));
        assert_eq!(try_open(1, ""), Err("invalid"));
        assert_eq!(try_open(1, &format!("{longest}f")), Err("invalid"));
    }

    #[test]
    fn compaction_keeps_only_the_given_records_under_new_numbers() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let entries = written(&path, 10, &mut chance);
        let (mut log, _, _) = open(&path).expect("an undamaged log");
        let old_reader = log.reader();
        log.compact([1, 4, 7].into_iter()).expect("room on the disk");
        let mut expected: Vec<Entry> = [1, 4, 7].map(|at: usize| entries[at].clone()).to_vec();
        let more = Entry::random(&mut chance);
        append(&mut log, std::slice::from_ref(&more));
        expected.push(more);
        assert_eq!(open(&path).expect("undamaged").1, numbered(&expected));
        for (number, entry) in numbered(&entries) {
            let mut vector = Vec::new();
            if let Entry::Put(_, _, stored) = entry {
                old_reader.read(number, &mut vector).expect("the old file exists for its readers");
                assert_eq!(vector, stored);
            }
        }
    }

    #[test]
    fn erased_records_keep_their_place_and_their_vectors_are_gone_from_the_file() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let (mut log, _, _) = open(&path).expect("a new log");
        let vectors: Vec<Vec<bf16>> = (0..3).map(|_| to_bf16(&chance.unit_vector(DIMENSIONS))).collect();
        let entries: Vec<Entry> = (1..).zip(&vectors).map(|(key, v)| Entry::Put(key, 7, v.clone())).collect();
        append(&mut log, &entries);
        append(&mut log, &[Entry::Remove(7)]);
        log.erase(&[0, 2, 3]).expect("erased");
        drop(log);
        let (_, seen, repairs) = open(&path).expect("undamaged");
        assert!(repairs.sentences.is_empty(), "{:?}", repairs.sentences);
        let erased = || Entry::Put(ERASED_CHUNK, 7, vec![bf16::ZERO; DIMENSIONS]);
        let expected = [erased(), entries[1].clone(), erased(), Entry::Remove(7)];
        assert_eq!(seen, numbered(&expected));
        let bytes = fs::read(&path).expect("readable");
        for (at, vector) in vectors.iter().enumerate() {
            let stored: Vec<u8> = vector.iter().flat_map(|component| component.to_le_bytes()).collect();
            assert_eq!(memchr::memmem::find(&bytes, &stored).is_some(), at == 1);
        }
    }

    #[test]
    fn a_failed_compaction_leaves_the_log_usable() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let mut entries = written(&path, 4, &mut chance);
        let (mut log, _, _) = open(&path).expect("an undamaged log");
        assert!(log.compact([0, 99].into_iter()).is_err());
        let more = Entry::random(&mut chance);
        append(&mut log, std::slice::from_ref(&more));
        entries.push(more);
        assert_eq!(open(&path).expect("undamaged").1, numbered(&entries));
        assert_eq!(fs::read_dir(directory.path()).expect("listable").count(), 1, "no other files");
    }
}
