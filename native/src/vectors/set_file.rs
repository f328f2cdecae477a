//! The file that says which vector sets a project has: the live one, the one that is being built, and the one that is
//! kept for a rollback. Replacing this file is the only step that swaps models. `sets` opens the sets.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::files::sync_directory;

/// First line of the file, which names its format.
const MAGIC: &str = "mneme-vector-sets-1";

/// An embedding model, as an index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorModel {
    /// Identifies everything that determines a vector. Has no line breaks.
    pub fingerprint: String,
    /// Number of components of a vector.
    pub dimensions: usize,
}

/// One vector set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetEntry {
    /// Name of its folder in the project's folder.
    pub folder: String,
    /// The model of its vectors.
    pub model: VectorModel,
}

/// The vector sets of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetFile {
    /// The set that searches use.
    pub live: SetEntry,
    /// The set that is being built.
    pub building: Option<SetEntry>,
    /// The set that was live before the last swap.
    pub previous: Option<SetEntry>,
}

impl SetFile {
    /// Reads the file. Returns `None` if there is none, and `Some(Err)` with the reason if it is damaged.
    pub fn read(path: &Path) -> Result<Option<std::result::Result<SetFile, String>>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(SetFile::decode(&String::from_utf8_lossy(&bytes)))),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(Error::from_io(&format!("reading {}", path.display()), &cause)),
        }
    }

    /// Replaces the file. When the call returns, the change is durable. After a crash at any point the file is the old
    /// or the new one.
    pub fn write(&self, path: &Path) -> Result<()> {
        let temporary = path.with_extension("writing");
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(self.encode().as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, path))
            .and_then(|()| sync_directory(path));
        written.map_err(|cause| Error::from_io(&format!("writing {}", path.display()), &cause))
    }

    /// The sets with their role, the live one first.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, &SetEntry)> {
        let others = [("building", &self.building), ("previous", &self.previous)];
        let others = others.into_iter().filter_map(|(role, entry)| entry.as_ref().map(|entry| (role, entry)));
        std::iter::once(("live", &self.live)).chain(others)
    }

    fn encode(&self) -> String {
        let line = |(role, SetEntry { folder, model }): (&str, &SetEntry)| {
            format!("{role} {folder} {} {}\n", model.dimensions, model.fingerprint)
        };
        let body: String = std::iter::once(format!("{MAGIC}\n")).chain(self.entries().map(line)).collect();
        format!("{body}checksum {:08x}\n", crc32fast::hash(body.as_bytes()))
    }

    fn decode(text: &str) -> std::result::Result<SetFile, String> {
        let at = text.rfind("checksum ").ok_or("it has no checksum")?;
        let (body, checksum) = text.split_at(at);
        if checksum != format!("checksum {:08x}\n", crc32fast::hash(body.as_bytes())) {
            return Err("it has a wrong checksum".to_owned());
        }
        let mut lines = body.lines();
        if lines.next() != Some(MAGIC) {
            return Err(format!("it does not begin with {MAGIC}"));
        }
        let (mut live, mut building, mut previous) = (None, None, None);
        for line in lines {
            let (role, entry) = decode_entry(line).ok_or_else(|| format!("it has the line {line:?}"))?;
            match role {
                "live" => live = Some(entry),
                "building" => building = Some(entry),
                "previous" => previous = Some(entry),
                _ => return Err(format!("it has the line {line:?}")),
            }
        }
        let live = live.ok_or("it names no live set")?;
        Ok(SetFile { live, building, previous })
    }
}

fn decode_entry(line: &str) -> Option<(&str, SetEntry)> {
    let mut parts = line.splitn(4, ' ');
    let (role, folder, dimensions, fingerprint) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let model = VectorModel { fingerprint: fingerprint.to_owned(), dimensions: dimensions.parse().ok()? };
    Some((role, SetEntry { folder: folder.to_owned(), model }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::TempDir;

    fn entry(folder: &str, fingerprint: &str, dimensions: usize) -> SetEntry {
        SetEntry { folder: folder.to_owned(), model: VectorModel { fingerprint: fingerprint.to_owned(), dimensions } }
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_every_changed_byte_is_noticed() {
        let folder = TempDir::new("sets");
        let path = folder.path().join("vector-sets");
        assert_eq!(SetFile::read(&path).expect("read"), None);
        let sets = SetFile {
            live: entry("vectors", "a model/with spaces", 384),
            building: Some(entry("vectors-2", "b", 24)),
            previous: None,
        };
        sets.write(&path).expect("written");
        assert_eq!(SetFile::read(&path).expect("read"), Some(Ok(sets.clone())));
        let bytes = fs::read(&path).expect("readable");
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).expect("writable");
            assert!(SetFile::read(&path).expect("read").is_some_and(|read| read.is_err()), "byte {at}");
        }
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).expect("writable");
            assert!(SetFile::read(&path).expect("read").is_some_and(|read| read.is_err()), "{length} bytes");
        }
        let swapped = SetFile { live: entry("vectors-2", "b", 24), building: None, previous: Some(sets.live) };
        swapped.write(&path).expect("written");
        assert_eq!(SetFile::read(&path).expect("read"), Some(Ok(swapped)));
    }
}
