//! What a chunk is made of as a Tantivy document.

use tantivy::TantivyDocument;
use tantivy::schema::document::{DeserializeError, DocumentDeserialize, DocumentDeserializer};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, OwnedValue, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{PreTokenizedString, Token};

use crate::text::analysis::{Analyzer, Stemming};

/// Column of the chunk's key.
pub(crate) const CHUNK_KEY: &str = "chunk_key";
/// Column of its memory's key, by which it is deleted.
pub(crate) const MEMORY_KEY: &str = "memory_key";
/// Column of the number of terms of its own words. Tantivy's own lengths are rounded to a byte.
pub(crate) const OWN_LENGTH: &str = "own_length";
/// Column of the number of terms of its context.
pub(crate) const CONTEXT_LENGTH: &str = "context_length";

/// In the column `CONTEXT_LENGTH`: the chunk has no context of its own.
pub(crate) const NO_CONTEXT: u32 = u32::MAX;

/// A chunk to index.
#[derive(Debug, Clone, Copy)]
pub struct TextChunk<'text> {
    /// The chunk.
    pub chunk_key: u64,
    /// Its memory.
    pub memory_key: u64,
    /// The chunk's own words.
    pub own: &'text str,
    /// Its words together with those around it; `None` when nothing is around it, which counts as the same words.
    pub context: Option<&'text str>,
    /// BCP 47 tag that chooses the stemmer.
    pub language: &'text str,
    /// What a result shows.
    pub passage: &'text str,
    /// Where it stands in its memory; kept for the caller.
    pub place: &'text str,
    /// The record of its names (`entities::record`).
    pub names: &'text [u8],
}

/// The fields of the schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextFields {
    pub(crate) own: Field,
    pub(crate) context: Field,
    own_length: Field,
    context_length: Field,
    chunk_key: Field,
    pub(crate) memory_key: Field,
    pub(crate) passage: Field,
    pub(crate) place: Field,
    pub(crate) names: Field,
}

/// The schema: two word fields with frequencies but without positions, columns, and what is stored: passage, place,
/// names.
pub(crate) fn schema() -> (Schema, TextFields) {
    let mut builder = SchemaBuilder::new();
    // Documents come with their terms; the tokenizer's name is never used, but has to exist.
    let postings = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let words = TextOptions::default().set_indexing_options(postings);
    let fields = TextFields {
        own: builder.add_text_field("own", words.clone()),
        context: builder.add_text_field("context", words),
        own_length: builder.add_u64_field(OWN_LENGTH, FAST),
        context_length: builder.add_u64_field(CONTEXT_LENGTH, FAST),
        chunk_key: builder.add_u64_field(CHUNK_KEY, FAST),
        memory_key: builder.add_u64_field(MEMORY_KEY, FAST | INDEXED),
        passage: builder.add_text_field("passage", STORED),
        place: builder.add_text_field("place", STORED),
        names: builder.add_bytes_field("names", STORED),
    };
    (builder.build(), fields)
}

/// Turns a chunk into a document, and says how it was stemmed.
pub(crate) fn document(chunk: &TextChunk<'_>, fields: &TextFields, analyzer: &Analyzer) -> (TantivyDocument, Stemming) {
    let stemming = Stemming::for_language(chunk.language);
    let mut document = TantivyDocument::new();
    let own = analyzer.document_terms(chunk.own, stemming);
    document.add_u64(fields.own_length, own.len() as u64);
    document.add_pre_tokenized_text(fields.own, pre_tokenized(own));
    match chunk.context {
        Some(context) => {
            let context = analyzer.document_terms(context, stemming);
            document.add_u64(fields.context_length, context.len() as u64);
            document.add_pre_tokenized_text(fields.context, pre_tokenized(context));
        }
        None => document.add_u64(fields.context_length, u64::from(NO_CONTEXT)),
    }
    document.add_u64(fields.chunk_key, chunk.chunk_key);
    document.add_u64(fields.memory_key, chunk.memory_key);
    document.add_text(fields.passage, chunk.passage);
    document.add_text(fields.place, chunk.place);
    document.add_bytes(fields.names, chunk.names);
    (document, stemming)
}

fn pre_tokenized(terms: Vec<String>) -> PreTokenizedString {
    let token = |(position, text)| Token { position, text, position_length: 1, ..Token::default() };
    PreTokenizedString { text: String::new(), tokens: terms.into_iter().enumerate().map(token).collect() }
}

/// The record of names of a stored document; empty where it has none.
pub(crate) struct StoredNames(pub(crate) Vec<u8>);

impl DocumentDeserialize for StoredNames {
    fn deserialize<'de, D: DocumentDeserializer<'de>>(
        mut deserializer: D,
    ) -> std::result::Result<StoredNames, DeserializeError> {
        let mut names = Vec::new();
        // The only field of bytes there is.
        while let Some((_, value)) = deserializer.next_field::<OwnedValue>()? {
            if let OwnedValue::Bytes(bytes) = value {
                names = bytes;
            }
        }
        Ok(StoredNames(names))
    }
}
