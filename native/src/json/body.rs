//! A JSON body: its bytes while they arrive, and its parts once it is complete.

use crate::error::{Error, Result};
use crate::json::counter::{Counter, Exceeded, Limits};
use crate::json::split::{Refusal, Split, Step, split};
use crate::json::text::{decode, piece_end};

/// Length of the longest escape sequence, a surrogate pair.
pub const ESCAPE_BYTES_MAX: usize = 12;

/// A piece of a long text that was written to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Number of bytes written; 0 at the end of the text.
    pub bytes: usize,
    /// Where the next piece starts.
    pub next: usize,
}

/// A body that is arriving.
pub struct ArrivingBody {
    counter: Counter,
    bytes: Vec<u8>,
}

impl ArrivingBody {
    pub fn new(limits: Limits) -> ArrivingBody {
        ArrivingBody { counter: Counter::new(limits), bytes: Vec::new() }
    }

    /// Adds the next bytes. Fails with the first limit that is exceeded.
    pub fn add(&mut self, bytes: &[u8]) -> std::result::Result<(), Exceeded> {
        self.counter.add(bytes)?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Parses the complete body. Takes 0.2 to 1 s for 100 MB. Fails with the reason, and the bytes to describe it.
    pub fn complete(self) -> std::result::Result<SplitBody, (Refusal, Vec<u8>)> {
        match split(&self.bytes) {
            Ok(parts) => Ok(SplitBody { bytes: self.bytes, parts }),
            Err(refusal) => Err((refusal, self.bytes)),
        }
    }
}

/// A complete body and its parts.
pub struct SplitBody {
    bytes: Vec<u8>,
    parts: Split,
}

impl SplitBody {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn parts(&self) -> &Split {
        &self.parts
    }

    pub fn skeleton(&self) -> String {
        self.parts.skeleton(&self.bytes)
    }

    /// The items of a group of a grouped array, as JSON text. Fails with `Invalid` if there is no such group.
    pub fn group(&self, array: usize, group: usize) -> Result<String> {
        let range = self.parts.arrays.get(array).and_then(|array| array.groups.get(group));
        let range = range.ok_or_else(|| Error::invalid(format!("there is no group {group} of array {array}")))?;
        Ok(self.parts.group(&self.bytes, range))
    }

    /// Writes the piece of a long text that begins at `start` to `out`: the bytes of the body, with escape sequences
    /// and without the quotes. Fills `out` except for at most `ESCAPE_BYTES_MAX` bytes. Fails with `Invalid` if there
    /// is no such text, or if `out` is too small for one escape sequence.
    pub fn raw_piece(&self, text: usize, start: usize, out: &mut [u8]) -> Result<Piece> {
        let raw = self.raw_range(text, start, out.len())?;
        out[..raw.len()].copy_from_slice(raw);
        Ok(Piece { bytes: raw.len(), next: start + raw.len() })
    }

    /// Like `raw_piece`, but with the escape sequences decoded.
    pub fn text_piece(&self, text: usize, start: usize, out: &mut [u8]) -> Result<Piece> {
        let raw = self.raw_range(text, start, out.len())?;
        let mut bytes = 0;
        decode(raw, |slice| {
            out[bytes..bytes + slice.len()].copy_from_slice(slice);
            bytes += slice.len();
        })
        .map_err(|_| Error::Bug("a checked text is malformed".to_owned()))?;
        Ok(Piece { bytes, next: start + raw.len() })
    }

    /// At most `bytes` bytes of a long text from `start` on. Does not end within an escape sequence. The decoded text
    /// is never longer.
    fn raw_range(&self, text: usize, start: usize, bytes: usize) -> Result<&[u8]> {
        let raw = self.raw(text)?;
        let start = start.min(raw.len());
        let end = piece_end(raw, start, bytes.saturating_sub(ESCAPE_BYTES_MAX).max(1));
        if end - start > bytes { Err(Error::invalid("the piece does not fit")) } else { Ok(&raw[start..end]) }
    }

    fn raw(&self, text: usize) -> Result<&[u8]> {
        let found = self.parts.texts.get(text).ok_or_else(|| Error::invalid(format!("there is no text {text}")))?;
        Ok(&self.bytes[found.raw.clone()])
    }

    /// A long text with its escape sequences decoded. Fails with `Invalid` if there is no such text.
    pub fn text(&self, text: usize) -> Result<String> {
        let raw = self.raw(text)?;
        let mut decoded = Vec::with_capacity(raw.len());
        decode(raw, |slice| decoded.extend_from_slice(slice))
            .map_err(|_| Error::Bug("a checked text is malformed".to_owned()))?;
        String::from_utf8(decoded).map_err(|_| Error::Bug("a checked text is not UTF-8".to_owned()))
    }
}

/// Maximum number of bytes of a name in a path. A longer one is shown as three dots.
const SHOWN_NAME_BYTES: usize = 1024;

/// A path as a JSON array of names and positions.
pub fn path_json(bytes: &[u8], path: &[Step]) -> String {
    let steps: Vec<String> = path
        .iter()
        .map(|step| match step {
            Step::Name(raw) if raw.len() > SHOWN_NAME_BYTES => "\"…\"".to_owned(),
            Step::Name(raw) => format!("\"{}\"", String::from_utf8_lossy(&bytes[raw.clone()])),
            Step::Item(item) => item.to_string(),
        })
        .collect();
    format!("[{}]", steps.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::split::LONG_TEXT_BYTES;

    const LIMITS: Limits =
        Limits { depth: 64, values: 1000, part_values: 1000, part_members: 1000, are_items_parts: false };

    #[test]
    fn a_long_text_is_returned_without_escapes() {
        let text = "é\n\u{1f600}\"".repeat(LONG_TEXT_BYTES / 4);
        let json = format!("{{\"content\":\"{}\"}}", text.replace('"', "\\\"").replace('\n', "\\n"));
        let mut arriving = ArrivingBody::new(LIMITS);
        for piece in json.as_bytes().chunks(1001) {
            arriving.add(piece).expect("within the limits");
        }
        let body = arriving.complete().map_err(|(refusal, _)| refusal).expect("JSON");
        let (mut pieces, mut raw, mut at, mut out) = (Vec::new(), Vec::new(), 0, vec![0; 1000]);
        loop {
            let raw_piece = body.raw_piece(0, at, &mut out).expect("a piece");
            raw.extend_from_slice(&out[..raw_piece.bytes]);
            let piece = body.text_piece(0, at, &mut out).expect("a piece");
            assert_eq!(piece.next, raw_piece.next);
            if piece.bytes == 0 {
                break;
            }
            pieces.extend_from_slice(&out[..piece.bytes]);
            at = piece.next;
        }
        assert_eq!(pieces, text.as_bytes());
        assert_eq!([b"{\"content\":\"", raw.as_slice(), b"\"}"].concat(), json.as_bytes());
        assert_eq!(body.text(0), Ok(text));
        assert_eq!(path_json(body.bytes(), &body.parts().texts[0].path), r#"["content"]"#);
        assert!(body.text(1).is_err() && body.text_piece(1, 0, &mut out).is_err());
    }
}
