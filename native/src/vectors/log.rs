//! How vectors are kept on disk: an append-only file of checksummed records of one size.
//! Searching them in memory is `vectors::index`' affair; which model made them is only compared here, by fingerprint.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use half::bf16;
use half::slice::HalfFloatSliceExt;

use crate::error::{Error, Result};
use crate::files::{set_aside, sync_directory};

const MAGIC: &[u8; 8] = b"MNEMEVEC";
const FORMAT_VERSION: u32 = 1;
/// Magic, version, dimensions, epoch, fingerprint length, fingerprint, zeros, checksum: one disk sector.
const HEADER_BYTES: usize = 512;
const FINGERPRINT_AT: usize = 28;
/// What a fingerprint may be long; a SHA-256 in hex has 64.
pub const FINGERPRINT_BYTES_MAX: usize = HEADER_BYTES - FINGERPRINT_AT - 4;
/// Limit of the record size: 4,096 dimensions are more than any embedding model in use has.
pub const DIMENSIONS_MAX: usize = 4_096;

const TAG_PUT: u32 = 0x5055_5431;
const TAG_REMOVE: u32 = 0x4445_4C31;
/// Tag, chunk key, memory key before the vector.
const RECORD_HEAD_BYTES: usize = 4 + 8 + 8;

/// One entry of the log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Record<'vector> {
    /// A chunk's vector, `[dimensions]`, of a memory.
    Put {
        /// The chunk.
        chunk_key: u64,
        /// The memory it belongs to.
        memory_key: u64,
        /// Its unit vector, rounded to bf16.
        vector: &'vector [bf16],
    },
    /// All vectors that the memory had before this entry are gone.
    Remove {
        /// The memory.
        memory_key: u64,
    },
}

/// What opening found and mended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LogRepairs {
    /// Sentences for the operator; empty when all was well.
    pub sentences: Vec<String>,
    /// Records that were skipped for a wrong checksum with sound ones after them.
    pub damaged_records: u64,
}

/// The log, open for appending. One writer; readers use `VectorReader`.
#[derive(Debug)]
pub struct VectorLog {
    path: PathBuf,
    file: VectorReader,
    fingerprint: String,
    epoch: u64,
    records: u64,
    /// Set while bytes of a failed append may lie behind the last record.
    has_unclean_tail: bool,
    /// A compaction renamed the file, and the folder was not synced yet.
    has_unsafe_name: bool,
}

/// Reads single vectors by record number, from any thread.
#[derive(Debug, Clone)]
pub struct VectorReader {
    file: std::sync::Arc<File>,
    dimensions: usize,
}

impl VectorLog {
    /// Opens or creates the log and calls `visit(record number, record)` for each sound record in order.
    ///
    /// A torn or unreadable tail is cut off, a damaged record before a sound one is skipped, a damaged header sets the
    /// whole file aside as `<name>.damaged-<n>` and starts a new one; each is told in the repairs. A sound header of
    /// another fingerprint or other dimensions is `Invalid` and nothing is touched.
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
                    header.must_match(dimensions, fingerprint, path)?;
                    let log = VectorLog::replay(path, header, &mut visit, &mut repairs)?;
                    return Ok((log, repairs));
                }
                Err(reason) => {
                    let aside = set_aside(path)?;
                    repairs.sentences.push(format!(
                        "the vector log {} has a damaged header ({reason}); it was set aside as {} and an empty one begun",
                        path.display(),
                        aside.display()
                    ));
                }
            }
        }
        let log = VectorLog::create(path, dimensions, fingerprint)?;
        Ok((log, repairs))
    }

    /// How many records there are, removals and damaged ones included; the number the next record will get.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// A random number that changes whenever records are renumbered (a new or compacted log).
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.file.offset_of(self.records)
    }

    /// A reader of this log's vectors.
    pub fn reader(&self) -> VectorReader {
        self.file.clone()
    }

    /// Writes records behind the last one and waits until the disk has them (fdatasync). Returns the number of the
    /// first. On an error (`NoSpace`, `Io`) the log is as before, and the call may be repeated.
    pub fn append(&mut self, records: &[Record<'_>]) -> Result<u64> {
        self.make_name_safe()?;
        if self.has_unclean_tail {
            self.cut_tail().map_err(|cause| self.io_error("cutting a failed append from", &cause))?;
        }
        let mut bytes = Vec::with_capacity(records.len() * self.file.record_bytes());
        for record in records {
            encode(record, self.file.dimensions, &mut bytes);
        }
        let offset = self.file.offset_of(self.records);
        let written = self.file.file.write_all_at(&bytes, offset).and_then(|()| self.file.file.sync_data());
        if let Err(cause) = written {
            // If the cut fails as well, the flag stays and the next append tries again before it writes.
            self.has_unclean_tail = self.cut_tail().is_err();
            return Err(self.io_error("appending to", &cause));
        }
        let first = self.records;
        self.records += records.len() as u64;
        Ok(first)
    }

    /// Writes a log that holds only the given records, in that order, beside this one, syncs it and puts it in this
    /// one's place. Record numbers begin at 0 again, under a new epoch. Readers of the old file keep it until they end.
    /// On an error this log stays in use, unharmed.
    pub fn compact(&mut self, keep: impl Iterator<Item = u64>) -> Result<()> {
        let beside = self.path.with_extension("compacting");
        let compacted =
            self.write_compacted(&beside, keep).and_then(|log| fs::rename(&beside, &self.path).map(|()| log));
        match compacted {
            Ok(log) => {
                // From the renaming on the new file is the log, whatever becomes of the folder: what is appended to it
                // is acknowledged only with its name safe on the disk.
                *self = VectorLog { path: self.path.clone(), has_unsafe_name: true, ..log };
                let _ = self.make_name_safe(); // appending tries again
                Ok(())
            }
            Err(cause) => {
                // The half-written file only wastes space, and the next compaction overwrites it.
                let _ = fs::remove_file(&beside);
                Err(self.io_error("compacting", &cause))
            }
        }
    }

    fn write_compacted(&self, beside: &Path, keep: impl Iterator<Item = u64>) -> io::Result<VectorLog> {
        let header = Header::new(self.file.dimensions, &self.fingerprint);
        let file = open_for_writing(beside, true)?;
        let mut writer = BufWriter::with_capacity(1 << 20, &file);
        writer.write_all(&header.encode())?;
        let mut record = vec![0; self.file.record_bytes()];
        let mut records = 0;
        for number in keep {
            self.file.file.read_exact_at(&mut record, self.file.offset_of(number))?;
            if decode(&record, &mut Vec::new()).is_none() {
                return Err(io::Error::other(format!("record {number} no longer has its checksum")));
            }
            writer.write_all(&record)?;
            records += 1;
        }
        writer.flush()?;
        drop(writer);
        file.sync_all()?;
        Ok(VectorLog::of(beside, file, header, records))
    }

    fn create(path: &Path, dimensions: usize, fingerprint: &str) -> Result<VectorLog> {
        let header = Header::new(dimensions, fingerprint);
        let beside = path.with_extension("creating");
        let written = open_for_writing(&beside, true).and_then(|file| {
            file.write_all_at(&header.encode(), 0)?;
            file.sync_all()?;
            fs::rename(&beside, path)?;
            sync_directory(path)?;
            Ok(file)
        });
        let file = written.map_err(|cause| Error::from_io(&format!("creating {}", path.display()), &cause))?;
        Ok(VectorLog::of(path, file, header, 0))
    }

    fn of(path: &Path, file: File, header: Header, records: u64) -> VectorLog {
        VectorLog {
            path: path.to_owned(),
            file: VectorReader { file: std::sync::Arc::new(file), dimensions: header.dimensions },
            fingerprint: header.fingerprint,
            epoch: header.epoch,
            records,
            has_unclean_tail: false,
            has_unsafe_name: false,
        }
    }

    fn replay(
        path: &Path,
        header: Header,
        visit: &mut impl FnMut(u64, Record<'_>),
        repairs: &mut LogRepairs,
    ) -> Result<VectorLog> {
        let opened = open_for_writing(path, false).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(|cause| Error::from_io(&format!("opening {}", path.display()), &cause))?;
        let mut log = VectorLog::of(path, file, header, 0);
        let whole = (length - HEADER_BYTES as u64) / log.file.record_bytes() as u64;

        let mut reader = BufReader::with_capacity(1 << 20, &*log.file.file);
        let (mut record, mut vector) = (vec![0; log.file.record_bytes()], Vec::new());
        let (mut damaged, mut sound_end) = (Vec::new(), 0);
        let read = io::copy(&mut (&mut reader).take(HEADER_BYTES as u64), &mut io::sink()).and_then(|_| {
            for number in 0..whole {
                reader.read_exact(&mut record)?;
                match decode(&record, &mut vector) {
                    Some(decoded) => {
                        visit(number, decoded);
                        sound_end = number + 1;
                    }
                    None => damaged.push(number),
                }
            }
            Ok(())
        });
        read.map_err(|cause| log.io_error("reading", &cause))?;

        // Damage with nothing sound behind it is the tail of an append that the machine did not live to finish.
        damaged.retain(|number| *number < sound_end);
        log.records = sound_end;
        let tail_bytes = length - log.bytes();
        if tail_bytes > 0 {
            log.cut_tail().map_err(|cause| log.io_error("cutting the torn tail of", &cause))?;
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

    fn make_name_safe(&mut self) -> Result<()> {
        if self.has_unsafe_name {
            sync_directory(&self.path).map_err(|cause| self.io_error("syncing the folder of", &cause))?;
            self.has_unsafe_name = false;
        }
        Ok(())
    }

    fn cut_tail(&mut self) -> io::Result<()> {
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
    /// Reads the vector of a put record into `vector`, `[dimensions]`. `Damaged` when its checksum no longer holds.
    pub fn read(&self, number: u64, vector: &mut Vec<bf16>) -> Result<()> {
        let mut record = vec![0; self.record_bytes()];
        self.file
            .read_exact_at(&mut record, self.offset_of(number))
            .map_err(|cause| Error::from_io("reading the vector log", &cause))?;
        match decode(&record, vector) {
            Some(Record::Put { .. }) => Ok(()),
            _ => Err(Error::Damaged(format!("record {number} of the vector log no longer has its checksum"))),
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
        bytes[FINGERPRINT_AT..FINGERPRINT_AT + self.fingerprint.len()].copy_from_slice(self.fingerprint.as_bytes());
        let checksum = crc32fast::hash(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The header, or what is wrong with it.
    fn decode(bytes: &[u8; HEADER_BYTES]) -> std::result::Result<Header, String> {
        if u32_at(bytes, HEADER_BYTES - 4) != crc32fast::hash(&bytes[..HEADER_BYTES - 4]) {
            return Err("wrong checksum".to_owned());
        }
        if &bytes[..8] != MAGIC {
            return Err("it is no vector log".to_owned());
        }
        let version = u32_at(bytes, 8);
        if version != FORMAT_VERSION {
            return Err(format!("format {version}, this build reads {FORMAT_VERSION}"));
        }
        let fingerprint = bytes.get(FINGERPRINT_AT..FINGERPRINT_AT + u32_at(bytes, 24) as usize);
        let fingerprint = fingerprint.and_then(|bytes| str::from_utf8(bytes).ok()).ok_or("unreadable fingerprint")?;
        Ok(Header {
            dimensions: u32_at(bytes, 12) as usize,
            epoch: u64_at(bytes, 16),
            fingerprint: fingerprint.to_owned(),
        })
    }

    fn must_match(&self, dimensions: usize, fingerprint: &str, path: &Path) -> Result<()> {
        if self.dimensions == dimensions && self.fingerprint == fingerprint {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{} holds vectors of model {} with {} dimensions, but model {fingerprint} with {dimensions} was asked for",
            path.display(),
            self.fingerprint,
            self.dimensions
        )))
    }
}

/// Refuses shapes that the file format cannot hold.
fn check_shape(dimensions: usize, fingerprint: &str) -> Result<()> {
    if dimensions == 0 || dimensions > DIMENSIONS_MAX {
        return Err(Error::invalid(format!("{dimensions} dimensions; 1 to {DIMENSIONS_MAX} are possible")));
    }
    if fingerprint.is_empty() || fingerprint.len() > FINGERPRINT_BYTES_MAX {
        return Err(Error::invalid(format!(
            "a fingerprint has 1 to {FINGERPRINT_BYTES_MAX} bytes, not {}",
            fingerprint.len()
        )));
    }
    Ok(())
}

/// `None`: no file. `Some(Err)`: a file whose header cannot be used, and why.
fn read_header(path: &Path) -> Result<Option<std::result::Result<Header, String>>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::from_io(&format!("opening {}", path.display()), &cause)),
    };
    let mut bytes = [0; HEADER_BYTES];
    match file.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(Header::decode(&bytes))),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(Err("it is cut short".to_owned()))),
        Err(cause) => Err(Error::from_io(&format!("reading {}", path.display()), &cause)),
    }
}

fn open_for_writing(path: &Path, is_new: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(is_new).truncate(is_new).open(path)
}

fn encode(record: &Record<'_>, dimensions: usize, bytes: &mut Vec<u8>) {
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

/// The record in `bytes`, its vector placed in `vector`; `None` when the checksum or the tag is wrong.
fn decode<'vector>(bytes: &[u8], vector: &'vector mut Vec<bf16>) -> Option<Record<'vector>> {
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

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn random_number() -> u64 {
    // The standard library seeds every map's hasher from the system's entropy; no further crate for eight bytes.
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::{Chance, TempDir};

    const DIMENSIONS: usize = 5;
    const STRIDE: usize = RECORD_HEAD_BYTES + DIMENSIONS * 2 + 4;

    /// A record that owns its vector.
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

    /// A log of `count` random entries, closed.
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
    fn what_was_appended_is_replayed_in_order() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let mut entries = written(&path, 20, &mut chance);
        for _ in 0..3 {
            let (mut log, seen, repairs) = open(&path).expect("a sound log");
            assert_eq!((seen, repairs), (numbered(&entries), LogRepairs::default()));
            let more = Entry::random(&mut chance);
            append(&mut log, std::slice::from_ref(&more));
            entries.push(more);
        }
    }

    #[test]
    fn a_log_cut_at_any_byte_keeps_its_whole_records_and_takes_new_ones() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let entries = written(&path, 6, &mut chance);
        let bytes = fs::read(&path).expect("readable");
        for length in HEADER_BYTES..bytes.len() {
            fs::write(&path, &bytes[..length]).expect("writable");
            let whole = (length - HEADER_BYTES) / STRIDE;
            let (mut log, seen, repairs) = open(&path).expect("a torn log opens");
            assert_eq!(seen, numbered(&entries[..whole]), "cut at {length}");
            let is_torn = !(length - HEADER_BYTES).is_multiple_of(STRIDE);
            assert_eq!(repairs.sentences.len(), usize::from(is_torn), "cut at {length}");
            append(&mut log, &entries[5..]);
            let mut expected = entries[..whole].to_vec();
            expected.push(entries[5].clone());
            let (_, seen, repairs) = open(&path).expect("a mended log opens");
            assert_eq!((seen, repairs), (numbered(&expected), LogRepairs::default()), "cut at {length}");
        }
    }

    #[test]
    fn a_flipped_bit_costs_its_own_record_and_is_reported() {
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
            // The last record has nothing sound behind it: an unfinished append looks the same.
            let is_last = victim == 4;
            assert_eq!(repairs.damaged_records, u64::from(!is_last));
            assert_eq!(log.records(), if is_last { 4 } else { 5 });
        }
    }

    #[test]
    fn a_damaged_header_sets_the_file_aside_and_begins_anew() {
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
        assert!(repairs.sentences[0].contains("cut short"), "{:?}", repairs.sentences);
    }

    #[test]
    fn another_model_is_refused_by_name_and_nothing_is_touched() {
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
    fn shapes_beyond_the_format_are_refused_at_its_edges() {
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
    fn compaction_keeps_the_given_records_under_a_new_epoch() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let entries = written(&path, 10, &mut chance);
        let (mut log, _, _) = open(&path).expect("a sound log");
        let (old_epoch, old_reader) = (log.epoch(), log.reader());
        log.compact([1, 4, 7].into_iter()).expect("room on the disk");
        let mut expected: Vec<Entry> = [1, 4, 7].map(|at: usize| entries[at].clone()).to_vec();
        assert_ne!(log.epoch(), old_epoch);
        let more = Entry::random(&mut chance);
        append(&mut log, std::slice::from_ref(&more));
        expected.push(more);
        assert_eq!(open(&path).expect("sound").1, numbered(&expected));
        for (number, entry) in numbered(&entries) {
            let mut vector = Vec::new();
            if let Entry::Put(_, _, stored) = entry {
                old_reader.read(number, &mut vector).expect("the old file is still there for its readers");
                assert_eq!(vector, stored);
            }
        }
    }

    #[test]
    fn a_compaction_that_fails_leaves_the_log_in_use() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("log"));
        let path = directory.path().join("log");
        let mut entries = written(&path, 4, &mut chance);
        let (mut log, _, _) = open(&path).expect("a sound log");
        assert!(log.compact([0, 99].into_iter()).is_err());
        let more = Entry::random(&mut chance);
        append(&mut log, std::slice::from_ref(&more));
        entries.push(more);
        assert_eq!(open(&path).expect("sound").1, numbered(&entries));
        assert_eq!(fs::read_dir(directory.path()).expect("listable").count(), 1, "no left-overs");
    }
}
