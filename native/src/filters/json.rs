//! Parses JSON text into values that can be compared, for the attributes of memories and for filters.
//!
//! `serde_json` is not sufficient. It refuses lone surrogates (`"\ud800"`) and numbers beyond doubles (`1e400`), but
//! JavaScript accepts both. It also refuses more than 127 levels of nesting, and without that limit, 2,000 levels
//! overflow a stack of 512 KiB. Metadata can have 5,000 levels, so this parser does not recurse. The tests below cover
//! each case.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// Used instead of a node number if there is no such node.
const NONE: u32 = u32::MAX;

/// Byte range of one text in `Json::texts`.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Null,
    Boolean(bool),
    Number(f64),
    Integer(Span),
    Text(Span),
    Array([u64; 2]),
    Object([u64; 2]),
}

#[derive(Debug, Clone, Copy)]
struct Node {
    kind: Kind,
    key: Option<Span>,
    parent: u32,
    /// Number of the first node after this node and its descendants.
    end: u32,
}

/// A borrowed value. Texts are stored in a special encoding: UTF-8, but each UTF-16 surrogate is stored as three bytes
/// that begin with F0. Comparing the bytes of two texts gives the order that filters need: by UTF-16 code unit, with
/// surrogates after all others. For well-formed texts this is the order by code point. A text contains another text
/// exactly if its bytes contain the bytes of the other, as in JavaScript.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'json> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A double that is neither NaN nor -0.
    Number(f64),
    /// The digits of a whole number that no double represents (see `Number`), with a minus if it is negative.
    Integer(&'json [u8]),
    /// A text in the encoding described above.
    Text(&'json [u8]),
    /// 128-bit fingerprint of an array or object. Arrays are equal if all their items are equal, objects if they have
    /// equal values for the same keys in any order. Each process draws new hash keys at random, so that nobody can
    /// construct a collision.
    Composite([u64; 2]),
}

/// A parsed JSON text. Nodes are numbered in the order of the text; node 0 is the root.
#[derive(Debug, Clone)]
pub struct Json {
    texts: Vec<u8>,
    nodes: Vec<Node>,
}

impl Json {
    /// Parses a text. Fails with `Invalid` if the text is not JSON. If an object has a key twice, both values are kept.
    pub fn parse(text: &str) -> Result<Json> {
        if u32::try_from(text.len()).is_err() {
            return Err(Error::invalid("the JSON text has 4 GiB or more"));
        }
        let json = Json { texts: Vec::with_capacity(text.len()), nodes: Vec::new() };
        let mut parser = Parser { input: text.as_bytes(), at: 0, json };
        parser.parse()?;
        let mut json = parser.json;
        json.compute_fingerprints();
        Ok(json)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The value of a node.
    pub fn value(&self, node: usize) -> Value<'_> {
        match self.nodes[node].kind {
            Kind::Null => Value::Null,
            Kind::Boolean(value) => Value::Boolean(value),
            Kind::Number(value) => Value::Number(value),
            Kind::Integer(span) => Value::Integer(self.text(span)),
            Kind::Text(span) => Value::Text(self.text(span)),
            Kind::Array(fingerprint) | Kind::Object(fingerprint) => Value::Composite(fingerprint),
        }
    }

    /// Whether a node is an object.
    pub fn is_object(&self, node: usize) -> bool {
        matches!(self.nodes[node].kind, Kind::Object(_))
    }

    /// Returns the key of a node in its object, or `None` for the root and for items of arrays.
    pub fn key(&self, node: usize) -> Option<&[u8]> {
        self.nodes[node].key.map(|span| self.text(span))
    }

    /// Returns the array or object that contains a node. The node must not be the root.
    pub fn parent(&self, node: usize) -> usize {
        self.nodes[node].parent as usize
    }

    /// Returns the items of an array, or the values of an object.
    pub fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.nodes[node].end as usize;
        let mut next = node + 1;
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.nodes[child].end as usize;
            Some(child)
        })
    }

    /// Returns the node of the value that an object has for a key, or `None`. The key must not have characters beyond
    /// U+FFFF.
    pub fn find(&self, object: usize, key: &str) -> Option<usize> {
        self.children(object).find(|child| self.key(*child) == Some(key.as_bytes()))
    }

    fn text(&self, Span { start, end }: Span) -> &[u8] {
        &self.texts[start as usize..end as usize]
    }

    /// Computes the fingerprints of all arrays and objects. It goes from the last node to the first, because children
    /// come after their parents and their fingerprints are needed first.
    fn compute_fingerprints(&mut self) {
        let mut canonical = Vec::new();
        for node in (0..self.nodes.len()).rev() {
            let is_object = match self.nodes[node].kind {
                Kind::Array(_) => false,
                Kind::Object(_) => true,
                _ => continue,
            };
            self.write_canonical(node, is_object, &mut canonical);
            let fingerprint = hash_keys().each_ref().map(|keyed| {
                let mut hasher = keyed.build_hasher();
                hasher.write(&canonical);
                hasher.finish()
            });
            self.nodes[node].kind = if is_object { Kind::Object(fingerprint) } else { Kind::Array(fingerprint) };
        }
    }

    /// Writes an array or object in canonical form, as bytes. Nested arrays and objects are written as fingerprints.
    fn write_canonical(&self, node: usize, is_object: bool, canonical: &mut Vec<u8>) {
        let mut children: Vec<usize> = self.children(node).collect();
        if is_object {
            children.sort_unstable_by_key(|child| self.key(*child));
        }
        canonical.clear();
        canonical.push(is_object.into());
        for child in children {
            if let Some(key) = self.key(child) {
                canonical.extend((key.len() as u64).to_le_bytes());
                canonical.extend(key);
            }
            match self.value(child) {
                Value::Null => canonical.push(0),
                Value::Boolean(value) => canonical.push(1 + u8::from(value)),
                Value::Number(value) => {
                    canonical.push(3);
                    canonical.extend(value.to_le_bytes());
                }
                Value::Text(text) | Value::Integer(text) => {
                    canonical.push(if matches!(self.value(child), Value::Text(_)) { 4 } else { 6 });
                    canonical.extend((text.len() as u64).to_le_bytes());
                    canonical.extend(text);
                }
                Value::Composite(inner) => {
                    canonical.push(5);
                    inner.iter().for_each(|part| canonical.extend(part.to_le_bytes()));
                }
            }
        }
    }
}

/// A number in the form in which filters compare it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number<'text> {
    /// A double that is neither NaN nor -0.
    Double(f64),
    /// A whole number that no double represents, such as 12345678901234567891: writing the nearest double gives other
    /// digits. Such ids keep their digits, so that neighbouring ids are not equal.
    Integer(&'text str),
}

/// Every whole number with at most this many digits is exactly a double.
const DOUBLE_DIGITS: usize = 15;

impl Number<'_> {
    /// The number that a text stands for; `None` if it stands for none, or is NaN.
    pub fn parse(text: &str) -> Option<Number<'_>> {
        let number = text.parse::<f64>().ok().filter(|number| !number.is_nan())?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_whole && digits.len() > DOUBLE_DIGITS && number.is_finite() && written(number) != text {
            return Some(Number::Integer(text));
        }
        // Adding 0 turns -0 into 0.
        Some(Number::Double(number + 0.0))
    }
}

/// Writes a double in decimal, without an exponent: the shortest digits that identify it, filled up with zeros.
pub fn written(number: f64) -> String {
    number.to_string()
}

/// Random hash keys for the two halves of a fingerprint. They are drawn once per process.
fn hash_keys() -> &'static [RandomState; 2] {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    KEYS.get_or_init(Default::default)
}

struct Parser<'text> {
    input: &'text [u8],
    at: usize,
    json: Json,
}

impl Parser<'_> {
    fn parse(&mut self) -> Result<()> {
        let mut open = self.value(None, NONE)?;
        while open != NONE {
            let is_object = matches!(self.json.nodes[open as usize].kind, Kind::Object(_));
            let is_first = self.json.nodes.len() == open as usize + 1;
            if self.take_byte(if is_object { b'}' } else { b']' }) {
                self.json.nodes[open as usize].end = self.json.nodes.len() as u32;
                open = self.json.nodes[open as usize].parent;
                continue;
            }
            if !is_first && !self.take_byte(b',') {
                return Err(self.unexpected());
            }
            let key = if is_object { Some(self.key()?) } else { None };
            let inner = self.value(key, open)?;
            if inner != NONE {
                open = inner;
            }
        }
        self.skip_whitespace();
        if self.at == self.input.len() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Reads a scalar, or the beginning of an array or object. Returns the node of the array or object, or `NONE` for a
    /// scalar.
    fn value(&mut self, key: Option<Span>, parent: u32) -> Result<u32> {
        self.skip_whitespace();
        let kind = match self.input.get(self.at) {
            Some(b'{') => self.advance(1, Kind::Object([0; 2])),
            Some(b'[') => self.advance(1, Kind::Array([0; 2])),
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.literal()?,
        };
        let node = self.json.nodes.len() as u32;
        self.json.nodes.push(Node { kind, key, parent, end: node + 1 });
        Ok(if matches!(kind, Kind::Object(_) | Kind::Array(_)) { node } else { NONE })
    }

    fn key(&mut self) -> Result<Span> {
        self.skip_whitespace();
        if self.input.get(self.at) != Some(&b'"') {
            return Err(self.unexpected());
        }
        let key = self.string()?;
        if self.take_byte(b':') { Ok(key) } else { Err(self.unexpected()) }
    }

    fn literal(&mut self) -> Result<Kind> {
        let words = [("null", Kind::Null), ("true", Kind::Boolean(true)), ("false", Kind::Boolean(false))];
        let found = words.iter().find(|(word, _)| self.input[self.at..].starts_with(word.as_bytes()));
        let (word, kind) = found.ok_or_else(|| self.unexpected())?;
        Ok(self.advance(word.len(), *kind))
    }

    fn number(&mut self) -> Result<Kind> {
        let rest = &self.input[self.at..];
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let text = std::str::from_utf8(&rest[..length]).map_err(|_| self.unexpected())?;
        let kind = match Number::parse(text).ok_or_else(|| self.unexpected())? {
            Number::Double(number) => Kind::Number(number),
            Number::Integer(digits) => {
                let start = self.json.texts.len() as u32;
                self.json.texts.extend_from_slice(digits.as_bytes());
                Kind::Integer(Span { start, end: self.json.texts.len() as u32 })
            }
        };
        Ok(self.advance(length, kind))
    }

    fn string(&mut self) -> Result<Span> {
        let start = self.json.texts.len() as u32;
        self.at += 1;
        loop {
            let rest = &self.input[self.at..];
            // In UTF-8, a character beyond U+FFFF begins with a byte of at least F0.
            let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0xf0..);
            let length = rest.iter().position(|byte| !is_plain(byte)).ok_or_else(|| self.unexpected())?;
            self.json.texts.extend_from_slice(&rest[..length]);
            self.at += length;
            match rest[length] {
                b'"' => {
                    self.at += 1;
                    return Ok(Span { start, end: self.json.texts.len() as u32 });
                }
                b'\\' => self.escape()?,
                _ => self.supplementary_character()?,
            }
        }
    }

    fn escape(&mut self) -> Result<()> {
        let unit = match self.input.get(self.at + 1) {
            Some(plain @ (b'"' | b'\\' | b'/')) => u16::from(*plain),
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => 0x0a,
            Some(b'r') => 0x0d,
            Some(b't') => 0x09,
            Some(b'u') => {
                let digits = self.input.get(self.at + 2..self.at + 6);
                let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
                let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
                let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
                self.at += 4;
                unit.ok_or_else(|| self.unexpected())?
            }
            _ => return Err(self.unexpected()),
        };
        self.at += 2;
        push_unit(&mut self.json.texts, unit);
        Ok(())
    }

    fn supplementary_character(&mut self) -> Result<()> {
        let bytes = self.input.get(self.at..self.at + 4).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let character = bytes.and_then(|text| text.chars().next()).ok_or_else(|| self.unexpected())?;
        self.at += 4;
        character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| push_unit(&mut self.json.texts, *unit));
        Ok(())
    }

    /// Skips whitespace, then `byte` if it follows. Returns whether it followed.
    fn take_byte(&mut self, byte: u8) -> bool {
        self.skip_whitespace();
        let is_next = self.input.get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip_whitespace(&mut self) {
        while matches!(self.input.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips the bytes of a token and returns `kind`, the kind of the token.
    fn advance(&mut self, bytes: usize, kind: Kind) -> Kind {
        self.at += bytes;
        kind
    }

    fn unexpected(&self) -> Error {
        Error::invalid(format!("invalid JSON at byte {} of {}", self.at, self.input.len()))
    }
}

/// Appends a UTF-16 code unit in the encoding of `Value::Text`.
fn push_unit(texts: &mut Vec<u8>, unit: u16) {
    let low = |unit: u16| 0x80 | (unit & 0x3f) as u8;
    match unit {
        0..=0x7f => texts.push(unit as u8),
        0x80..=0x7ff => texts.extend([0xc0 | (unit >> 6) as u8, low(unit)]),
        0xd800..=0xdfff => texts.extend([0xf0, low((unit - 0xd800) >> 6), low(unit)]),
        _ => texts.extend([0xe0 | (unit >> 12) as u8, low(unit >> 6), low(unit)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of<Output>(text: &str, look: impl FnOnce(Value<'_>) -> Output) -> Output {
        look(Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).value(0))
    }

    fn are_equal(left: &str, right: &str) -> bool {
        value_of(left, |left| value_of(right, |right| left == right))
    }

    #[test]
    fn equal_values_are_equal_in_any_notation() {
        for (left, right) in [
            ("1", "1.0"),
            ("-0", "0"),
            ("[-0.0]", "[0e5]"),
            ("1e20", "100000000000000000000"),
            ("[1.5e21]", "[1500000000000000000000]"),
            ("9007199254740993", "9007199254740993"),
            ("1e400", "2e999"),
            ("\"\\ud83d\\ude00\\u00e9\"", "\"😀é\""),
            ("\"\\/\\b\\f\\n\\r\\t\\\"\\\\\"", "\"/\\u0008\\u000c\\u000a\\u000D\\u0009\\u0022\\u005c\""),
            (" { \"a\" : 1 , \"b\" : [ true , { } ] } ", "{\"b\":[true,{}],\"a\":1}"),
        ] {
            assert!(are_equal(left, right), "{left} {right}");
        }
        for (left, right) in [
            ("1", "\"1\""),
            ("[]", "{}"),
            ("[1,2]", "[2,1]"),
            ("9007199254740993", "9007199254740992"),
            ("[-9007199254740993]", "[-9007199254740992]"),
            ("12345678901234567890", "\"12345678901234567890\""),
            ("123456789012345678901234567890", "123456789012345678901234567891"),
            ("[[1],2]", "[[1,2]]"),
            ("{\"a\":1}", "{\"a\":1,\"b\":null}"),
            ("{\"a\":\"b\"}", "{\"b\":\"a\"}"),
            ("[\"ab\",\"\"]", "[\"a\",\"b\"]"),
            ("[null]", "[false]"),
            ("\"\\ud800\"", "\"\\ufffd\""),
        ] {
            assert!(!are_equal(left, right), "{left} {right}");
        }
    }

    #[test]
    fn texts_sort_by_utf_16_unit_with_surrogates_last() {
        let rising = [
            "",
            "A",
            "\\u007f",
            "\\u0080",
            "\\u07ff",
            "\\u0800",
            "\\ud7ff",
            "\\ue000",
            "\\uffff",
            "\\ud800",
            "\\ud800a",
            "\\ud800\\udc00",
            "\\ud83d",
            "😀",
            "😀a",
            "\\udbff\\udfff",
            "\\udc00",
            "\\udfff",
        ];
        for pair in rising.windows(2) {
            let [left, right] = [pair[0], pair[1]].map(|text| Json::parse(&format!("\"{text}\"")).expect("a text"));
            let texts = |json: &Json| match json.value(0) {
                Value::Text(text) => text.to_vec(),
                other => panic!("{other:?} is not a text"),
            };
            assert!(texts(&left) < texts(&right), "{pair:?}");
        }
    }

    #[test]
    fn children_are_found_in_order_and_by_key() {
        let json = Json::parse(r#"{"a":{"b":[1,[2],3]},"c":null}"#).expect("an object");
        assert!(json.is_object(0));
        let (a, c) = (json.find(0, "a").expect("a"), json.find(0, "c").expect("c"));
        assert_eq!(json.children(0).collect::<Vec<_>>(), [a, c]);
        let b = json.find(a, "b").expect("b");
        assert_eq!(json.key(b), Some("b".as_bytes()));
        let items: Vec<usize> = json.children(b).collect();
        assert_eq!([json.value(items[0]), json.value(items[2])], [Value::Number(1.0), Value::Number(3.0)]);
        assert!(items.iter().all(|item| json.parent(*item) == b && json.key(*item).is_none()));
        assert_eq!(json.find(0, "d"), None);
    }

    #[test]
    fn any_depth_is_parsed_and_invalid_json_is_refused() {
        let depth = 200_000;
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(Json::parse(&deep).expect("lists").nodes(), depth);
        let deep = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert_eq!(Json::parse(&deep).expect("objects").nodes(), depth + 1);
        for text in [
            "",
            " ",
            "[",
            "{",
            "]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "[1 2]",
            "[1,]",
            "{\"a\":1,}",
            "1 2",
            "nul",
            "tru",
            "\"",
            "\"\\",
            "\"\\u12\"",
            "\"\\u+123\"",
            "\"\\x\"",
            "--1",
            "-",
            "1e",
            "[1}",
            "{\"a\":1]",
            "NaN",
            "é",
        ] {
            assert_eq!(Json::parse(text).expect_err(text).code(), "invalid");
        }
    }
}
