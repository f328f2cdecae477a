//! The file that says which vector sets a project has: the live one, the one that is being built, and the one that is
//! kept for a rollback. Replacing this file is the only step that swaps models. `sets` opens the sets.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::files::{set_aside, sync_directory};

/// Name of the file in the project's folder. The folder of the live set has a copy under the same name.
pub(crate) const SET_FILE: &str = "vector-sets";
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
    /// Number of times that the file was written. A copy with a smaller number is older. Files of earlier versions of
    /// Mneme have none, which counts as 0.
    pub generation: u64,
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

    /// Reads the newest of the file in the project's folder and its copies in the folders of sets. Sets damaged files
    /// aside, and the file in the project's folder if a copy is newer. Adds a sentence to `repairs` for each, and if
    /// only a copy is there. `None` if there is no valid one.
    pub fn read_newest(directory: &Path, folders: &[String], repairs: &mut Vec<String>) -> Result<Option<SetFile>> {
        let path = directory.join(SET_FILE);
        let mut newest: Option<SetFile> = None;
        for folder in folders {
            let copy = directory.join(folder).join(SET_FILE);
            match SetFile::read(&copy)? {
                Some(Ok(file)) if newest.as_ref().is_none_or(|newest| newest.generation < file.generation) => {
                    newest = Some(file);
                }
                // The copy of a set that was live once is older, which is no damage.
                Some(Ok(_)) | None => {}
                Some(Err(reason)) => repairs.push(set_aside_because(&copy, &reason)?),
            }
        }
        match SetFile::read(&path)? {
            Some(Ok(file)) => match newest {
                Some(newest) if newest.generation > file.generation => {
                    repairs.push(set_aside_because(&path, "it is older than its copy")?);
                    Ok(Some(newest))
                }
                _ => Ok(Some(file)),
            },
            Some(Err(reason)) => {
                repairs.push(set_aside_because(&path, &reason)?);
                Ok(newest)
            }
            None => {
                if newest.is_some() {
                    repairs.push(format!("{} is missing; it was restored from its copy", path.display()));
                }
                Ok(newest)
            }
        }
    }

    /// Replaces the file in the project's folder under the next generation, then its copy in the folder of the live
    /// set. When the call returns, the change is durable. After a crash at any point the file is the old or the new
    /// one.
    pub fn write(&mut self, directory: &Path) -> Result<()> {
        let next = SetFile { generation: self.generation + 1, ..self.clone() };
        next.write_to(&directory.join(SET_FILE))?;
        *self = next;
        self.write_copy(directory)
    }

    /// Writes the copy in the folder of the live set, unless it is the same already.
    pub fn write_copy(&self, directory: &Path) -> Result<()> {
        let folder = directory.join(&self.live.folder);
        let copy = folder.join(SET_FILE);
        if matches!(SetFile::read(&copy)?, Some(Ok(file)) if file == *self) {
            return Ok(());
        }
        fs::create_dir_all(&folder)
            .map_err(|cause| Error::from_io(&format!("creating {}", folder.display()), &cause))?;
        self.write_to(&copy)
    }

    fn write_to(&self, path: &Path) -> Result<()> {
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
        let head = format!("{MAGIC}\ngeneration {}\n", self.generation);
        let body: String = std::iter::once(head).chain(self.entries().map(line)).collect();
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
        let (mut generation, mut live, mut building, mut previous) = (0, None, None, None);
        for line in lines {
            if let Some(number) = line.strip_prefix("generation ") {
                generation = number.parse().map_err(|_| format!("it has the line {line:?}"))?;
                continue;
            }
            let (role, entry) = decode_entry(line).ok_or_else(|| format!("it has the line {line:?}"))?;
            match role {
                "live" => live = Some(entry),
                "building" => building = Some(entry),
                "previous" => previous = Some(entry),
                _ => return Err(format!("it has the line {line:?}")),
            }
        }
        let live = live.ok_or("it names no live set")?;
        Ok(SetFile { generation, live, building, previous })
    }
}

/// Sets a file aside. Returns a sentence for the operator.
fn set_aside_because(path: &Path, reason: &str) -> Result<String> {
    let aside = set_aside(path)?;
    Ok(format!("{} is damaged ({reason}); it was set aside as {}", path.display(), aside.display()))
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
        let mut sets = SetFile {
            generation: 0,
            live: entry("vectors", "a model/with spaces", 384),
            building: Some(entry("vectors-2", "b", 24)),
            previous: None,
        };
        sets.write(folder.path()).expect("written");
        assert_eq!(sets.generation, 1);
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
        let (generation, live) = (sets.generation, entry("vectors-2", "b", 24));
        let mut swapped = SetFile { generation, live, building: None, previous: Some(sets.live) };
        swapped.write(folder.path()).expect("written");
        assert_eq!(SetFile::read(&path).expect("read"), Some(Ok(swapped)));
    }

    #[test]
    fn a_damaged_missing_or_older_file_is_noticed_and_its_copy_is_used() {
        let folder = TempDir::new("sets");
        let path = folder.path().join(SET_FILE);
        let live = entry("vectors", "a", 24);
        let mut sets = SetFile { generation: 0, live, building: None, previous: None };
        sets.write(folder.path()).expect("written");
        let older = fs::read(&path).expect("readable");
        sets = SetFile { live: entry("vectors-2", "b", 24), previous: Some(sets.live.clone()), ..sets };
        sets.write(folder.path()).expect("written");
        let newer = fs::read(&path).expect("readable");
        let folders = ["vectors".to_owned(), "vectors-2".to_owned()];
        let read = || {
            let mut repairs = Vec::new();
            (SetFile::read_newest(folder.path(), &folders, &mut repairs).expect("read"), repairs)
        };
        assert_eq!(read(), (Some(sets.clone()), Vec::new()));
        for (damaged, word) in [(Some(older), "older"), (Some(newer[1..].to_vec()), "checksum"), (None, "missing")] {
            match damaged {
                Some(bytes) => fs::write(&path, bytes).expect("writable"),
                None => fs::remove_file(&path).expect("removable"),
            }
            let (found, repairs) = read();
            assert_eq!(found, Some(sets.clone()));
            assert!(repairs.len() == 1 && repairs[0].contains(word), "{repairs:?}");
            assert!(!path.exists(), "set aside");
            fs::write(&path, &newer).expect("writable");
        }
        fs::write(folder.path().join("vectors-2").join(SET_FILE), "").expect("writable");
        let (found, repairs) = read();
        assert_eq!((found, repairs.len()), (Some(sets), 1));
    }
}
