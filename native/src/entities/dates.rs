//! Recognises calendar dates in a sequence of words. All notations of a date get the same form, so "8 May 2023" and
//! "2023-05-08" are the same entity.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::entities::words::{Gap, Word};

/// Names and abbreviations of each month, normalised by `words::form_of`, in the grammatical case that dates use.
const MONTHS: [&str; 12] = [
    "january jan januar janvier janv enero ene gennaio gen janeiro januari stycznia января января ocak",
    "february feb februar fevrier fevr febrero febbraio fevereiro fev februari lutego февраля subat",
    "march mar marz mars marzo marco maart marca марта mart",
    "april apr avril avr abril abr aprile kwietnia апреля nisan",
    "may mai mayo maggio mag maio mei maja maj мая mayıs",
    "june jun juni juin junio giugno giu junho czerwca июня haziran",
    "july jul juli juillet juil julio luglio lug julho lipca июля temmuz",
    "august aug aout agosto ago augustus augusti sierpnia августа agustos",
    "september sept sep septembre septiembre settembre set setembro wrzesnia сентября eylul",
    "october oct oktober okt octobre octubre ottobre ott outubro out pazdziernika октября ekim",
    "november nov novembre noviembre novembro listopada ноября kasım",
    "december dec dezember dez decembre diciembre dicembre dic dezembro grudnia декабря aralık",
];

fn month_of(word: &Word) -> Option<u32> {
    static MONTH_OF: LazyLock<FxHashMap<&str, u32>> = LazyLock::new(|| {
        let numbered = (1..).zip(MONTHS);
        numbered.flat_map(|(number, names)| names.split(' ').map(move |name| (name, number))).collect()
    });
    MONTH_OF.get(word.form.as_str()).copied()
}

/// Whether a word is the name of a month.
pub(crate) fn is_month(word: &Word) -> bool {
    month_of(word).is_some()
}

/// Finds a date that begins at the first of these words. Returns its number of words, and its form, like
/// `2023 05 08`.
pub(crate) fn date_at(words: &[Word]) -> Option<(usize, String)> {
    let parsed = |notation: &[Part]| parse(words, notation);
    use Part::{Day, Month, MonthNumber, Of, Unit, Year};
    let (length, [year, month, day]) = parsed(&[Year, MonthNumber, Day])
        .or_else(|| parsed(&[Year, Unit('年'), MonthNumber, Unit('月'), Day]))
        .or_else(|| parsed(&[Year, Unit('년'), MonthNumber, Unit('월'), Day]))
        .or_else(|| parsed(&[Day, Of, Month, Of, Year]))
        .or_else(|| parsed(&[Month, Day, Year]))?;
    let days = [31, if year % 4 == 0 { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let last = *days.get(month.checked_sub(1)? as usize)?;
    (1..=last).contains(&day).then(|| (length, format!("{year:04} {month:02} {day:02}")))
}

/// A part of a parsed date.
#[derive(Clone, Copy)]
enum Part {
    Year,
    Month,
    MonthNumber,
    Day,
    /// Optional word between the parts: "of", "de", "do" or "del".
    Of,
    /// Character after a number, such as 年 ("year").
    Unit(char),
}

/// Parses one notation of a date. Returns the number of words, and year, month and day.
fn parse(words: &[Word], notation: &[Part]) -> Option<(usize, [u32; 3])> {
    let (mut at, mut found) = (0, [0; 3]);
    for part in notation {
        let word = words.get(at);
        if at > 0 && word.is_some_and(|word| word.gap == Gap::Hard && !is_after_ordinal_dot(&words[at - 1], word)) {
            return None;
        }
        match part {
            Part::Of => {
                at += usize::from(word.is_some_and(|word| matches!(word.form.as_str(), "of" | "de" | "do" | "del")));
                continue;
            }
            // A date like 2023-05-08, which consists of three numbers only, must have a year of four digits. Elsewhere,
            // three digits are enough.
            Part::Year => found[0] = number(word?, if notation.len() > 3 || at > 0 { 3..=4 } else { 4..=4 })?,
            Part::MonthNumber => found[1] = number(word?, 1..=2)?,
            Part::Month => found[1] = month_of(word?)?,
            Part::Day => found[2] = number(word?, 1..=2)?,
            Part::Unit(unit) => {
                if !word?.form.starts_with(*unit) && word?.form.chars().ne(decomposed(*unit)) {
                    return None;
                }
            }
        }
        at += 1;
    }
    Some((at, found))
}

/// Whether the dot between two words belongs to a day, as in "8. Mai", and does not end a sentence.
fn is_after_ordinal_dot(before: &Word, word: &Word) -> bool {
    number(before, 1..=2).is_some() && word.start - before.end <= 2
}

/// NFKD form of a character. It is needed for comparisons because `words::form_of` decomposes Hangul.
fn decomposed(character: char) -> impl Iterator<Item = char> {
    unicode_normalization::UnicodeNormalization::nfkd(std::iter::once(character))
}

/// Parses a number that has an allowed number of digits. It may have an ordinal ending, as "8th".
fn number(word: &Word, digits: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let form = word.form.as_str();
    let bare = ["st", "nd", "rd", "th", "er", "o"].iter().find_map(|ending| form.strip_suffix(ending)).unwrap_or(form);
    let is_number = digits.contains(&bare.len()) && bare.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { bare.parse().ok() } else { None }
}
