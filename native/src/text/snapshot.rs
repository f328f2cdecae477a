//! The state of the text index after one commit, which searches read: its segments, and the columns that scoring and
//! look-ups need. A snapshot never changes; each commit creates a new one.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::{DocAddress, InvertedIndexReader, Searcher, SegmentReader};

use crate::error::Result;
use crate::filters::memory_table::MemoryTable;
use crate::text::analysis::Stemming;
use crate::text::count_cache::CountCache;
use crate::text::query_words::QueryWordCache;
use crate::text::schema::{self, NO_CONTEXT, TextFields};

/// An immutable snapshot of one commit.
pub(crate) struct Snapshot {
    /// Tantivy's handle on the commit. It keeps the files open.
    pub(crate) searcher: Searcher,
    /// The segments of the commit, in the order of `searcher`.
    pub(crate) segments: Vec<Segment>,
    /// All stemmings that were applied to documents, by their languages. The words of a query are stemmed with each of
    /// them.
    pub(crate) stemmings: BTreeSet<Stemming>,
    /// Number of live chunks.
    pub(crate) chunks: u64,
    /// Total number of words in the search texts of all live chunks (`DocumentTerms::words`).
    pub(crate) own_terms: u64,
    /// Total number of words in the context texts of all live chunks. For a chunk without a context text, its search
    /// text counts.
    pub(crate) context_terms: u64,
    /// Cache of the looked-up words (posting lists and document frequencies) of recent queries.
    pub(crate) query_word_cache: QueryWordCache,
}

/// A segment of a commit: its immutable columns, and which of its documents are alive.
pub(crate) struct Segment {
    /// Tantivy's handle on the segment.
    pub(crate) reader: SegmentReader,
    /// The columns. All snapshots that contain the segment share them.
    pub(crate) columns: Arc<Columns>,
    /// Number of live chunks.
    pub(crate) chunks: u32,
    /// Number of live chunks without a context text.
    pub(crate) chunks_without_context: u32,
    /// Cached document frequencies, shared by all snapshots in which the same documents are alive.
    pub(crate) count_cache: Arc<CountCache>,
}

/// The columns of a segment, indexed by document number, and its posting lists. Documents of a segment are only
/// deleted, never changed, so all snapshots can share the columns.
pub(crate) struct Columns {
    /// Posting lists of search texts.
    pub(crate) own: Arc<InvertedIndexReader>,
    /// Posting lists of context texts.
    pub(crate) context: Arc<InvertedIndexReader>,
    /// Ordinal of the memory of each document.
    pub(crate) ordinals: Vec<u32>,
    /// Key of the chunk of each document.
    pub(crate) chunk_keys: Vec<u64>,
    /// Number of words in the search text of each document.
    pub(crate) own_lengths: Vec<u32>,
    /// Number of words in the context text of each document; `NO_CONTEXT` if it has none.
    pub(crate) context_lengths: Vec<u32>,
    /// Pairs (chunk key, document number) in ascending order, for binary search.
    by_chunk: Vec<(u64, u32)>,
}

impl Snapshot {
    /// Creates the snapshot of a commit. Takes the columns of segments from the snapshot `earlier` if possible, and
    /// reads the others, which takes about 10 ms per 100,000 chunks.
    pub(crate) fn new(
        searcher: Searcher,
        stemmings: BTreeSet<Stemming>,
        fields: &TextFields,
        memory_table: &MemoryTable,
        earlier: Option<&Snapshot>,
    ) -> Result<Snapshot> {
        let known: FxHashMap<SegmentId, &Segment> =
            earlier.into_iter().flat_map(|snapshot| &snapshot.segments).map(|s| (s.reader.segment_id(), s)).collect();
        let mut snapshot = Snapshot {
            searcher,
            segments: Vec::new(),
            stemmings,
            chunks: 0,
            own_terms: 0,
            context_terms: 0,
            query_word_cache: QueryWordCache::default(),
        };
        for reader in snapshot.searcher.segment_readers() {
            let known = known.get(&reader.segment_id());
            let columns = match known {
                Some(known) => Arc::clone(&known.columns),
                None => Arc::new(Columns::read(reader, fields, memory_table)?),
            };
            // Deleted documents never become live again. So if the number of live documents is unchanged, they are the
            // same documents.
            let unchanged = known.filter(|known| known.reader.num_docs() == reader.num_docs());
            let count_cache = unchanged.map(|known| Arc::clone(&known.count_cache)).unwrap_or_default();
            let mut segment =
                Segment { reader: reader.clone(), columns, chunks: 0, chunks_without_context: 0, count_cache };
            for doc in 0..reader.max_doc() {
                if !segment.is_live(doc) {
                    continue;
                }
                let own = segment.columns.own_lengths[doc as usize];
                let has_context = segment.columns.has_context(doc);
                segment.chunks += 1;
                segment.chunks_without_context += u32::from(!has_context);
                snapshot.own_terms += u64::from(own);
                snapshot.context_terms +=
                    u64::from(if has_context { segment.columns.context_lengths[doc as usize] } else { own });
            }
            snapshot.chunks += u64::from(segment.chunks);
            snapshot.segments.push(segment);
        }
        Ok(snapshot)
    }

    /// The address of a live chunk, or `None`. The segment number in the address is an index into `segments`.
    pub(crate) fn locate(&self, chunk_key: u64) -> Option<DocAddress> {
        self.segments.iter().enumerate().find_map(|(number, segment)| {
            let entries = &segment.columns.by_chunk;
            let first = entries.partition_point(|(key, _)| *key < chunk_key);
            // After a chunk was published again, deleted documents may have the same key.
            let mut same = entries[first..].iter().take_while(|(key, _)| *key == chunk_key);
            same.find(|(_, doc)| segment.is_live(*doc)).map(|(_, doc)| DocAddress::new(number as u32, *doc))
        })
    }

    /// All live chunks as (chunk key, ordinal of the memory), in no particular order.
    pub(crate) fn chunks(&self) -> Vec<(u64, u32)> {
        let mut chunks = Vec::with_capacity(self.chunks as usize);
        for segment in &self.segments {
            let keyed = segment.columns.chunk_keys.iter().zip(&segment.columns.ordinals).zip(0..);
            let live = keyed.filter(|(_, doc)| segment.is_live(*doc));
            chunks.extend(live.map(|((key, ordinal), _)| (*key, *ordinal)));
        }
        chunks
    }
}

impl Segment {
    /// Whether a document is not deleted.
    #[inline]
    pub(crate) fn is_live(&self, doc: u32) -> bool {
        self.reader.alive_bitset().is_none_or(|alive| alive.is_alive(doc))
    }

    /// Whether any document of the segment is deleted.
    pub(crate) fn has_deletes(&self) -> bool {
        self.chunks < self.reader.max_doc()
    }
}

impl Columns {
    /// Whether the document has a context text.
    #[inline]
    pub(crate) fn has_context(&self, doc: u32) -> bool {
        self.context_lengths[doc as usize] != NO_CONTEXT
    }

    fn read(reader: &SegmentReader, fields: &TextFields, memory_table: &MemoryTable) -> Result<Columns> {
        let column = |name: &str| -> Result<Vec<u64>> {
            let column = reader.fast_fields().u64(name)?;
            Ok((0..reader.max_doc()).map(|doc| column.first(doc).unwrap_or_default()).collect())
        };
        let lengths = |name: &str| -> Result<Vec<u32>> {
            Ok(column(name)?.into_iter().map(|length| u32::try_from(length).unwrap_or(NO_CONTEXT)).collect())
        };
        let chunk_keys = column(schema::CHUNK_KEY)?;
        let mut by_chunk: Vec<(u64, u32)> = chunk_keys.iter().copied().zip(0..).collect();
        by_chunk.sort_unstable();
        Ok(Columns {
            own: reader.inverted_index(fields.own)?,
            context: reader.inverted_index(fields.context)?,
            ordinals: memory_table.ordinals(column(schema::MEMORY_KEY)?),
            own_lengths: lengths(schema::OWN_LENGTH)?,
            context_lengths: lengths(schema::CONTEXT_LENGTH)?,
            chunk_keys,
            by_chunk,
        })
    }
}
