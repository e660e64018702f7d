//! An inverted index in memory: in which documents a term occurs, and how often; a question's BM25 in one pass.
//!
//! A document is known by its position, the first one appended is 0; a term by a number. The postings of a term are
//! bytes: of each document the distance from the one before, shifted left by one, the low bit set where a count
//! follows (less two); both in base 128, low digits first. So most take one or two bytes. Every 128 postings a skip
//! says where to go on from, which is how a few documents are looked up without reading the others.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of a term in a document's codes: its number, six bytes, the low one first, and how often it occurs.
pub const CODE_BYTES: usize = 7;
/// What a checksum is below.
pub const CHECKSUM_MODULUS: u64 = 1 << 62;
/// What the digest of a document's codes is below: a prime.
pub const DIGEST_MODULUS: u64 = (1 << 61) - 1;
const BLOCK: usize = 128;
const COUNTS_TABLED: usize = 64;

/// Why documents could not be appended or questions not be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvertedError {
    /// As many rows as ends, or as many visible rows as documents, were to be.
    LengthMismatch {
        /// How many there are.
        found: usize,
        /// How many there were to be.
        expected: usize,
    },
    /// The ends of the documents' codes do not rise to the number of bytes.
    BadEnds,
    /// There would be more documents than a position can tell.
    TooManyDocuments,
    /// A group is negative, or not below the number of groups.
    NoSuchGroup {
        /// The group.
        group: i64,
    },
}

impl fmt::Display for InvertedError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthMismatch { found, expected } => write!(out, "{found} values were to be {expected}"),
            Self::BadEnds => write!(out, "the ends do not rise to the number of bytes"),
            Self::TooManyDocuments => write!(out, "there are more documents than positions"),
            Self::NoSuchGroup { group } => write!(out, "there is no group {group}"),
        }
    }
}

impl std::error::Error for InvertedError {}

/// Where a term occurs: a position and a count.
pub type Posting = (u32, u32);

/// Numbers of terms are hashes: one multiplication spreads them over all bits.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Where reading may begin: a block of postings.
struct Skip {
    /// One more than the last position before the block.
    after: u32,
    /// Where its bytes begin.
    offset: u32,
}

/// The postings of one term.
#[derive(Default)]
struct List {
    bytes: Vec<u8>,
    skips: Vec<Skip>,
    /// One more than the last position; 0 for none.
    end: u32,
    length: u32,
}

impl List {
    fn push(&mut self, position: u32, count: u32) {
        if self.length > 0 && (self.length as usize).is_multiple_of(BLOCK) {
            self.skips.push(Skip { after: self.end, offset: self.bytes.len() as u32 });
        }
        let step = u64::from(position - self.end) << 1 | u64::from(count > 1);
        write_number(&mut self.bytes, step);
        if count > 1 {
            write_number(&mut self.bytes, u64::from(count - 2));
        }
        self.end = position + 1;
        self.length += 1;
    }

    fn postings(&self) -> Postings<'_> {
        Postings { bytes: &self.bytes, end: 0 }
    }

    /// The postings from the block on in which a position would be.
    fn postings_near(&self, position: u32) -> Postings<'_> {
        match self.skips.partition_point(|skip| skip.after <= position).checked_sub(1) {
            Some(block) => {
                let skip = &self.skips[block];
                Postings { bytes: &self.bytes[skip.offset as usize..], end: skip.after }
            }
            None => self.postings(),
        }
    }
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads postings one after the other.
struct Postings<'a> {
    bytes: &'a [u8],
    end: u32,
}

impl Postings<'_> {
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        let mut number = u64::from(first & 0x7f);
        let (mut digit, mut shift) = (*first, 7);
        while digit >= 0x80 {
            let (next, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            digit = *next;
            number |= u64::from(digit & 0x7f) << shift;
            shift += 7;
        }
        Some(number)
    }
}

impl Iterator for Postings<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        let step = self.number()?;
        let count = if step & 1 == 0 { 1 } else { self.number()? as u32 + 2 };
        let position = self.end + (step >> 1) as u32;
        self.end = position + 1;
        Some((position, count))
    }
}

/// What is looked through, and how.
pub struct Search<'a> {
    /// Of each document, whether it is looked through: the others neither score nor count.
    pub visible: &'a [bool],
    /// Saturation of BM25, which corrects for no length here.
    pub k1: f64,
    /// Groups of documents, each read as one, where they are asked for.
    pub groups: Option<Groups<'a>>,
}

/// Groups of documents.
#[derive(Clone, Copy)]
pub struct Groups<'a> {
    /// Of each document its group.
    pub of: &'a [i64],
    /// Of each document, how many words it holds.
    pub lengths: &'a [i64],
    /// How many groups there are.
    pub count: usize,
}

/// What the words of a question are found in.
#[derive(Debug, Default, PartialEq)]
pub struct Matches {
    /// Of each word, how many visible documents hold it.
    pub holding: Vec<i64>,
    /// Of each word the groups that hold it, ascending, and how often; empty where no groups were asked for.
    pub grouped: Vec<(Vec<i64>, Vec<f32>)>,
    /// Of each group, how many words its visible documents hold.
    pub lengths: Vec<f64>,
    /// The groups that have a visible document.
    pub visible: Vec<bool>,
}

/// All postings of all documents.
#[derive(Default)]
pub struct InvertedIndex {
    lists: HashMap<u64, List, BuildHasherDefault<Spread>>,
    documents: u32,
    checksum: u64,
}

impl InvertedIndex {
    /// How many documents were appended.
    pub fn documents(&self) -> usize {
        self.documents as usize
    }

    /// The sum over all documents of `2 row + 1` times their codes, read as one number, the low byte first, modulo
    /// [`DIGEST_MODULUS`]; modulo [`CHECKSUM_MODULUS`].
    pub fn checksum(&self) -> u64 {
        self.checksum % CHECKSUM_MODULUS
    }

    /// Append documents.
    ///
    /// `rows` are the numbers that the checksum knows them by, `ends` say where in `codes` each one's terms end. Of a
    /// term that stands there more than once the counts add up; what is left of a document behind whole codes does not
    /// count.
    ///
    /// # Errors
    ///
    /// [`InvertedError`], before anything is appended.
    pub fn append(&mut self, rows: &[i64], ends: &[i64], codes: &[u8]) -> Result<(), InvertedError> {
        if rows.len() != ends.len() {
            return Err(InvertedError::LengthMismatch { found: ends.len(), expected: rows.len() });
        }
        let rising = ends.iter().try_fold(0, |start, end| (*end >= start).then_some(*end));
        if rising.and_then(|last| usize::try_from(last).ok()) != Some(codes.len()) {
            return Err(InvertedError::BadEnds);
        }
        let total = u32::try_from(rows.len()).ok().and_then(|more| self.documents.checked_add(more));
        if total.is_none_or(|total| total > u32::MAX >> 1) {
            return Err(InvertedError::TooManyDocuments);
        }
        let (mut start, mut terms) = (0, Vec::new());
        for (row, end) in rows.iter().zip(ends) {
            let end = *end as usize;
            terms.clear();
            terms.extend(codes[start..end].chunks_exact(CODE_BYTES).map(decoded));
            let share = digest(&codes[start..end]).wrapping_mul((*row as u64).wrapping_mul(2).wrapping_add(1));
            self.checksum = self.checksum.wrapping_add(share);
            if !terms.is_sorted() {
                terms.sort_unstable();
            }
            for equal in terms.chunk_by(|one, other| one.0 == other.0) {
                let count = equal.iter().fold(0_u32, |sum, (_, count)| sum.saturating_add(*count));
                if count > 0 {
                    self.lists.entry(equal[0].0).or_default().push(self.documents, count);
                }
            }
            self.documents += 1;
            start = end;
        }
        Ok(())
    }

    /// Where any of some terms occurs, ascending, and how often all of them together; a term named twice counts once.
    pub fn postings(&self, terms: &[u64]) -> Vec<Posting> {
        let mut found = Vec::new();
        self.collect(terms, |_| true, &mut found);
        found
    }

    /// How often any of the terms of each word occurs in some documents: a row for each word.
    pub fn counts_at(&self, words: &[Vec<u64>], positions: &[i64]) -> Vec<u32> {
        let mut counts = vec![0; words.len() * positions.len()];
        for (word, counts) in words.iter().zip(counts.chunks_exact_mut(positions.len().max(1))) {
            for list in self.lists_of(word) {
                for (wanted, count) in positions.iter().zip(counts.iter_mut()) {
                    let Ok(wanted) = u32::try_from(*wanted) else { continue };
                    let near = list.postings_near(wanted).find(|(position, _)| *position >= wanted);
                    *count += near.map_or(0, |(position, often)| if position == wanted { often } else { 0 });
                }
            }
        }
        counts
    }

    /// Find the words of a question, each a few terms, and add what each scores to `scores`, one for each document.
    ///
    /// A word adds `log(1 + (N - n + .5) / (n + .5)) (k1 + 1) count / (count + k1)` where `n` of `N` visible documents
    /// hold it.
    ///
    /// # Errors
    ///
    /// [`InvertedError`]: the lengths are not the number of documents, or a group is none.
    pub fn search(
        &self,
        words: &[Vec<u64>],
        search: &Search<'_>,
        scores: &mut [f64],
    ) -> Result<Matches, InvertedError> {
        let expected = self.documents();
        let of_groups = search.groups.map_or([expected; 2], |groups| [groups.of.len(), groups.lengths.len()]);
        for found in [search.visible.len(), scores.len(), of_groups[0], of_groups[1]] {
            if found != expected {
                return Err(InvertedError::LengthMismatch { found, expected });
            }
        }
        let documents = search.visible.iter().filter(|seen| **seen).count();
        let mut matches = Matches::default();
        if let Some(groups) = search.groups {
            (matches.lengths, matches.visible) = group_lengths(&groups, search.visible)?;
        }
        let mut found: Vec<Posting> = Vec::new();
        let mut sums = vec![0.0_f32; matches.visible.len()];
        for word in words {
            found.clear();
            self.collect(word, |position| search.visible[position as usize], &mut found);
            let (holding, all) = (found.len() as f64, documents as f64);
            let weight = ((all - holding + 0.5) / (holding + 0.5)).ln_1p() * (search.k1 + 1.0);
            let score = |count: f64| weight * count / (count + search.k1);
            let table: [f64; COUNTS_TABLED] = std::array::from_fn(|count| score(count.max(1) as f64));
            for (position, count) in &found {
                let count = *count as usize;
                scores[*position as usize] += table.get(count).copied().unwrap_or_else(|| score(count as f64));
            }
            matches.holding.push(found.len() as i64);
            if let Some(groups) = search.groups {
                matches.grouped.push(sum_groups(&found, groups.of, &mut sums));
            }
        }
        Ok(matches)
    }

    fn lists_of<'a>(&'a self, terms: &'a [u64]) -> impl Iterator<Item = &'a List> {
        let once = terms.iter().enumerate().filter(|(at, term)| !terms[..*at].contains(term));
        once.filter_map(|(_, term)| self.lists.get(term))
    }

    fn collect(&self, terms: &[u64], keep: impl Fn(u32) -> bool, found: &mut Vec<Posting>) {
        for list in self.lists_of(terms) {
            let more = list.postings().filter(|(position, _)| keep(*position));
            if found.is_empty() {
                found.reserve(list.length as usize);
                found.extend(more);
            } else {
                *found = merged(found, more);
            }
        }
    }
}

/// The codes as one number, the low byte first, modulo [`DIGEST_MODULUS`].
fn digest(codes: &[u8]) -> u64 {
    let modulus = u128::from(DIGEST_MODULUS);
    let rest = codes.len() - codes.len() % CODE_BYTES;
    let parts = std::iter::once(&codes[rest..]).chain(codes[..rest].rchunks_exact(CODE_BYTES));
    let found = parts.fold(0_u128, |sum, part| {
        let number = part.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let sum = sum << (8 * CODE_BYTES) | u128::from(number); // below 2^118: 2^61 is 1 of the modulus
        (sum & modulus) + (sum >> 61)
    });
    (found % modulus) as u64
}

/// A term's number and how often it occurs.
fn decoded(code: &[u8]) -> (u64, u32) {
    let both = code.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    (both & 0xffff_ffff_ffff, (both >> 48) as u32)
}

/// The union of two ascending lists, counts added.
fn merged(one: &[Posting], other: impl Iterator<Item = Posting>) -> Vec<Posting> {
    let mut found = Vec::with_capacity(one.len());
    let mut at = 0;
    for (position, count) in other {
        while at < one.len() && one[at].0 < position {
            found.push(one[at]);
            at += 1;
        }
        if at < one.len() && one[at].0 == position {
            found.push((position, one[at].1 + count));
            at += 1;
        } else {
            found.push((position, count));
        }
    }
    found.extend_from_slice(&one[at..]);
    found
}

/// How many words the visible documents of each group hold, and whether it has any.
fn group_lengths(groups: &Groups<'_>, visible: &[bool]) -> Result<(Vec<f64>, Vec<bool>), InvertedError> {
    let (mut lengths, mut shown) = (vec![0.0; groups.count], vec![false; groups.count]);
    for ((group, length), _) in groups.of.iter().zip(groups.lengths).zip(visible).filter(|(_, seen)| **seen) {
        let slot = usize::try_from(*group).ok().filter(|slot| *slot < groups.count);
        let Some(slot) = slot else { return Err(InvertedError::NoSuchGroup { group: *group }) };
        lengths[slot] += *length as f64;
        shown[slot] = true;
    }
    Ok((lengths, shown))
}

/// The groups of some visible postings, ascending, and their counts; `sums` are zeros before and after.
fn sum_groups(found: &[Posting], groups: &[i64], sums: &mut [f32]) -> (Vec<i64>, Vec<f32>) {
    let mut holding = Vec::new();
    for same in found.chunk_by(|(one, _), (other, _)| groups[*one as usize] == groups[*other as usize]) {
        let group = groups[same[0].0 as usize];
        let sum = &mut sums[group as usize];
        if *sum == 0.0 {
            holding.push(group);
        }
        *sum += same.iter().map(|(_, count)| u64::from(*count)).sum::<u64>() as f32;
    }
    holding.sort_unstable();
    let counts = holding.iter().map(|group| std::mem::take(&mut sums[*group as usize])).collect();
    (holding, counts)
}

#[cfg(test)]
mod tests;
