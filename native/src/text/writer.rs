//! Turns changes of the text index into commits, and handles commits that fail.
//! The content of documents is left to `schema`, syncing files to disk is left to `directory`.

use std::collections::BTreeSet;
use std::path::Path;

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term};

use crate::error::{Error, Result};
use crate::text::analysis::{ANALYSIS_VERSION, Stemming};
use crate::text::directory::TextDirectory;
use crate::text::schema::{self, TextFields};

/// Memory for documents that are not yet written; Tantivy's minimum is 15 MB. A publication is usually far smaller, so
/// this only bounds large ones.
const WRITER_BYTES: usize = 20_000_000;
/// Blocks of 16 KB that the document store keeps decompressed per segment. Passages of neighbouring hits share blocks.
const STORE_CACHE_BLOCKS: usize = 16;
/// A segment is merged as soon as this share of its documents is deleted, so that deleted text does not stay on disk
/// for long.
const DEAD_SHARE_MAX: f32 = 0.25;

/// Writes commits of a text index. After an error it must be dropped and opened again: Tantivy's writer does not
/// survive a full disk, and what it buffered before the error must not become part of the next commit.
pub(crate) struct TextWriter {
    files: TextDirectory,
    fields: TextFields,
    index: Index,
    reader: IndexReader,
    /// Created by the first change, so that a project that is only searched has no writer threads.
    writer: Option<IndexWriter>,
}

impl TextWriter {
    /// Opens or creates the index in its own folder. `Damaged` if the files cannot be read as an index.
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

    /// Reads every file and compares its checksum; `Damaged` if one differs. About 1 s per gigabyte.
    pub(crate) fn verify_checksums(&self) -> Result<()> {
        let damaged = self.index.validate_checksum()?;
        let Some(first) = damaged.iter().min() else { return Ok(()) };
        Err(Error::Damaged(format!(
            "{} of its files have a wrong checksum, the first is {}",
            damaged.len(),
            first.display()
        )))
    }

    /// The last commit and the stemmings of its documents. `Damaged` if another version of the analysis wrote it.
    pub(crate) fn last_commit(&self) -> Result<(Searcher, BTreeSet<Stemming>)> {
        let payload = self.index.load_metas()?.payload.unwrap_or_default();
        let mut notes = payload.split_whitespace();
        // The payload is empty before the first commit, and in older commits without documents.
        if notes.next().is_some_and(|version| version != ANALYSIS_VERSION) {
            return Err(Error::Damaged("its terms were made by another version of the analysis".to_owned()));
        }
        let stemming =
            |name| Stemming::from_name(name).ok_or_else(|| Error::Damaged(format!("unknown stemming {name}")));
        let stemmings = notes.map(stemming).collect::<Result<_>>()?;
        Ok((self.reader.searcher(), stemmings))
    }

    /// Deletes all documents of the memories, adds the given documents one at a time, and waits until the commit is on
    /// disk. `stemmings` has the stemmings of all documents that were ever committed; those of the new documents are
    /// added to it.
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
    /// Closes the folder before the writer is dropped. A merge that Tantivy interrupts would delete the segments that
    /// it merged, although the commit still refers to them.
    fn drop(&mut self) {
        self.files.close();
    }
}

fn open_writer(index: &Index, fields: &TextFields) -> Result<IndexWriter> {
    // One thread each, because publications are small and a server has many projects.
    let options = IndexWriterOptions::builder()
        .num_worker_threads(1)
        .num_merge_threads(1)
        .memory_budget_per_thread(WRITER_BYTES)
        .build();
    let writer: IndexWriter = index.writer_with_options(options)?;
    let mut merging = LogMergePolicy::default();
    merging.set_del_docs_ratio_before_merge(DEAD_SHARE_MAX);
    writer.set_merge_policy(Box::new(merging));
    // Tantivy gives the first operation of a writer the number of the last commit. It assumes that segments of that
    // commit already contain a deletion of that number, so a merge would bring the deleted chunks back. The first
    // operation is therefore a deletion without effect: no memory has key 0.
    writer.delete_term(Term::from_field_u64(fields.memory_key, 0));
    Ok(writer)
}
