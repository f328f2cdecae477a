//! Small words of languages with capital letters, compared in the form of `words::form_of`: words that may stand inside
//! names, and words that begin sentences with a capital and name nothing. The lists are in `data/words/entities`.
//! Languages without capital letters are handled by `entities::grammar_words`.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::entities::word_lists::{all_words, section_words};

/// Whether a word begins sentences with a capital and names nothing.
pub(crate) fn is_function_word(form: &str) -> bool {
    FUNCTION_WORDS.contains(form)
}

/// Whether a small word may stand inside one name, as "of" in "Bank of England".
pub(crate) fn joins_names(form: &str) -> bool {
    BEGINNING.contains(form) || INSIDE.contains(form)
}

/// Whether a small word may begin a name, as in "The Hague" or "Los Angeles". No German article: with nouns in capitals
/// any noun would be a name.
pub(crate) fn begins_names(form: &str) -> bool {
    BEGINNING.contains(form)
}

/// Whether a small word may stand inside a name or between two, as "and".
pub(crate) fn parts_names(form: &str) -> bool {
    BETWEEN.contains(form)
}

const FUNCTION_WORD_LIST: &str = include_str!("../../../data/words/entities/function-words.txt");
const CONNECTOR_LIST: &str = include_str!("../../../data/words/entities/connectors.txt");

static FUNCTION_WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| all_words(FUNCTION_WORD_LIST).collect());
static BEGINNING: LazyLock<FxHashSet<&str>> = LazyLock::new(|| section_words(CONNECTOR_LIST, "beginning").collect());
static INSIDE: LazyLock<FxHashSet<&str>> = LazyLock::new(|| section_words(CONNECTOR_LIST, "inside").collect());
static BETWEEN: LazyLock<FxHashSet<&str>> = LazyLock::new(|| section_words(CONNECTOR_LIST, "between").collect());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::word_lists::section_names;
    use crate::entities::words::form_of;

    #[test]
    fn lists_hold_normalised_words_in_known_sections() {
        assert_eq!(section_names(CONNECTOR_LIST).collect::<Vec<_>>(), ["beginning", "inside", "between"]);
        for word in all_words(FUNCTION_WORD_LIST).chain(all_words(CONNECTOR_LIST)) {
            assert_eq!(form_of(word), word);
        }
        assert!(is_function_word("the") && is_function_word("ως") && !is_function_word("bank"));
        assert!(begins_names("los") && joins_names("of") && parts_names("and") && !begins_names("der"));
    }
}
