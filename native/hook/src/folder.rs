//! What a working folder says: whether nothing is to be kept there, and which branch is checked out. No git is run.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const IGNORE_FILE: &str = ".mnemicignore";
const LINE_BYTES: u64 = 4096;
/// What systems take at most: `PATH_MAX` counts a NUL.
const PATH_BYTES: usize = 4095;
const COMMIT_DIGITS: usize = 40;

/// Whether a folder, or any folder above it, holds a `.mnemicignore`.
pub fn is_ignored(folder: &Path) -> bool {
    upwards(folder).any(|place| fs::symlink_metadata(place.join(IGNORE_FILE)).is_ok())
}

/// The branch that is checked out in a folder, as its bytes; none outside of a repository, and where no branch is.
///
/// Worktrees and submodules have a `.git` that is a file and names the folder which holds their own `HEAD`.
pub fn branch(folder: &Path) -> Option<Vec<u8>> {
    let head = upwards(folder).find_map(head)?;
    let name = head.strip_prefix(b"ref:")?.trim_ascii_start().strip_prefix(b"refs/heads/")?;
    // Where git keeps its references in tables, HEAD holds this name, which no branch can have.
    (!name.is_empty() && name != b".invalid").then(|| name.to_vec())
}

/// The main folder of the repository, as its bytes, where a folder lies in a worktree of it that the repository names in turn.
pub fn main_folder(folder: &Path) -> Option<Vec<u8>> {
    let git = upwards(folder).map(|place| place.join(".git")).find(|git| fs::symlink_metadata(git).is_ok())?;
    let line = read(&git)?;
    let led = OsStr::from_bytes(line.strip_prefix(b"gitdir:")?.trim_ascii_start());
    let own = fs::canonicalize(git.parent()?.join(led)).ok()?;
    let named = own.join(OsStr::from_bytes(&read(&own.join("gitdir"))?));
    let common = own.parent().filter(|above| above.ends_with("worktrees"))?.parent()?;
    let known = common.ends_with(".git") && fs::canonicalize(named).ok()? == fs::canonicalize(&git).ok()?;
    known.then(|| common.parent().map(|main| main.as_os_str().as_bytes().to_vec()))?
}

/// A folder and those above it, without those whose names are too long to be there: the work would grow with the square
/// of what a host says.
fn upwards(folder: &Path) -> impl Iterator<Item = &Path> {
    folder.ancestors().skip_while(|place| place.as_os_str().len() > PATH_BYTES)
}

/// What the repository in a folder has checked out; `None` where there is none, and one above may be the one.
fn head(place: &Path) -> Option<Vec<u8>> {
    let git = place.join(".git");
    if git.is_file() {
        return Some(led(place, &git).unwrap_or_default()); // as with git, nothing above counts, wherever it leads
    }
    read(&git.join("HEAD")).filter(|text| is_head(text))
}

fn led(place: &Path, git: &Path) -> Option<Vec<u8>> {
    let line = read(git)?;
    let folder = OsStr::from_bytes(line.strip_prefix(b"gitdir:")?.trim_ascii_start());
    read(&place.join(folder).join("HEAD"))
}

/// Whether git would take this for what is checked out; a folder whose `HEAD` says anything else is no repository to it.
fn is_head(text: &[u8]) -> bool {
    match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => text.len() >= COMMIT_DIGITS && text[..COMMIT_DIGITS].iter().all(u8::is_ascii_hexdigit),
    }
}

/// What a short file says, without the white space at its end. A pipe that somebody named so is not waited for.
fn read(path: &Path) -> Option<Vec<u8>> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(LINE_BYTES).read_to_end(&mut text).ok()?;
    text.truncate(text.trim_ascii_end().len());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_name_that_no_system_takes_only_the_folders_are_looked_up_that_may_be_there() {
        let folder = "/a".repeat(10_000);
        let places: Vec<&Path> = upwards(Path::new(&folder)).collect();
        assert_eq!(places.first().map(|place| place.as_os_str().len()), Some(PATH_BYTES - 1));
        assert_eq!(places.last(), Some(&Path::new("/")));
        assert_eq!(places.len(), PATH_BYTES / 2 + 1);
    }
}
