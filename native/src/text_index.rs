//! Which chunks speak of a query's words: postings and stored passages in Tantivy, inside the admissible set.
//! Terms come from `analysis`, scores from `bm25`; here is what is written, when it counts as written, and what is
//! searched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tantivy::directory::MmapDirectory;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::document::Value;
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, Term};

use crate::analysis::{Analyzer, Stemming};
use crate::bm25::WeightedQuery;
use crate::candidates::{Admissible, Candidates};
use crate::error::{Error, Result};
use crate::hit::Hit;
use crate::text_schema::{self, TextChunk, TextFields};
use crate::text_view::View;
use crate::vector_log::set_aside;

/// Tantivy's minimum is 15 MB. A round of publishing is far smaller; this only bounds what a large one holds.
const WRITER_BYTES: usize = 20_000_000;
/// Blocks of 16 KB that the document store keeps unpacked per segment: passages of neighbouring hits share them.
const STORE_CACHE_BLOCKS: usize = 16;
/// A segment is rewritten once this share of it is dead, so that deleted text does not stay for long.
const DEAD_SHARE_MAX: f32 = 0.25;

/// The postings of one project. Searches come from any thread; changes from one at a time.
pub struct TextIndex {
    directory: PathBuf,
    analyzer: Analyzer,
    candidates: Arc<Candidates>,
    fields: TextFields,
    index: Index,
    reader: IndexReader,
    view: RwLock<Arc<View>>,
    /// `None` after a failure, until the next change makes a new one: Tantivy's writer does not survive a full disk.
    writer: Mutex<Option<IndexWriter>>,
}

impl std::fmt::Debug for TextIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TextIndex").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl TextIndex {
    /// Opens or creates the index in its own folder. One that cannot be opened, is of another format, or has a file
    /// without its checksum is set aside as `<name>.damaged-<n>` and begun anew, which the returned sentences say.
    pub fn open(directory: &Path, candidates: Arc<Candidates>) -> Result<(TextIndex, Vec<String>)> {
        match TextIndex::open_sound(directory, Arc::clone(&candidates)) {
            Err(Error::Damaged(reason)) => {
                let aside = set_aside(directory)?;
                let sentence = format!(
                    "the text index {} is damaged ({reason}); it was set aside as {} and an empty one begun",
                    directory.display(),
                    aside.display()
                );
                Ok((TextIndex::open_sound(directory, candidates)?, vec![sentence]))
            }
            other => Ok((other?, Vec::new())),
        }
    }

    fn open_sound(directory: &Path, candidates: Arc<Candidates>) -> Result<TextIndex> {
        std::fs::create_dir_all(directory)
            .map_err(|cause| Error::from_io(&format!("creating {}", directory.display()), &cause))?;
        let (schema, fields) = text_schema::schema();
        let settings = IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let files = MmapDirectory::open(directory).map_err(tantivy::TantivyError::from)?;
        let index = Index::builder().schema(schema).settings(settings).open_or_create(files)?;
        let damaged = index.validate_checksum()?;
        if let Some(file) = damaged.iter().next() {
            return Err(Error::Damaged(format!(
                "{} of its files lack their checksum, {} first",
                damaged.len(),
                file.display()
            )));
        }
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(STORE_CACHE_BLOCKS)
            .try_into()?;
        let stemmings = stemmings_of(&index)?;
        let view = View::new(reader.searcher(), stemmings, &fields, &candidates, None)?;
        Ok(TextIndex {
            directory: directory.to_owned(),
            analyzer: Analyzer::default(),
            candidates,
            fields,
            index,
            reader,
            view: RwLock::new(Arc::new(view)),
            writer: Mutex::new(None),
        })
    }

    /// Replaces all chunks of the given memories by `chunks`, in one commit: durable and searchable on return, or not
    /// at all (`NoSpace`, `Io`), and then the call may be repeated.
    pub fn publish(&self, memory_keys: &[u64], chunks: &[TextChunk<'_>]) -> Result<()> {
        let analysed: Vec<(TantivyDocument, Stemming)> =
            chunks.iter().map(|chunk| text_schema::document(chunk, &self.fields, &self.analyzer)).collect();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let committed = self.commit(&mut writer, memory_keys, analysed);
        if committed.is_err() {
            // Whatever it had buffered must not come back with the next commit.
            *writer = None;
        }
        committed
    }

    /// Removes all chunks of the given memories, in one commit.
    pub fn remove(&self, memory_keys: &[u64]) -> Result<()> {
        self.publish(memory_keys, &[])
    }

    /// The best `limit` chunks for a query's words with b > 0, best first (see `bm25`). `Invalid` for a set of another
    /// index.
    pub fn search(&self, query: &str, within: &Admissible, limit: usize) -> Result<Vec<Hit>> {
        let set = self.candidates.confine(within)?;
        let view = self.view();
        let words = self.analyzer.query_groups(query, &view.stemmings);
        let mut hits = WeightedQuery::new(&view, &words)?.best(&set, limit)?;
        self.candidates.retain_admitted(within, &mut hits, |hit| hit.ordinal);
        Ok(hits)
    }

    /// b of exactly the given chunks, in their order; 0 where nothing matches or there is no such chunk.
    pub fn score(&self, query: &str, chunk_keys: &[u64]) -> Result<Vec<f32>> {
        let view = self.view();
        let words = self.analyzer.query_groups(query, &view.stemmings);
        WeightedQuery::new(&view, &words)?.of_chunks(chunk_keys)
    }

    /// The stored passages of chunks, in their order; `None` where there is no such chunk.
    pub fn passages(&self, chunk_keys: &[u64]) -> Result<Vec<Option<String>>> {
        let view = self.view();
        let mut passages = Vec::with_capacity(chunk_keys.len());
        for key in chunk_keys {
            let Some(address) = view.locate(*key) else {
                passages.push(None);
                continue;
            };
            let document: TantivyDocument = view.searcher.doc(address)?;
            let passage = document.get_first(self.fields.passage).and_then(|value| value.as_str());
            passages.push(passage.map(str::to_owned));
        }
        Ok(passages)
    }

    /// The keys of all chunks, in no particular order.
    pub fn chunk_keys(&self) -> Vec<u64> {
        self.view().chunk_keys()
    }

    /// Size of the files of the current commit.
    pub fn bytes(&self) -> u64 {
        // A figure for the operator: a file that a merge has just removed counts as nothing.
        self.view().searcher.space_usage().map(|usage| usage.total().get_bytes()).unwrap_or_default()
    }

    /// Lets go of the folder: no more changes. Searches that are under way finish.
    pub fn close(&self) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn commit(
        &self,
        writer: &mut Option<IndexWriter>,
        memory_keys: &[u64],
        documents: Vec<(TantivyDocument, Stemming)>,
    ) -> Result<()> {
        let writer = match writer {
            Some(writer) => writer,
            None => writer.insert(self.new_writer()?),
        };
        let mut stemmings = self.view().stemmings.clone();
        for key in memory_keys {
            writer.delete_term(Term::from_field_u64(self.fields.memory_key, *key));
        }
        for (document, stemming) in documents {
            stemmings.insert(stemming);
            writer.add_document(document)?;
        }
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&payload_of(&stemmings));
        commit.commit()?;
        self.reader.reload()?;
        let view = View::new(self.reader.searcher(), stemmings, &self.fields, &self.candidates, Some(&self.view()))?;
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        Ok(())
    }

    fn new_writer(&self) -> Result<IndexWriter> {
        // One thread each: the rounds are small, and a server has many projects.
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .build();
        let writer: IndexWriter = self.index.writer_with_options(options)?;
        let mut merging = LogMergePolicy::default();
        merging.set_del_docs_ratio_before_merge(DEAD_SHARE_MAX);
        writer.set_merge_policy(Box::new(merging));
        Ok(writer)
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The stemmings, as the commit's payload keeps them.
fn payload_of(stemmings: &BTreeSet<Stemming>) -> String {
    stemmings.iter().map(|stemming| stemming.name()).collect::<Vec<_>>().join(" ")
}

fn stemmings_of(index: &Index) -> Result<BTreeSet<Stemming>> {
    let payload = index.load_metas()?.payload.unwrap_or_default();
    payload
        .split_whitespace()
        .map(|name| Stemming::from_name(name).ok_or_else(|| Error::Damaged(format!("unknown stemming {name}"))))
        .collect()
}
