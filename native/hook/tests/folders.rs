//! What a working folder says, read as git writes it.

mod common;

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::process::Command;

use common::Folder;
use mnemic_hook::folder::{branch, is_ignored, main_folder};

#[test]
fn a_branch_is_the_one_of_the_repository_around_a_folder() -> io::Result<()> {
    let folder = Folder::new()?;
    folder.write("repo/.git/HEAD", "ref: refs/heads/feature/one\n")?;
    folder.write("repo/a/b/file", "")?;
    assert_eq!(branch(&folder.0.join("repo/a/b")), Some(b"feature/one".to_vec()));
    assert_eq!(branch(&folder.0.join("repo/a/gone/by/now")), Some(b"feature/one".to_vec()));
    assert_eq!(branch(&folder.0), None);
    Ok(())
}

#[test]
fn where_no_branch_is_checked_out_there_is_none() -> io::Result<()> {
    let folder = Folder::new()?;
    for head in
        ["9fceb02d0ae598e95dc970b74767f19372d61af8\n", "ref: refs/heads/.invalid\n", "ref: refs/heads/", "", "ref: x"]
    {
        folder.write(".git/HEAD", head)?;
        assert_eq!(branch(&folder.0), None, "{head}");
    }
    Ok(())
}

#[test]
fn worktrees_and_submodules_have_their_own_branch() -> io::Result<()> {
    let folder = Folder::new()?;
    folder.write("repo/.git/HEAD", "ref: refs/heads/main\n")?;
    folder.write("repo/.git/worktrees/w/HEAD", "ref: refs/heads/other\n")?;
    folder.write("repo/.git/modules/sub/HEAD", "ref: refs/heads/caf\u{e9}\n")?;
    folder.write("w/.git", format!("gitdir: {}\n", folder.0.join("repo/.git/worktrees/w").display()))?;
    folder.write("repo/sub/.git", "gitdir: ../.git/modules/sub\n")?;
    assert_eq!(branch(&folder.0.join("w")), Some(b"other".to_vec()));
    assert_eq!(branch(&folder.0.join("repo/sub")), Some("caf\u{e9}".as_bytes().to_vec()));
    Ok(())
}

#[test]
fn a_worktree_that_its_repository_names_says_the_main_folder_of_it() -> io::Result<()> {
    let folder = Folder::new()?;
    let main = fs::canonicalize(&folder.0)?.join("repo").as_os_str().as_encoded_bytes().to_vec();
    folder.write("repo/.git/worktrees/w/HEAD", "ref: refs/heads/other\n")?;
    folder.write("repo/.git/worktrees/w/gitdir", format!("{}\n", folder.0.join("w/.git").display()))?;
    folder.write("w/.git", format!("gitdir: {}\n", folder.0.join("repo/.git/worktrees/w").display()))?;
    folder.write("packed/.git", "gitdir: ../repo/.git/worktrees/w\n")?;
    folder.write("repo/.git/worktrees/near/gitdir", "../../../near/.git\n")?;
    folder.write("repo/near/.git", "gitdir: ../.git/worktrees/near\n")?;
    folder.write("w/a/b", "")?;
    assert_eq!(main_folder(&folder.0.join("w")), Some(main.clone()));
    assert_eq!(main_folder(&folder.0.join("w/a")), Some(main.clone()));
    assert_eq!(main_folder(&folder.0.join("repo/near")), Some(main));
    for other in ["repo", "packed", "gone", ""] {
        assert_eq!(main_folder(&folder.0.join(other)), None, "{other}");
    }
    Ok(())
}

#[test]
fn what_only_looks_like_a_repository_is_passed_over() -> io::Result<()> {
    let folder = Folder::new()?;
    folder.write(".git/HEAD", "ref: refs/heads/main\n")?;
    folder.write("empty/.git/x", "")?;
    folder.write("blank/.git/HEAD", "")?;
    folder.write("odd/.git/HEAD", "ref: /etc/passwd\n")?;
    folder.write("short/.git/HEAD", "9fceb02d0ae598e95dc970b74767f19372d61af\n")?;
    fs::create_dir_all(folder.0.join("pipe/.git"))?;
    let made = Command::new("mkfifo").arg(folder.0.join("pipe/.git/HEAD")).status()?;
    assert!(made.success());
    for name in ["empty", "blank", "odd", "short", "pipe"] {
        assert_eq!(branch(&folder.0.join(name)), Some(b"main".to_vec()), "{name}");
    }
    Ok(())
}

#[test]
fn above_a_file_that_leads_nowhere_no_branch_is_looked_for() -> io::Result<()> {
    let folder = Folder::new()?;
    folder.write(".git/HEAD", "ref: refs/heads/main\n")?;
    for line in ["", "something else", "gitdir: /not/there", "\u{0}\u{0}"] {
        folder.write("tree/.git", line)?;
        assert_eq!(branch(&folder.0.join("tree")), None, "{line}");
    }
    Ok(())
}

#[test]
fn a_mark_silences_its_folder_and_all_below() -> io::Result<()> {
    let folder = Folder::new()?;
    folder.write("quiet/.mnemicignore", "")?;
    folder.write("quiet/a/b/file", "")?;
    folder.write("heard/file", "")?;
    fs::create_dir(folder.0.join("linked"))?;
    symlink("nowhere", folder.0.join("linked/.mnemicignore"))?;
    for (name, expected) in [("quiet", true), ("quiet/a/b", true), ("linked", true), ("heard", false), ("gone", false)]
    {
        assert_eq!(is_ignored(&folder.0.join(name)), expected, "{name}");
    }
    Ok(())
}

#[test]
fn of_a_name_that_no_system_takes_what_is_above_it_holds() -> io::Result<()> {
    let folder = Folder::new()?;
    folder.write("repo/.git/HEAD", "ref: refs/heads/main\n")?;
    folder.write("quiet/.mnemicignore", "")?;
    assert_eq!(branch(&folder.0.join("repo").join("a/".repeat(10_000))), Some(b"main".to_vec()));
    assert!(is_ignored(&folder.0.join("quiet").join("a/".repeat(10_000))));
    assert!(!is_ignored(&folder.0.join("repo").join("a/".repeat(10_000))));
    Ok(())
}
