//! Decodes the texts of a JSON body.

use memchr::memchr2;

/// Why a well-formed JSON text cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFlaw {
    /// It contains a NUL character.
    Nul,
    /// It contains half a surrogate pair.
    LoneSurrogate,
}

/// The number of bytes before the closing quote, for bytes that begin after the opening quote. `None` if there is no
/// closing quote.
pub fn raw_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Decodes the UTF-8 between the quotes of a text, and passes the decoded UTF-8 on in slices. Returns the first flaw.
/// Half a surrogate pair is left out.
pub fn decode(raw: &[u8], mut sink: impl FnMut(&[u8])) -> Result<Option<TextFlaw>, Malformed> {
    let mut flaw = None;
    let mut rest = raw;
    loop {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        if has_control_character(&rest[..plain]) {
            return Err(Malformed);
        }
        sink(&rest[..plain]);
        if plain == rest.len() {
            return Ok(flaw);
        }
        let (character, length) = unescape(&rest[plain..]).ok_or(Malformed)?;
        match character {
            Some(character) => {
                if character == '\0' {
                    flaw = flaw.or(Some(TextFlaw::Nul));
                }
                sink(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => flaw = flaw.or(Some(TextFlaw::LoneSurrogate)),
        }
        rest = &rest[plain + length..];
    }
}

/// The end of a piece of the UTF-8 between the quotes of a valid text: `from` plus about `bytes`, but not within an
/// escape sequence.
pub fn piece_end(raw: &[u8], from: usize, bytes: usize) -> usize {
    let target = from.saturating_add(bytes).min(raw.len());
    let mut at = from;
    while at < target {
        match memchr::memchr(b'\\', &raw[at..target]) {
            None => return target,
            Some(plain) => {
                let escape = at + plain;
                at = escape + unescape(&raw[escape..]).map_or(1, |(_, length)| length);
            }
        }
    }
    at
}

/// A text has an unknown escape or a control character.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

fn has_control_character(bytes: &[u8]) -> bool {
    // Without a branch in the loop, the compiler uses vector instructions.
    bytes.iter().fold(false, |found, byte| found | (*byte < 0x20))
}

/// The character of the escape sequence at the beginning of `bytes`, and the length of the sequence. The character is
/// `None` for half a surrogate pair. Returns `None` for an unknown escape.
fn unescape(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let simple = |character| Some((Some(character), 2));
    match *bytes.get(1)? {
        b'"' => simple('"'),
        b'\\' => simple('\\'),
        b'/' => simple('/'),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'u' => {
            let unit = hexadecimal(bytes.get(2..6)?)?;
            if !(0xd800..0xe000).contains(&unit) {
                return Some((char::from_u32(unit), 6));
            }
            let low = match bytes.get(6..8) {
                Some(b"\\u") if unit < 0xdc00 => bytes.get(8..12).and_then(hexadecimal),
                _ => None,
            };
            match low {
                Some(low) if (0xdc00..0xe000).contains(&low) => {
                    Some((char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)), 12))
                }
                _ => Some((None, 6)),
            }
        }
        _ => None,
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + (*digit as char).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(raw: &str) -> Result<(String, Option<TextFlaw>), Malformed> {
        let mut text = Vec::new();
        let flaw = decode(raw.as_bytes(), |slice| text.extend_from_slice(slice))?;
        Ok((String::from_utf8(text).expect("UTF-8"), flaw))
    }

    #[test]
    fn escapes_become_characters() {
        let all = r#"a\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\uD83D\ude00é"#;
        assert_eq!(decoded(all), Ok(("a\"\\/\u{8}\u{c}\n\r\tAé€😀é".to_owned(), None)));
    }

    #[test]
    fn flaws_are_reported() {
        assert_eq!(decoded(r"a\u0000b").map(|(_, flaw)| flaw), Ok(Some(TextFlaw::Nul)));
        for lone in [r"\ud800", r"\udc00\ud800", r"\ud800x", r"\ud800\n", r"\ud800\u0041", r"\ud800\ud800"] {
            assert_eq!(decoded(lone).map(|(_, flaw)| flaw), Ok(Some(TextFlaw::LoneSurrogate)), "{lone}");
        }
        for malformed in [r"\x", r"\u12", r"\u12g4", "\\", "a\nb", "\0"] {
            assert_eq!(decoded(malformed), Err(Malformed), "{malformed:?}");
        }
    }

    #[test]
    fn pieces_end_between_escapes() {
        let all = r#"aé\"\\\/\b\u0041\u20ac\uD83D\ude00é\n"#.as_bytes();
        let mut whole = Vec::new();
        decode(all, |slice| whole.extend_from_slice(slice)).expect("valid");
        for bytes in 1..=all.len() + 1 {
            let mut joined = Vec::new();
            let mut at = 0;
            while at < all.len() {
                let end = piece_end(all, at, bytes);
                assert!(end > at && end <= all.len());
                assert_eq!(decode(&all[at..end], |slice| joined.extend_from_slice(slice)), Ok(None));
                at = end;
            }
            assert_eq!(joined, whole, "{bytes}");
        }
    }

    #[test]
    fn the_closing_quote_is_found_after_escaped_ones() {
        assert_eq!(raw_length(br#"a\"b\\" x"#), Some(6));
        assert_eq!(raw_length(b"\""), Some(0));
        assert_eq!(raw_length(br#"a\""#), None);
        assert_eq!(raw_length(b"a\\"), None);
    }
}
