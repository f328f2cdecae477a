//! How a change of the text index becomes a commit, and what becomes of a commit that fails.
//! What is in a document is `text::schema`'s affair, when its bytes are on the disk `text::directory`'s.

use std::collections::BTreeSet;
use std::path::Path;

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term};

use crate::error::{Error, Result};
use crate::text::analysis::{ANALYSIS_VERSION, Stemming};
use crate::text::directory::TextDirectory;
use crate::text::schema::{self, TextFields};

/// Tantivy's minimum is 15 MB. A round of publishing is far smaller; this only bounds what a large one holds.
const WRITER_BYTES: usize = 20_000_000;
/// Blocks of 16 KB that the document store keeps unpacked per segment: passages of neighbouring hits share them.
const STORE_CACHE_BLOCKS: usize = 16;
/// A segment is rewritten once this share of it is dead, so that deleted text does not stay for long.
const DEAD_SHARE_MAX: f32 = 0.25;

/// The changing side of a text index. After an error it must be dropped and opened anew: Tantivy's writer does not
/// survive a full disk, and whatever it had buffered must not come back with the next commit.
pub(crate) struct TextWriter {
    files: TextDirectory,
    fields: TextFields,
    index: Index,
    reader: IndexReader,
    /// Made by the first change: a project that is only searched needs no threads for it.
    writer: Option<IndexWriter>,
}

impl TextWriter {
    /// Opens or creates the index in a folder of its own. `Damaged` when it cannot be understood.
    pub(crate) fn open(directory: &Path) -> Result<TextWriter> {
        std::fs::create_dir_all(directory)
            .map_err(|cause| Error::from_io(&format!("creating {}", directory.display()), &cause))?;
        let (schema, fields) = schema::schema();
        let settings = IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let files = TextDirectory::open(directory)?;
        let index = Index::builder().schema(schema).settings(settings).open_or_create(files.clone())?;
        let segments = index.searchable_segment_ids()?.into_iter().map(|segment| segment.uuid_string());
        files.remove_strays(&segments.collect())?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(STORE_CACHE_BLOCKS)
            .try_into()?;
        Ok(TextWriter { files, fields, index, reader, writer: None })
    }

    /// Reads every file and compares its checksum. About 1 s per gigabyte.
    pub(crate) fn validate(&self) -> Result<()> {
        let damaged = self.index.validate_checksum()?;
        let Some(first) = damaged.iter().min() else { return Ok(()) };
        Err(Error::Damaged(format!("{} of its files lack their checksum, {} first", damaged.len(), first.display())))
    }

    /// The last commit, and the stemmings of its documents. `Damaged` when another version of the analysis wrote it.
    pub(crate) fn current(&self) -> Result<(Searcher, BTreeSet<Stemming>)> {
        let payload = self.index.load_metas()?.payload.unwrap_or_default();
        let mut noted = payload.split_whitespace();
        // Nothing is noted before the first commit, and in an older one of no documents.
        if noted.next().is_some_and(|version| version != ANALYSIS_VERSION) {
            return Err(Error::Damaged("its words were made by another version of the analysis".to_owned()));
        }
        let stemming =
            |name| Stemming::from_name(name).ok_or_else(|| Error::Damaged(format!("unknown stemming {name}")));
        let stemmings = noted.map(stemming).collect::<Result<_>>()?;
        Ok((self.reader.searcher(), stemmings))
    }

    /// Removes all documents of the memories, adds the given ones as they come and waits until the disk has the commit.
    /// `stemmings` are those of all documents that were ever committed; those of the given ones join them.
    pub(crate) fn commit(
        &mut self,
        memory_keys: &[u64],
        documents: impl Iterator<Item = (TantivyDocument, Stemming)>,
        stemmings: &mut BTreeSet<Stemming>,
    ) -> Result<Searcher> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(new_writer(&self.index, &self.fields)?),
        };
        for key in memory_keys {
            writer.delete_term(Term::from_field_u64(self.fields.memory_key, *key));
        }
        for (document, stemming) in documents {
            stemmings.insert(stemming);
            writer.add_document(document)?;
        }
        let mut commit = writer.prepare_commit()?;
        let noted: Vec<&str> = std::iter::once(ANALYSIS_VERSION).chain(stemmings.iter().map(|it| it.name())).collect();
        commit.set_payload(&noted.join(" "));
        commit.commit()?;
        self.reader.reload()?;
        Ok(self.reader.searcher())
    }
}

impl Drop for TextWriter {
    /// Shuts the folder before the writer goes: a merge that Tantivy cuts off half-way removes the segments that it
    /// merged although the commit still names them.
    fn drop(&mut self) {
        self.files.shut();
    }
}

fn new_writer(index: &Index, fields: &TextFields) -> Result<IndexWriter> {
    // One thread each: the rounds are small, and a server has many projects.
    let options = IndexWriterOptions::builder()
        .num_worker_threads(1)
        .num_merge_threads(1)
        .memory_budget_per_thread(WRITER_BYTES)
        .build();
    let writer: IndexWriter = index.writer_with_options(options)?;
    let mut merging = LogMergePolicy::default();
    merging.set_del_docs_ratio_before_merge(DEAD_SHARE_MAX);
    writer.set_merge_policy(Box::new(merging));
    // Tantivy gives the first operation the number of the last commit, and takes a deletion of that number for done in
    // segments that the last commit touched: a merge would bring the deleted chunks back. The first operation is
    // therefore one without effect; no memory has key 0.
    writer.delete_term(Term::from_field_u64(fields.memory_key, 0));
    Ok(writer)
}
