//! One commit of the text index as searches see it: segments, and the columns that scoring and look-ups need.
//! Nothing here changes; a later commit is another view.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::{DocAddress, InvertedIndexReader, Searcher, SegmentReader};

use crate::error::Result;
use crate::filters::candidates::Candidates;
use crate::text::analysis::Stemming;
use crate::text::query_words::RecentWords;
use crate::text::remembered_counts::Counted;
use crate::text::schema::{self, NO_CONTEXT, TextFields};

/// A commit.
pub(crate) struct View {
    /// Tantivy's own handle on it, which keeps its files.
    pub(crate) searcher: Searcher,
    /// Its segments, in the searcher's order.
    pub(crate) segments: Vec<Segment>,
    /// The stemmings of its documents, which every query has to try.
    pub(crate) stemmings: BTreeSet<Stemming>,
    /// Live chunks in it.
    pub(crate) chunks: u64,
    /// Terms of all live chunks, their own words.
    pub(crate) own_terms: u64,
    /// The same of their context, which is their own words where there is none.
    pub(crate) context_terms: u64,
    /// What was looked up in it last.
    pub(crate) recent: RecentWords,
}

/// A segment of a commit: what never changes, and which of its documents are alive.
pub(crate) struct Segment {
    /// Tantivy's own handle.
    pub(crate) reader: SegmentReader,
    /// The columns.
    pub(crate) columns: Arc<Columns>,
    /// Live chunks.
    pub(crate) chunks: u32,
    /// Live chunks without a context of their own.
    pub(crate) chunks_without_context: u32,
    /// In how many of them words were found to occur; shared by the views in which the same documents are alive.
    pub(crate) counted: Arc<Counted>,
}

/// Columns by document number. A segment's documents never change, only die, so views share them.
pub(crate) struct Columns {
    /// Postings of the chunks' own words.
    pub(crate) own: Arc<InvertedIndexReader>,
    /// Postings of their contexts.
    pub(crate) context: Arc<InvertedIndexReader>,
    /// The memory of each document.
    pub(crate) ordinals: Vec<u32>,
    /// Its chunk.
    pub(crate) chunk_keys: Vec<u64>,
    /// Its number of terms.
    pub(crate) own_lengths: Vec<u32>,
    /// The number of terms of its context; `NO_CONTEXT` where it has none.
    pub(crate) context_lengths: Vec<u32>,
    /// (chunk key, document), ascending.
    by_chunk: Vec<(u64, u32)>,
}

impl View {
    /// Reads the columns of segments that `earlier` does not have yet. About 10 ms per 100,000 new chunks.
    pub(crate) fn new(
        searcher: Searcher,
        stemmings: BTreeSet<Stemming>,
        fields: &TextFields,
        candidates: &Candidates,
        earlier: Option<&View>,
    ) -> Result<View> {
        let known: FxHashMap<SegmentId, &Segment> =
            earlier.into_iter().flat_map(|view| &view.segments).map(|s| (s.reader.segment_id(), s)).collect();
        let mut view = View {
            searcher,
            segments: Vec::new(),
            stemmings,
            chunks: 0,
            own_terms: 0,
            context_terms: 0,
            recent: RecentWords::default(),
        };
        for reader in view.searcher.segment_readers() {
            let known = known.get(&reader.segment_id());
            let columns = match known {
                Some(known) => Arc::clone(&known.columns),
                None => Arc::new(Columns::read(reader, fields, candidates)?),
            };
            // Documents only die: as many alive are the same.
            let unchanged = known.filter(|known| known.reader.num_docs() == reader.num_docs());
            let counted = unchanged.map(|known| Arc::clone(&known.counted)).unwrap_or_default();
            let mut segment =
                Segment { reader: reader.clone(), columns, chunks: 0, chunks_without_context: 0, counted };
            for doc in 0..reader.max_doc() {
                if !segment.is_live(doc) {
                    continue;
                }
                let own = segment.columns.own_lengths[doc as usize];
                let has_context = segment.columns.has_context(doc);
                segment.chunks += 1;
                segment.chunks_without_context += u32::from(!has_context);
                view.own_terms += u64::from(own);
                view.context_terms +=
                    u64::from(if has_context { segment.columns.context_lengths[doc as usize] } else { own });
            }
            view.chunks += u64::from(segment.chunks);
            view.segments.push(segment);
        }
        Ok(view)
    }

    /// Where a live chunk is; segment numbers are those of `segments` and of the searcher.
    pub(crate) fn locate(&self, chunk_key: u64) -> Option<DocAddress> {
        self.segments.iter().enumerate().find_map(|(number, segment)| {
            let entries = &segment.columns.by_chunk;
            let first = entries.partition_point(|(key, _)| *key < chunk_key);
            // A chunk that was published again may have dead documents under the same key.
            let mut same = entries[first..].iter().take_while(|(key, _)| *key == chunk_key);
            same.find(|(_, doc)| segment.is_live(*doc)).map(|(_, doc)| DocAddress::new(number as u32, *doc))
        })
    }

    /// All live chunks, as (chunk key, memory's ordinal), in no particular order.
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
    /// Whether a document was not deleted.
    #[inline]
    pub(crate) fn is_live(&self, doc: u32) -> bool {
        self.reader.alive_bitset().is_none_or(|alive| alive.is_alive(doc))
    }

    /// Whether any document was.
    pub(crate) fn has_deletes(&self) -> bool {
        self.chunks < self.reader.max_doc()
    }
}

impl Columns {
    /// Whether the document has a context of its own.
    #[inline]
    pub(crate) fn has_context(&self, doc: u32) -> bool {
        self.context_lengths[doc as usize] != NO_CONTEXT
    }

    fn read(reader: &SegmentReader, fields: &TextFields, candidates: &Candidates) -> Result<Columns> {
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
            ordinals: candidates.ordinals(column(schema::MEMORY_KEY)?),
            own_lengths: lengths(schema::OWN_LENGTH)?,
            context_lengths: lengths(schema::CONTEXT_LENGTH)?,
            chunk_keys,
            by_chunk,
        })
    }
}
