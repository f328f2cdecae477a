//! Parses a whole JSON text and takes its large parts out of it: long texts, long runs of white space, and arrays in
//! the outermost object. What is left is small, and is called the skeleton.

use std::ops::Range;

use crate::json::text::{TextFlaw, decode, raw_length};

/// Texts with more bytes between their quotes are taken out. No field but `content` may be as long: metadata of 10 KB
/// in which every character is escaped has 60 KiB.
pub const LONG_TEXT_BYTES: usize = 64 * 1024;
/// Runs of white space with more bytes are taken out.
const LONG_BLANK_BYTES: usize = 1024;
/// Items of an array in the outermost object are grouped up to this number of bytes. JavaScript parses one group at
/// once, which takes up to 2 ms. A larger item is a group of its own.
const GROUP_BYTES: usize = 64 * 1024;
/// Maximum number of bytes of an item, and of the skeleton. What is taken out does not count.
pub const PART_BYTES_MAX: usize = 1024 * 1024;
/// Maximum number of bytes of each name in the path of a long text. Each path is passed to JavaScript.
const NAME_BYTES_MAX: usize = 1024;
/// Maximum nesting depth, so that recursion cannot overflow the stack. `counter` has a lower limit for the API.
const DEPTH_MAX: usize = 256;

/// A step from a container to one of its values. A name is the range of its raw text, without quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Name(Range<usize>),
    Item(usize),
}

/// Why a text is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is not JSON. The text says what was expected, and at which byte.
    Syntax(String),
    /// A text contains NUL.
    Nul(Vec<Step>),
    /// A text contains a lone surrogate.
    LoneSurrogate(Vec<Step>),
    /// A number is outside of the range of a double.
    Number(Vec<Step>),
    /// An item or the skeleton has more than `PART_BYTES_MAX` bytes.
    LongPart(Vec<Step>),
    /// A long text has a name of more than `NAME_BYTES_MAX` bytes in its path.
    LongName(Vec<Step>),
}

/// A text that is taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongText {
    pub path: Vec<Step>,
    /// Range between the quotes.
    pub raw: Range<usize>,
}

/// An array in the outermost object whose items are taken out in groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupedArray {
    /// Range of the raw name.
    pub name: Range<usize>,
    /// Ranges of items with the commas between them.
    pub groups: Vec<Range<usize>>,
}

/// What replaces a range in the skeleton.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replacement {
    Nothing,
    Text(usize),
    Array(usize),
}

/// The parts of a JSON text.
#[derive(Debug, Default)]
pub struct Split {
    pub texts: Vec<LongText>,
    pub arrays: Vec<GroupedArray>,
    /// Replaced ranges in ascending order. The range of an array contains those of its items.
    cuts: Vec<(Range<usize>, Replacement)>,
    whole: Range<usize>,
}

impl Split {
    /// Returns the skeleton. A text or array that was taken out is replaced by a text that begins with NUL, which no
    /// other text contains. White space that was taken out is not replaced.
    pub fn skeleton(&self, json: &[u8]) -> String {
        self.emitted(json, self.whole.clone())
    }

    /// The items of a group as a JSON array.
    pub fn group(&self, json: &[u8], range: &Range<usize>) -> String {
        format!("[{}]", self.emitted(json, range.clone()))
    }

    fn emitted(&self, json: &[u8], range: Range<usize>) -> String {
        let mut out = Vec::new();
        let mut at = range.start;
        let first = self.cuts.partition_point(|(cut, _)| cut.start < range.start);
        for (cut, replacement) in &self.cuts[first..] {
            if cut.start >= range.end {
                break;
            }
            if cut.start < at {
                continue; // inside of an array that is replaced
            }
            out.extend_from_slice(&json[at..cut.start]);
            match replacement {
                Replacement::Nothing => {}
                Replacement::Text(index) => out.extend_from_slice(format!("\"\\u0000text {index}\"").as_bytes()),
                Replacement::Array(index) => out.extend_from_slice(format!("\"\\u0000array {index}\"").as_bytes()),
            }
            at = cut.end;
        }
        out.extend_from_slice(&json[at..range.end]);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Parses a JSON text. Of several reasons for a refusal, `Syntax` is returned if it is one of them; otherwise the one
/// that is found first. A part that is too long is found at its end.
pub fn split(json: &[u8]) -> Result<Split, Refusal> {
    if let Err(error) = std::str::from_utf8(json) {
        return Err(Refusal::Syntax(format!("byte {} is not valid UTF-8", error.valid_up_to())));
    }
    let mut parser = Parser { json, at: 0, path: Vec::new(), flaw: None, split: Split::default(), taken: 0 };
    if json.starts_with(b"\xef\xbb\xbf") {
        parser.at = 3;
    }
    parser.skip_blanks();
    let (start, taken_before) = (parser.at, parser.taken);
    parser.value()?;
    let end = parser.at;
    let bytes = (end - start) - (parser.taken - taken_before);
    parser.skip_blanks();
    if parser.at < json.len() {
        return Err(parser.expected("the end of the body"));
    }
    parser.split.whole = start..end;
    parser.check_part(bytes);
    parser.split.cuts.sort_by_key(|(range, _)| (range.start, usize::MAX - range.end));
    match parser.flaw {
        Some(flaw) => Err(flaw),
        None => Ok(parser.split),
    }
}

struct Parser<'json> {
    json: &'json [u8],
    at: usize,
    path: Vec<Step>,
    /// First reason for a refusal that is not a syntax error.
    flaw: Option<Refusal>,
    split: Split,
    /// Number of bytes that were taken out so far.
    taken: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }

    fn expected(&self, what: &str) -> Refusal {
        let found = if self.at >= self.json.len() { " but the body ends" } else { "" };
        Refusal::Syntax(format!("expected {what} at byte {}{found}", self.at.min(self.json.len())))
    }

    fn skip_blanks(&mut self) {
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        if self.at - start > LONG_BLANK_BYTES {
            self.take_out(start..self.at, Replacement::Nothing);
        }
    }

    fn take_out(&mut self, range: Range<usize>, replacement: Replacement) {
        self.taken += range.len();
        self.split.cuts.push((range, replacement));
    }

    fn value(&mut self) -> Result<(), Refusal> {
        if self.path.len() > DEPTH_MAX {
            return Err(self.expected(&format!("at most {DEPTH_MAX} levels")));
        }
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.text(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => Err(self.expected("a value")),
        }
    }

    fn object(&mut self) -> Result<(), Refusal> {
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.expected("a name in double quotes"));
            }
            let name = self.raw_text()?;
            self.path.push(Step::Name(name.clone()));
            self.check_text(&name)?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return Err(self.expected("':'"));
            }
            self.at += 1;
            self.skip_blanks();
            self.value()?;
            self.path.pop();
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.expected("',' or '}'")),
            }
            self.skip_blanks();
        }
        self.at += 1;
        Ok(())
    }

    fn array(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        let taken_before = self.taken;
        let name = match self.path.as_slice() {
            [Step::Name(name)] => Some(name.clone()),
            _ => None,
        };
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut group_bytes = usize::MAX;
        self.at += 1;
        self.skip_blanks();
        let mut item = 0;
        if self.peek() != Some(b']') {
            loop {
                self.path.push(Step::Item(item));
                let (item_start, item_taken) = (self.at, self.taken);
                self.value()?;
                if name.is_some() {
                    let bytes = (self.at - item_start) - (self.taken - item_taken);
                    self.check_part(bytes);
                    match groups.last_mut() {
                        Some(group) if group_bytes + bytes <= GROUP_BYTES => {
                            group.end = self.at;
                            group_bytes += bytes;
                        }
                        _ => {
                            groups.push(item_start..self.at);
                            group_bytes = bytes;
                        }
                    }
                }
                self.path.pop();
                self.skip_blanks();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => break,
                    _ => return Err(self.expected("',' or ']'")),
                }
                self.skip_blanks();
                item += 1;
            }
        }
        self.at += 1;
        if let (Some(name), true) = (name, groups.len() > 1) {
            self.taken = taken_before;
            self.take_out(start..self.at, Replacement::Array(self.split.arrays.len()));
            self.split.arrays.push(GroupedArray { name, groups });
        }
        Ok(())
    }

    /// Reads a text with its quotes. Returns the range between them.
    fn raw_text(&mut self) -> Result<Range<usize>, Refusal> {
        let start = self.at + 1;
        match raw_length(&self.json[start..]) {
            Some(length) => {
                self.at = start + length + 1;
                Ok(start..start + length)
            }
            None => {
                self.at = self.json.len();
                Err(self.expected("the closing '\"' of a text"))
            }
        }
    }

    fn text(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        let raw = self.raw_text()?;
        if raw.len() <= LONG_TEXT_BYTES {
            return self.check_text(&raw);
        }
        self.check_text(&raw)?;
        if self.path.iter().any(|step| matches!(step, Step::Name(name) if name.len() > NAME_BYTES_MAX)) {
            self.refuse(Refusal::LongName);
        }
        let text = self.split.texts.len();
        self.take_out(start..self.at, Replacement::Text(text));
        let path = self.path.clone();
        self.split.texts.push(LongText { path, raw });
        Ok(())
    }

    fn check_text(&mut self, raw: &Range<usize>) -> Result<(), Refusal> {
        match decode(&self.json[raw.clone()], |_| {}) {
            Ok(None) => {}
            Ok(Some(TextFlaw::Nul)) => self.refuse(Refusal::Nul),
            Ok(Some(TextFlaw::LoneSurrogate)) => self.refuse(Refusal::LoneSurrogate),
            Err(_) => {
                let what = "a text without control characters and unknown escapes";
                return Err(Refusal::Syntax(format!("expected {what} from byte {}", raw.start - 1)));
            }
        }
        Ok(())
    }

    /// Remembers a refusal of the current value, if it is the first one.
    fn refuse(&mut self, refusal: impl FnOnce(Vec<Step>) -> Refusal) {
        if self.flaw.is_none() {
            self.flaw = Some(refusal(self.path.clone()));
        }
    }

    fn check_part(&mut self, bytes: usize) {
        if bytes > PART_BYTES_MAX {
            self.refuse(Refusal::LongPart);
        }
    }

    fn number(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        // A number without an exponent needs more than 300 digits to be outside of the range.
        let text = &self.json[start..self.at];
        let may_be_large = text.len() > 300 || text.iter().any(|byte| matches!(byte, b'e' | b'E'));
        if may_be_large {
            let number: Option<f64> = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            if !number.is_some_and(f64::is_finite) {
                self.refuse(Refusal::Number);
            }
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn literal(&mut self, literal: &[u8]) -> Result<(), Refusal> {
        if !self.json[self.at..].starts_with(literal) {
            return Err(self.expected("a value"));
        }
        self.at += literal.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(length: usize) -> String {
        "x".repeat(length)
    }

    fn refusal(json: &str) -> Refusal {
        split(json.as_bytes()).expect_err("a refusal")
    }

    #[test]
    fn a_short_text_is_its_own_skeleton() {
        for json in [r#"{"a":[1,{"b":"c"}],"d":-1.5e-7}"#, "[]", "null", r#""x""#, "12", "{}", r#"{"a":{}}"#] {
            let parts = split(json.as_bytes()).expect("JSON");
            assert_eq!(parts.skeleton(json.as_bytes()), json);
            assert!(parts.texts.is_empty() && parts.arrays.is_empty());
        }
    }

    #[test]
    fn long_texts_and_long_blanks_are_taken_out() {
        let content = long(LONG_TEXT_BYTES + 1);
        let json = format!("\u{feff} {{{}\"content\": \"{content}\" ,\"n\":1}}{}", " ".repeat(2000), " ".repeat(9));
        let parts = split(json.as_bytes()).expect("JSON");
        assert_eq!(parts.skeleton(json.as_bytes()), r#"{"content": "\u0000text 0" ,"n":1}"#);
        let blanks = " ".repeat(2_000_000);
        let around = format!("{blanks}{{\"a\":{blanks}1}}{blanks}");
        assert_eq!(split(around.as_bytes()).expect("JSON").skeleton(around.as_bytes()), r#"{"a":1}"#);
        let text = &parts.texts[0];
        assert_eq!(&json.as_bytes()[text.raw.clone()], content.as_bytes());
        assert_eq!(text.path, vec![Step::Name(2006..2013)]);
    }

    #[test]
    fn items_of_an_array_in_the_outermost_object_are_grouped() {
        let items: Vec<String> = (0..100).map(|item| format!("{{\"t\":\"{}\",\"n\":{item}}}", long(1000))).collect();
        let json = format!("{{\"m\":[{}],\"n\":[1,2]}}", items.join(" , "));
        let parts = split(json.as_bytes()).expect("JSON");
        assert_eq!(parts.skeleton(json.as_bytes()), r#"{"m":"\u0000array 0","n":[1,2]}"#);
        let groups = &parts.arrays[0].groups;
        assert_eq!(groups.len(), 2);
        let all: Vec<String> = groups.iter().map(|range| parts.group(json.as_bytes(), range)).collect();
        let joined = all.iter().map(|group| &group[1..group.len() - 1]).collect::<Vec<_>>().join(" , ");
        assert_eq!(joined, items.join(" , "));
    }

    #[test]
    fn a_part_without_its_long_texts_has_a_limit() {
        let item = format!("{{\"a\":[{}]}}", vec![format!("\"{}\"", long(60_000)); 18].join(","));
        assert_eq!(refusal(&format!("{{\"m\":[1,{item}]}}")), Refusal::LongPart(vec![Step::Name(2..3), Step::Item(1)]));
        assert_eq!(refusal(&format!("[{item}]")), Refusal::LongPart(vec![]));
        let many = vec![format!("\"{}\"", long(60_000)); 18].join(",");
        assert!(split(format!("{{\"m\":[{many}]}}").as_bytes()).is_ok());
        assert!(split(format!("{{\"m\":\"{}\"}}", long(3_000_000)).as_bytes()).is_ok());
        let named = |bytes| format!("{{\"{}\":\"{}\"}}", long(bytes), long(70_000));
        assert!(split(named(NAME_BYTES_MAX).as_bytes()).is_ok());
        let past = NAME_BYTES_MAX + 1;
        assert_eq!(refusal(&named(past)), Refusal::LongName(vec![Step::Name(2..2 + past)]));
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for (json, message) in [
            ("", "expected a value at byte 0 but the body ends"),
            (r#"{"a":1"#, "expected ',' or '}' at byte 6 but the body ends"),
            (r#"{"a":1}{}"#, "expected the end of the body at byte 7"),
            (r#"{"a":1,}"#, "expected a name in double quotes at byte 7"),
            ("{'a':1}", "expected a name in double quotes at byte 1"),
            ("[1,]", "expected a value at byte 3"),
            ("[NaN]", "expected a value at byte 1"),
            ("[01]", "expected ',' or ']' at byte 2"),
            ("[1.]", "expected a digit at byte 3"),
            ("[-]", "expected a digit at byte 2"),
            ("[1e]", "expected a digit at byte 3"),
            ("[tru]", "expected a value at byte 1"),
            ("[\"a\nb\"]", "expected a text without control characters and unknown escapes from byte 1"),
            (r#"["\x"]"#, "expected a text without control characters and unknown escapes from byte 1"),
            (r#"["abc"#, "expected the closing '\"' of a text at byte 5 but the body ends"),
        ] {
            assert_eq!(refusal(json), Refusal::Syntax(message.to_owned()), "{json}");
        }
        assert_eq!(split(b"[\"\xff\"]").err(), Some(Refusal::Syntax("byte 2 is not valid UTF-8".to_owned())));
    }

    #[test]
    fn values_that_cannot_be_stored_are_refused_with_their_path() {
        let in_a = |item| vec![Step::Name(2..3), Step::Item(item)];
        assert_eq!(refusal(r#"{"a":[1,"\u0000"]}"#), Refusal::Nul(in_a(1)));
        assert_eq!(refusal(r#"{"a":["\ud800"]}"#), Refusal::LoneSurrogate(in_a(0)));
        assert_eq!(refusal(r#"{"a":[1e400]}"#), Refusal::Number(in_a(0)));
        assert_eq!(refusal(&format!(r#"{{"a":[-{}]}}"#, "9".repeat(310))), Refusal::Number(in_a(0)));
        assert_eq!(refusal(r#"{"\u0000":1}"#), Refusal::Nul(vec![Step::Name(2..8)]));
        assert!(matches!(refusal(r#"{"a":"\u0000","b"}"#), Refusal::Syntax(_)));
        for fine in ["1e-400", "1e308", "[0e999]"] {
            assert!(split(fine.as_bytes()).is_ok(), "{fine}");
        }
    }
}
