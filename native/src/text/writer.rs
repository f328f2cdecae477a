//! Writes changes of the text index as commits, and handles commits that fail. `schema` defines the content of
//! documents; `directory` syncs files to disk.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use tantivy::directory::error::{LockError, OpenReadError};
use tantivy::index::{SegmentComponent, SegmentId, SegmentMeta};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{
    Directory, FutureResult, Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, TantivyDocument,
    TantivyError, Term,
};

use crate::error::{Error, Result};
use crate::text::analysis::{ANALYSIS_VERSION, ANALYSIS_VERSION_WITHOUT_NOTATIONS, Stemming};
use crate::text::directory::{META, TextDirectory};
use crate::text::schema::{self, TextFields};

/// Maximum memory in bytes for documents that are not yet written. Tantivy's minimum is 15 MB. Most changes need far
/// less, so this only limits large ones.
const WRITER_BYTES: usize = 20_000_000;
/// Size in bytes of a block of the document store before compression. Reading a passage decompresses its block, which
/// takes a quarter of the time that it takes with Tantivy's 16 KB. An index that was created with 16 KB keeps them.
const STORE_BLOCK_BYTES: usize = 4_096;
/// Number of decompressed blocks that the document store caches for each segment. Passages that were published together
/// are often in the same block.
const STORE_CACHE_BLOCKS: usize = 64;
/// Maximum share of deleted documents in a segment. A segment with more is rewritten by a merge, so that deleted text
/// does not stay on disk for long.
const DEAD_SHARE_MAX: f32 = 0.2;

/// Files that every segment has, by their content.
const ALWAYS_THERE: [SegmentComponent; 4] =
    [SegmentComponent::Postings, SegmentComponent::Terms, SegmentComponent::Store, SegmentComponent::FastFields];
/// Files that a segment may have.
const SOMETIMES_THERE: [SegmentComponent; 2] = [SegmentComponent::Positions, SegmentComponent::FieldNorms];
/// Maximum number of threads that compare checksums when an index is opened.
const CHECKING_THREADS_MAX: usize = 4;
/// Maximum time for which the lock of an index that is being opened may be busy, and the pause between two attempts. No
/// other process uses the data directory. But a child that a killed server was just starting has the server's open
/// files, and their locks, until it runs its own program.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Writes commits of a text index. After an error, drop this object and open a new one: Tantivy's writer is not usable
/// after a full disk, and the documents that it has buffered must not become part of the next commit.
pub(crate) struct TextWriter {
    files: TextDirectory,
    fields: TextFields,
    index: Index,
    reader: IndexReader,
    /// Tantivy's writer. The first change creates it, so that a project that is only searched has no writer threads.
    writer: Option<IndexWriter>,
    /// Sentences for the operator about what was repaired at the opening.
    pub(crate) repairs: Vec<String>,
}

impl TextWriter {
    /// Opens or creates the index in `directory`, which has no other files. Fails with `Damaged` if the files cannot be
    /// read as an index.
    pub(crate) fn open(directory: &Path) -> Result<TextWriter> {
        TextWriter::open_if(directory, |_| Ok(()))
    }

    /// Like `open`, but first reads every file of the last commit and compares its checksum. Fails with `Damaged` if
    /// one differs or is missing. A thread reads about 1 GB/s; up to `CHECKING_THREADS_MAX` threads share the files.
    pub(crate) fn open_checked(directory: &Path) -> Result<TextWriter> {
        TextWriter::open_if(directory, verify_checksums)
    }

    /// Opens or creates the index if `check` accepts its files. Tantivy reads the files only after the check, because
    /// its errors about damaged files look like those of the disk.
    fn open_if(directory: &Path, check: impl FnOnce(&Index) -> Result<()>) -> Result<TextWriter> {
        std::fs::create_dir_all(directory)
            .map_err(|cause| Error::from_io(&format!("creating {}", directory.display()), &cause))?;
        let (schema, fields) = schema::schema();
        let settings = IndexSettings {
            docstore_compress_dedicated_thread: false,
            docstore_blocksize: STORE_BLOCK_BYTES,
            ..IndexSettings::default()
        };
        let files = TextDirectory::open(directory)?;
        let repairs = Vec::from_iter(files.rewrite_file_list()?);
        let index = Index::builder().schema(schema).settings(settings).open_or_create(files.clone())?;
        schema::register_tokenizer(index.tokenizers());
        check(&index)?;
        files.remove_orphaned_files(&index.load_metas()?.list_segment_files())?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(STORE_CACHE_BLOCKS)
            .try_into()?;
        Ok(TextWriter { files, fields, index, reader, writer: None, repairs })
    }

    /// The last commit and the stemmings of its documents. Fails with `Damaged` if the commit was written by a version
    /// of the analysis whose terms differ from those of this one.
    pub(crate) fn last_commit(&self) -> Result<(Searcher, BTreeSet<Stemming>)> {
        let payload = self.index.load_metas()?.payload.unwrap_or_default();
        let mut notes = payload.split_whitespace();
        // The payload has the version of the analysis and the stemmings. It is empty before the first commit, and in
        // commits without documents that older versions of Mneme wrote.
        let readable = [ANALYSIS_VERSION, ANALYSIS_VERSION_WITHOUT_NOTATIONS];
        if notes.next().is_some_and(|version| !readable.contains(&version)) {
            return Err(Error::Damaged("its terms were made by another version of the analysis".to_owned()));
        }
        let stemming =
            |name| Stemming::from_name(name).ok_or_else(|| Error::Damaged(format!("unknown stemming {name}")));
        let stemmings = notes.map(stemming).collect::<Result<_>>()?;
        Ok((self.reader.searcher(), stemmings))
    }

    /// Begins to rewrite a segment without its deleted documents. Segments in `except` are left alone. Returns `None`
    /// if there is no such segment. Other changes can be committed meanwhile.
    pub(crate) fn begin_rewriting(&mut self, except: &FxHashSet<SegmentId>) -> Result<Option<Rewriting>> {
        let segments = self.index.searchable_segment_metas()?;
        let mut deleted = segments.iter().filter(|segment| segment.has_deletes() && !except.contains(&segment.id()));
        let Some(segment) = deleted.next().map(SegmentMeta::id) else { return Ok(None) };
        let index = self.index.clone();
        Ok(Some(Rewriting { index, segment, merge: self.writer()?.merge(&[segment]) }))
    }

    /// The last commit, after a segment was rewritten.
    pub(crate) fn reload(&mut self) -> Result<Searcher> {
        self.reader.reload()?;
        Ok(self.reader.searcher())
    }

    /// Removes the files of segments that the last commit does not use; searches in progress keep them open. Returns
    /// whether the folder now has files of the last commit only.
    pub(crate) fn remove_unused_files(&mut self) -> Result<bool> {
        let used: FxHashSet<PathBuf> =
            segment_files(&self.index)?.into_iter().map(|file| PathBuf::from(file.name)).collect();
        let is_unused = |path: &PathBuf| path != Path::new(META) && !used.contains(path);
        if !self.index.directory().list_managed_files().iter().any(is_unused) {
            return Ok(true);
        }
        self.writer()?.garbage_collect_files().wait()?;
        Ok(!self.index.directory().list_managed_files().iter().any(is_unused))
    }

    /// Deletes all documents of the memories, adds the given documents one at a time, and waits until the commit is on
    /// disk. `stemmings` has the stemmings of all documents that were ever committed. The stemmings of the new
    /// documents are added to it.
    pub(crate) fn commit(
        &mut self,
        memory_keys: &[u64],
        documents: impl Iterator<Item = (TantivyDocument, Stemming)>,
        stemmings: &mut BTreeSet<Stemming>,
    ) -> Result<Searcher> {
        let memory_key = self.fields.memory_key;
        let writer = self.writer()?;
        for key in memory_keys {
            writer.delete_term(Term::from_field_u64(memory_key, *key));
        }
        for (document, stemming) in documents {
            stemmings.insert(stemming);
            writer.add_document(document)?;
        }
        let mut commit = writer.prepare_commit()?;
        let notes: Vec<&str> = std::iter::once(ANALYSIS_VERSION).chain(stemmings.iter().map(|it| it.name())).collect();
        commit.set_payload(&notes.join(" "));
        commit.commit()?;
        self.reload()
    }

    fn writer(&mut self) -> Result<&mut IndexWriter> {
        let opened = match self.writer.take() {
            Some(writer) => writer,
            None => open_writer(&self.index, &self.fields)?,
        };
        Ok(self.writer.insert(opened))
    }
}

/// A segment that is being rewritten.
pub(crate) struct Rewriting {
    index: Index,
    segment: SegmentId,
    merge: FutureResult<Option<SegmentMeta>>,
}

impl Rewriting {
    /// Waits until the segment is rewritten on disk, which takes seconds for a large one. Returns the new segment;
    /// `None` if all documents were deleted, or if Tantivy merged the segment with others meanwhile.
    pub(crate) fn wait(self) -> Result<Option<SegmentId>> {
        match self.merge.wait() {
            Ok(rewritten) => Ok(rewritten.map(|segment| segment.id())),
            // Tantivy has merged the segment with others, but its list of segments does not show that yet.
            Err(TantivyError::InvalidArgument(_)) => Ok(None),
            Err(cause) => {
                let segments = self.index.searchable_segment_metas()?;
                let is_there = segments.iter().any(|segment| segment.id() == self.segment);
                if is_there { Err(cause.into()) } else { Ok(None) }
            }
        }
    }
}

impl Drop for TextWriter {
    /// Closes the folder before Tantivy's writer is dropped. Otherwise a merge that is interrupted by dropping would
    /// delete the segments that it merged, although the last commit still refers to them.
    fn drop(&mut self) {
        self.files.close();
    }
}

/// A file of a commit.
pub(crate) struct SegmentFile {
    pub(crate) name: String,
    /// Its size; `None` if the file is missing although every segment has one.
    pub(crate) bytes: Option<u64>,
}

/// The files of the last commit.
pub(crate) fn segment_files(index: &Index) -> Result<Vec<SegmentFile>> {
    let mut files = Vec::new();
    for segment in index.load_metas()?.segments {
        let deletes = segment.has_deletes().then_some(SegmentComponent::Delete);
        let always = ALWAYS_THERE.into_iter().chain(deletes);
        let all = always.map(|it| (it, true)).chain(SOMETIMES_THERE.map(|it| (it, false)));
        for (component, is_always_there) in all {
            let path = segment.relative_path(component);
            let bytes = match index.directory().get_file_handle(&path) {
                Ok(file) => Some(file.len() as u64),
                Err(OpenReadError::FileDoesNotExist(_)) => None,
                // The file has no valid footer. Its size does not matter, because checking its content reports the
                // damage.
                Err(_) => Some(0),
            };
            if bytes.is_some() || is_always_there {
                files.push(SegmentFile { name: path.to_string_lossy().into_owned(), bytes });
            }
        }
    }
    Ok(files)
}

/// Compares the checksum of every file of the last commit. Fails with `Damaged` if one differs or is missing.
fn verify_checksums(index: &Index) -> Result<()> {
    let mut files = segment_files(index)?;
    files.sort_by_key(|file| std::cmp::Reverse(file.bytes));
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(CHECKING_THREADS_MAX);
    let check = || {
        let mut damaged = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            damaged.extend(damage_of(index, file)?.map(|reason| format!("{} {reason}", file.name)));
        }
        Ok::<_, Error>(damaged)
    };
    let damaged = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(check)).collect();
        let mut damaged = check()?;
        for other in others {
            damaged.extend(other.join().map_err(|_| Error::Bug("a check of files panicked".to_owned()))??);
        }
        Ok::<_, Error>(damaged)
    })?;
    let Some(first) = damaged.iter().min() else { return Ok(()) };
    Err(Error::Damaged(format!("{} of its files are damaged: {first}", damaged.len())))
}

/// Reads a file of a commit. Returns what is wrong with it; `None` if nothing is.
pub(crate) fn damage_of(index: &Index, file: &SegmentFile) -> Result<Option<String>> {
    if file.bytes.is_none() {
        return Ok(Some("is missing".to_owned()));
    }
    match index.directory().validate_checksum(Path::new(&file.name)) {
        Ok(true) => Ok(None),
        Ok(false) => Ok(Some("has a wrong checksum".to_owned())),
        Err(cause) => match Error::from(TantivyError::from(cause)) {
            Error::Damaged(_) => Ok(Some("has a damaged end".to_owned())),
            other => Err(other),
        },
    }
}

fn open_writer(index: &Index, fields: &TextFields) -> Result<IndexWriter> {
    // One thread for writing and one for merging, because changes are small and a server has many projects.
    let options = || {
        IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .build()
    };
    let deadline = Instant::now() + LOCK_WAIT_MAX;
    let writer: IndexWriter = loop {
        match index.writer_with_options(options()) {
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) if Instant::now() < deadline => {
                thread::sleep(LOCK_PAUSE);
            }
            opened => break opened?,
        }
    };
    let mut merging = LogMergePolicy::default();
    merging.set_del_docs_ratio_before_merge(DEAD_SHARE_MAX);
    writer.set_merge_policy(Box::new(merging));
    // Tantivy numbers the operations of a writer, starting with the number of the last commit. A merge assumes that
    // deletions up to the number of that commit are already applied to its segments. It would ignore the first deletion
    // of a new writer and bring the deleted chunks back. So the first operation here is a deletion without effect: no
    // memory has key 0.
    writer.delete_term(Term::from_field_u64(fields.memory_key, 0));
    Ok(writer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_whose_lock_is_busy_for_a_moment_is_opened() {
        let (schema, fields) = schema::schema();
        let index = Index::create_in_ram(schema);
        let held = open_writer(&index, &fields).expect("the lock is free");
        let release = thread::spawn(move || {
            thread::sleep(LOCK_PAUSE * 3);
            drop(held);
        });
        assert!(open_writer(&index, &fields).is_ok());
        release.join().expect("the writer is dropped");
    }
}
