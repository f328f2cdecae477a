//! The files of an open project: which are there, which are missing or belong to nothing, and which are damaged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::text::directory::META;
use crate::text::index::TextIndex;
use crate::vectors::graph::file::GRAPH_FILE;
use crate::vectors::log::LOG_FILE;
use crate::vectors::set_file::SET_FILE;
use crate::vectors::sets::VectorSets;

/// Name of the folder of the text index.
pub(crate) const TEXT_FOLDER: &str = "text";
/// Extensions of temporary files, which an interrupted write leaves behind and the next write replaces. They do not
/// count as orphaned.
const TEMPORARY: [&str; 4] = ["writing", "creating", "compacting", "saving"];

/// A file that has a checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedFile {
    /// Path in the project's folder, with `/`.
    pub path: String,
    /// Size in bytes; 0 if it is missing.
    pub bytes: u64,
}

/// The files of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFiles {
    /// Files that `damage_of` checks, also missing ones.
    pub checked: Vec<CheckedFile>,
    /// Paths of files and folders that no part of the project uses.
    pub orphaned: Vec<String>,
}

/// Lists the files of a project that are checked, and those that no part uses. Changes can be made meanwhile.
pub fn list(directory: &Path, vectors: &VectorSets, text: &TextIndex) -> Result<ProjectFiles> {
    let mut files = vectors.with_folders(|sets| list_vectors(directory, sets))?;
    let (segments, orphaned) = text.files()?;
    files.add(directory, format!("{TEXT_FOLDER}/{META}"));
    let checked = segments.into_iter().map(|file| (format!("{TEXT_FOLDER}/{}", file.name), file.bytes));
    files.checked.extend(checked.map(|(path, bytes)| CheckedFile { path, bytes: bytes.unwrap_or_default() }));
    files.orphaned.extend(orphaned.into_iter().map(|name| format!("{TEXT_FOLDER}/{name}")));
    files.orphaned.sort_unstable();
    Ok(files)
}

/// Lists the project's own files and those of the given vector sets, the live one first.
fn list_vectors(directory: &Path, sets: &[String]) -> Result<ProjectFiles> {
    let mut files = ProjectFiles::default();
    files.add(directory, SET_FILE.to_owned());
    for name in names(directory)? {
        if name != SET_FILE && name != TEXT_FOLDER && !sets.contains(&name) && !is_temporary(&name) {
            files.orphaned.push(name);
        }
    }
    for (at, set) in sets.iter().enumerate() {
        files.add(directory, format!("{set}/{LOG_FILE}"));
        if at == 0 {
            files.add(directory, format!("{set}/{SET_FILE}"));
        }
        for name in names(&directory.join(set))? {
            let path = format!("{set}/{name}");
            match name.as_str() {
                LOG_FILE | SET_FILE => {}
                GRAPH_FILE => files.add(directory, path),
                name if is_temporary(name) => {}
                _ => files.orphaned.push(path),
            }
        }
    }
    Ok(files)
}

/// Reads a file and returns what is wrong with it; `None` if nothing is, or if it was replaced since it was listed.
pub fn damage_of(directory: &Path, path: &str, vectors: &VectorSets, text: &TextIndex) -> Result<Option<String>> {
    match path.split_once('/') {
        None if path == SET_FILE => vectors.damage_of_set_file(&directory.join(path)),
        Some((TEXT_FOLDER, name)) => text.damage_of(name),
        Some((set, name)) => vectors.damage_of(set, name),
        None => Err(Error::invalid(format!("{path} is no file with a checksum"))),
    }
}

impl ProjectFiles {
    fn add(&mut self, directory: &Path, path: String) {
        let bytes = fs::metadata(directory.join(&path)).map_or(0, |found| found.len());
        self.checked.push(CheckedFile { path, bytes });
    }
}

fn names(directory: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(directory).map_err(|cause| Error::from_io(&format!("listing {}", directory.display()), &cause))?;
    Ok(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn is_temporary(name: &str) -> bool {
    PathBuf::from(name).extension().is_some_and(|extension| TEMPORARY.iter().any(|temporary| extension == *temporary))
}
