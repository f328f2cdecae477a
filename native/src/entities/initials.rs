//! Decides what a single capital letter is: an initial ("George W. Bush"), the symbol of a unit ("12 V", "180 °C"), or
//! the last word of a sentence ("Take vitamin C. It helps."). Only an initial joins the words around its dot.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::entities::function_words::{is_function_word, is_inner_connector};
use crate::entities::word_lists::all_words;

/// Symbols of units that are single capital letters: ampere, byte, degrees, farad, giga, henry, joule, kelvin, litre,
/// mega, newton, siemens, tesla, volt, watt.
const UNITS: &str = "ABCFGHJKLMNSTVW";
/// Numbers that may be years: after "1962", a letter with a dot is an initial.
const YEARS: std::ops::RangeInclusive<u32> = 1_000..=2_100;
/// Function words that are also surnames, so that they may follow an initial: "K. He", "Theresa M. May".
const SURNAMES: [&str; 7] = ["an", "do", "he", "may", "see", "so", "will"];
/// Connectors that begin sentences, but no surnames.
const ARTICLES: [&str; 2] = ["the", "das"];
/// Maximum number of characters that are read of the word after a dot.
const NEXT_CHARS_MAX: usize = 24;

const DESIGNATOR_LIST: &str = include_str!("../../../data/words/entities/designators.txt");
static DESIGNATORS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| all_words(DESIGNATOR_LIST).collect());

/// Whether a word is a single capital letter.
pub(crate) fn is_letter(surface: &str) -> bool {
    let mut chars = surface.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.next().is_none()
}

/// Whether the letter at `start..end` is the symbol of a unit: it follows a degree sign or a number. `number` is the
/// place of the word before it if that is a number. "C++" and "C#" are no units.
pub(crate) fn is_unit_symbol(text: &str, start: usize, end: usize, number: Option<std::ops::Range<usize>>) -> bool {
    let surface = &text[start..end];
    let before = &text[..start];
    if !(is_letter(surface) && UNITS.contains(surface)) || text[end..].starts_with(['+', '#']) {
        return false;
    }
    if before.ends_with(['°', 'º']) {
        return true;
    }
    let Some(number) = number.filter(|number| number.end == before.trim_end().len()) else { return false };
    if start - number.end > 3 || before[number.end..].contains('\n') {
        return false;
    }
    let digits = &text[number.start..number.end];
    let is_fraction = text[..number.start].ends_with(['.', ',']);
    let may_be_year = !is_fraction && digits.len() == 4 && digits.parse().is_ok_and(|year| YEARS.contains(&year));
    !may_be_year || !text[end..].starts_with('.') || begins_sentence(&text[end + 1..])
}

/// Whether a letter that follows a word belongs to it, as in "plan B". `form` is the form of the word.
pub(crate) fn is_designator(form: &str) -> bool {
    DESIGNATORS.contains(form)
}

/// Whether a text after a single letter and a dot begins with a space and a function word that is no part of a name.
pub(crate) fn begins_sentence(after: &str) -> bool {
    let rest = after.trim_start();
    if rest.len() == after.len() {
        return false;
    }
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).take(NEXT_CHARS_MAX).collect();
    let form: String = word.nfkd().filter(|c| !is_combining_mark(*c)).collect::<String>().to_lowercase();
    // "J. A. Smith" has a second initial, and "K. In, R. Of" are names in a list
    let is_word = form.chars().count() > 1 && !rest[word.len()..].starts_with([',', '.']);
    let may_be_surname =
        SURNAMES.contains(&form.as_str()) || (is_inner_connector(&form) && !ARTICLES.contains(&form.as_str()));
    is_word && is_function_word(&form) && !may_be_surname
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designators_are_normalised() {
        for word in all_words(DESIGNATOR_LIST) {
            assert!(word.chars().all(|c| c.is_ascii_lowercase()), "{word}");
        }
        assert!(is_designator("vitamin") && !is_designator("george"));
    }
}
