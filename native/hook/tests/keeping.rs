//! What is appended is in the file, whole, whoever else writes, reads or removes at the same time.

mod common;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use common::{opened, public, spool_files, Folder};
use mnemic_hook::frame::CONTENT_BYTES;
use mnemic_hook::losses;
use mnemic_hook::seal::{Drawn, Frames};
use mnemic_hook::spool::append;
use proptest::prelude::*;

const HEAD: &[u8] = b"\x02\0\0\0{}";

fn keep(spool: &Path, payload: &[u8]) -> io::Result<()> {
    let mut frames = Frames::new(&public(), &Drawn::new()?, HEAD, payload)?;
    append(spool, "stem", &mut frames, 7)
}

fn payloads(spool: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for path in spool_files(spool)? {
        found.extend(opened(&fs::read(path)?)?.into_iter().map(|(_, payload)| payload));
    }
    Ok(found)
}

#[test]
fn a_record_of_any_size_comes_back_byte_for_byte() -> io::Result<()> {
    let folder = Folder::new()?;
    let spool = folder.mind()?;
    let first = CONTENT_BYTES - HEAD.len();
    let sizes = [0, 1, first - 1, first, first + 1, first + CONTENT_BYTES, first + CONTENT_BYTES + 1, 5_000_000];
    let all: Vec<Vec<u8>> =
        sizes.iter().map(|size| (0..*size).map(|place: usize| ((place * 31) >> 3) as u8).collect()).collect();
    for payload in &all {
        keep(&spool, payload)?;
    }
    assert!(payloads(&spool)? == all);
    Ok(())
}

#[test]
fn files_and_a_spool_that_is_missing_are_made_for_their_user_alone() -> io::Result<()> {
    let folder = Folder::new()?;
    let spool = folder.0.join("spool");
    keep(&spool, b"x")?;
    assert_eq!(fs::metadata(&spool)?.permissions().mode() & 0o777, 0o700);
    let names: Vec<_> =
        fs::read_dir(&spool)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>()?;
    assert_eq!(names, ["stem.spool"], "no draft is left");
    assert_eq!(fs::metadata(spool.join("stem.spool"))?.permissions().mode() & 0o777, 0o600);
    Ok(())
}

#[test]
fn of_many_who_write_at_once_each_has_its_frames_together_in_one_file() -> io::Result<()> {
    let folder = Folder::new()?;
    let spool = folder.mind()?;
    let long = |number: u8| vec![number; 3 * CONTENT_BYTES / 2];
    thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn({
                    let spool = &spool;
                    move || keep(spool, &long(number))
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| writer.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    })?;
    let mut found = payloads(&spool)?;
    found.sort();
    assert!(found == (0..8).map(long).collect::<Vec<_>>());
    assert_eq!(fs::metadata(spool.join("losses"))?.len(), losses::LOSSES_BYTES as u64);
    Ok(())
}

#[test]
fn where_a_lock_is_not_to_be_had_the_record_goes_beside() -> io::Result<()> {
    let folder = Folder::new()?;
    let spool = folder.mind()?;
    keep(&spool, b"first")?;
    let reader = File::open(spool.join("stem.spool"))?;
    reader.lock()?;
    keep(&spool, b"second")?;
    let beside = File::open(spool.join("stem.1.spool"))?;
    beside.lock()?;
    keep(&spool, b"third")?;
    assert_eq!(spool_files(&spool)?.len(), 3);
    let mut found = payloads(&spool)?;
    found.sort();
    assert_eq!(found, [b"first".to_vec(), b"second".to_vec(), b"third".to_vec()]);
    Ok(())
}

#[test]
fn a_file_that_the_reader_removes_meanwhile_is_made_anew() -> io::Result<()> {
    let folder = Folder::new()?;
    let spool = folder.mind()?;
    let path = spool.join("stem.spool");
    thread::scope(|scope| {
        let reading = scope.spawn(|| -> io::Result<()> {
            for _ in 0..200 {
                if let Ok(file) = File::open(&path) {
                    file.lock()?;
                    // As the reader does: what it removes under the lock is at its end, which here is any record.
                    let taken = spool.join(format!("taken-{}.spool", fs::read_dir(&spool)?.count()));
                    fs::rename(&path, taken)?;
                }
                thread::yield_now();
            }
            Ok(())
        });
        for number in 0..100_u8 {
            keep(&spool, &[number])?;
        }
        reading.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })?;
    let mut found = payloads(&spool)?;
    found.sort();
    assert_eq!(found, (0..100_u8).map(|number| vec![number]).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn where_nothing_may_be_written_it_is_an_error() -> io::Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("spool", b"")?;
    assert!(keep(&file, b"x").is_err());
    Ok(())
}

#[test]
fn a_public_key_that_hides_nothing_is_refused() -> io::Result<()> {
    assert!(Frames::new(&[0; 32], &Drawn::new()?, HEAD, b"x").is_err());
    Ok(())
}

#[test]
fn losses_are_counted_in_place_by_all_at_once() -> io::Result<()> {
    let folder = Folder::new()?;
    let spool = folder.mind()?;
    thread::scope(|scope| {
        let counting: Vec<_> =
            (0..4).map(|_| scope.spawn(|| (0..25).try_for_each(|_| losses::count(&spool, 9, 10)))).collect();
        counting.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    })?;
    let bytes = fs::read(spool.join("losses"))?;
    let expected: Vec<u8> = [100_u64, 9, 1000].iter().flat_map(|number| number.to_le_bytes()).chain([0; 40]).collect();
    assert_eq!(bytes, expected);
    Ok(())
}

#[test]
fn a_loss_is_counted_where_the_count_is_missing_or_short() -> io::Result<()> {
    for content in [None, Some(&b"\x05\0\0\0\0\0\0\0"[..])] {
        let folder = Folder::new()?;
        let spool = folder.mind()?;
        fs::remove_file(spool.join("losses"))?;
        if let Some(content) = content {
            fs::write(spool.join("losses"), content)?;
        }
        losses::count(&spool, 1, 2)?;
        let bytes = fs::read(spool.join("losses"))?;
        assert_eq!((bytes.len(), bytes[0]), (64, if content.is_some() { 6 } else { 1 }));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_head_and_payload_are_the_same_record(
        meta in proptest::collection::vec(any::<u8>(), 0..200),
        payload in proptest::collection::vec(any::<u8>(), 0..2000),
    ) {
        let folder = Folder::new()?;
        let spool = folder.mind()?;
        let head = [&(meta.len() as u32).to_le_bytes(), meta.as_slice()].concat();
        append(&spool, "stem", &mut Frames::new(&public(), &Drawn::new()?, &head, &payload)?, 7)?;
        prop_assert_eq!(opened(&fs::read(spool.join("stem.spool"))?)?, [(meta, payload)]);
    }
}
