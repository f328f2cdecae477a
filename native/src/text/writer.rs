//! Writes changes of the text index as commits, and handles commits that fail. `schema` defines the content of
//! documents; `directory` syncs files to disk.

use std::collections::BTreeSet;
use std::path::Path;

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term};

use crate::error::{Error, Result};
use crate::text::analysis::{ANALYSIS_VERSION, Stemming};
use crate::text::directory::TextDirectory;
use crate::text::schema::{self, TextFields};

/// Maximum memory in bytes for documents that are not yet written. Tantivy's minimum is 15 MB. Most changes need far
/// less, so this only limits large ones.
const WRITER_BYTES: usize = 20_000_000;
/// Number of decompressed blocks, of 16 KB each, that the document store caches for each segment. Passages that were
/// published together are often in the same block.
const STORE_CACHE_BLOCKS: usize = 16;
/// Maximum share of deleted documents in a segment. A segment with more is rewritten by a merge, so that deleted text
/// does not stay on disk for long.
const DEAD_SHARE_MAX: f32 = 0.25;

/// Writes commits of a text index. After an error, drop this object and open a new one: Tantivy's writer is not usable
/// after a full disk, and the documents that it has buffered must not become part of the next commit.
pub(crate) struct TextWriter {
    files: TextDirectory,
    fields: TextFields,
    index: Index,
    reader: IndexReader,
    /// Tantivy's writer. The first change creates it, so that a project that is only searched has no writer threads.
    writer: Option<IndexWriter>,
}

impl TextWriter {
    /// Opens or creates the index in `directory`, which has no other files. Fails with `Damaged` if the files cannot be
    /// read as an index.
    pub(crate) fn open(directory: &Path) -> Result<TextWriter> {
        std::fs::create_dir_all(directory)
            .map_err(|cause| Error::from_io(&format!("creating {}", directory.display()), &cause))?;
        let (schema, fields) = schema::schema();
        let settings = IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let files = TextDirectory::open(directory)?;
        let index = Index::builder().schema(schema).settings(settings).open_or_create(files.clone())?;
        let segments = index.searchable_segment_ids()?.into_iter().map(|segment| segment.uuid_string());
        files.remove_orphaned_segments(&segments.collect())?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(STORE_CACHE_BLOCKS)
            .try_into()?;
        Ok(TextWriter { files, fields, index, reader, writer: None })
    }

    /// Reads every file and compares its checksum. Fails with `Damaged` if one differs. Takes about 1 s per gigabyte.
    pub(crate) fn verify_checksums(&self) -> Result<()> {
        let damaged = self.index.validate_checksum()?;
        let Some(first) = damaged.iter().min() else { return Ok(()) };
        Err(Error::Damaged(format!(
            "{} of its files have a wrong checksum, the first is {}",
            damaged.len(),
            first.display()
        )))
    }

    /// The last commit and the stemmings of its documents. Fails with `Damaged` if another version of the analysis
    /// wrote the commit.
    pub(crate) fn last_commit(&self) -> Result<(Searcher, BTreeSet<Stemming>)> {
        let payload = self.index.load_metas()?.payload.unwrap_or_default();
        let mut notes = payload.split_whitespace();
        // The payload has the version of the analysis and the stemmings. It is empty before the first commit, and in
        // commits without documents that older versions of Mneme wrote.
        if notes.next().is_some_and(|version| version != ANALYSIS_VERSION) {
            return Err(Error::Damaged("its terms were made by another version of the analysis".to_owned()));
        }
        let stemming =
            |name| Stemming::from_name(name).ok_or_else(|| Error::Damaged(format!("unknown stemming {name}")));
        let stemmings = notes.map(stemming).collect::<Result<_>>()?;
        Ok((self.reader.searcher(), stemmings))
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
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(open_writer(&self.index, &self.fields)?),
        };
        for key in memory_keys {
            writer.delete_term(Term::from_field_u64(self.fields.memory_key, *key));
        }
        for (document, stemming) in documents {
            stemmings.insert(stemming);
            writer.add_document(document)?;
        }
        let mut commit = writer.prepare_commit()?;
        let notes: Vec<&str> = std::iter::once(ANALYSIS_VERSION).chain(stemmings.iter().map(|it| it.name())).collect();
        commit.set_payload(&notes.join(" "));
        commit.commit()?;
        self.reader.reload()?;
        Ok(self.reader.searcher())
    }
}

impl Drop for TextWriter {
    /// Closes the folder before Tantivy's writer is dropped. Otherwise a merge that is interrupted by dropping would
    /// delete the segments that it merged, although the last commit still refers to them.
    fn drop(&mut self) {
        self.files.close();
    }
}

fn open_writer(index: &Index, fields: &TextFields) -> Result<IndexWriter> {
    // One thread for writing and one for merging, because changes are small and a server has many projects.
    let options = IndexWriterOptions::builder()
        .num_worker_threads(1)
        .num_merge_threads(1)
        .memory_budget_per_thread(WRITER_BYTES)
        .build();
    let writer: IndexWriter = index.writer_with_options(options)?;
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
