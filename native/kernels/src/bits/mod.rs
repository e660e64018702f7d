//! Hypervectors of packed bits: binary spatter codes (Kanerva 1996, "Binary spatter-coding of ordered K-tuples").
//!
//! Bit i of a hypervector is bit `i % 64` of word `i / 64`, the lowest first. Many of them lie one behind the other,
//! `words` words each. Everything is integers: all instruction sets give the same bits.
//!
//! [`nearest`], [`distances`] and [`distances_of`] search, [`count`], [`majority`] and [`bundle`] add up,
//! [`bundle_groups`] and [`bind_groups`] do it for many, [`Planes`] make hypervectors of embeddings, [`rotate`] and
//! [`bind`] are here.

mod bundle;
mod groups;
mod project;
mod search;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::instructions::InstructionSet;
pub use bundle::{bundle, count, majority};
pub use groups::{bind_groups, bundle_groups, Groups};
pub use project::Planes;
pub use search::{distances, distances_of, nearest, Neighbour};

/// Why something could not be done with hypervectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitsError {
    /// Hypervectors without words.
    NoWords,
    /// The words are not a whole number of hypervectors.
    Ragged {
        /// Words given.
        given: usize,
        /// Words in a hypervector.
        words: usize,
    },
    /// Something has not got the length that belongs to the hypervectors.
    Length {
        /// What it is.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The one that it should have.
        expected: usize,
    },
    /// A counter might leave the range of 32 bits.
    Overflow,
    /// The offsets of groups do not rise from 0 to the number of members.
    Offsets {
        /// That number.
        members: usize,
    },
    /// A member of a group is no row.
    Row {
        /// The member.
        row: i64,
        /// How many rows there are.
        rows: usize,
    },
    /// A plane has a value that is neither 1 nor -1.
    Plane,
    /// Planes without values.
    NoValues,
}

impl fmt::Display for BitsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWords => write!(out, "a hypervector has at least one word"),
            Self::Ragged { given, words } => write!(out, "{given} words are not rows of {words}"),
            Self::Length { what, given, expected } => write!(out, "{what}: {given} given, {expected} expected"),
            Self::Overflow => write!(out, "a counter would leave the range of 32 bits"),
            Self::Offsets { members } => write!(out, "offsets must rise from 0 to {members}"),
            Self::Row { row, rows } => write!(out, "row {row} is none of {rows}"),
            Self::Plane => write!(out, "a plane has a value that is neither 1 nor -1"),
            Self::NoValues => write!(out, "a plane has at least one value"),
        }
    }
}

impl std::error::Error for BitsError {}

/// Makes `$name(set, ...)` of `$body(...)`: the same code, compiled once for each instruction set. `$body` is
/// `#[inline(always)]` and written so that the compiler makes vector instructions of it.
macro_rules! for_each_set {
    ($name:ident = $body:ident($($argument:ident: $of:ty),*) $(-> $result:ty)?) => {
        fn $name(set: InstructionSet, $($argument: $of),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
            fn avx512($($argument: $of),*) $(-> $result)? {
                $body($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($argument: $of),*) $(-> $result)? {
                $body($($argument),*)
            }

            match set {
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx512 if set.is_available() => {
                    // SAFETY: the processor has the set, as just asked.
                    unsafe { avx512($($argument),*) }
                }
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx2 | InstructionSet::AvxVnni if set.is_available() => {
                    // SAFETY: as above.
                    unsafe { avx2($($argument),*) }
                }
                _ => $body($($argument),*),
            }
        }
    };
}
use for_each_set;

/// How many hypervectors of `words` words lie in `vectors`.
fn rows(vectors: &[u64], words: usize) -> Result<usize, BitsError> {
    match (vectors.len().checked_div(words), vectors.len().checked_rem(words)) {
        (Some(rows), Some(0)) => Ok(rows),
        (Some(_), _) => Err(BitsError::Ragged { given: vectors.len(), words }),
        (None, _) => Err(BitsError::NoWords),
    }
}

/// That `given` is `expected`.
fn fits(what: &'static str, given: usize, expected: usize) -> Result<(), BitsError> {
    if given == expected {
        Ok(())
    } else {
        Err(BitsError::Length { what, given, expected })
    }
}

/// Bind hypervectors with as many others, or all of them with one: exclusive or, which is its own inverse.
///
/// # Errors
///
/// [`BitsError`] where `others` is neither as long as `vectors` nor one row of `words` words, or `bound` is not as
/// long as `vectors`.
pub fn bind(
    set: InstructionSet,
    vectors: &[u64],
    others: &[u64],
    words: usize,
    bound: &mut [u64],
) -> Result<(), BitsError> {
    rows(vectors, words)?;
    fits("words of the result", bound.len(), vectors.len())?;
    if others.len() == words {
        bind_with_one(set, vectors, others, bound);
    } else {
        fits("words of the others", others.len(), vectors.len())?;
        exclusive_or(set, vectors, others, bound);
    }
    Ok(())
}

for_each_set!(exclusive_or = exclusive_or_body(left: &[u64], right: &[u64], out: &mut [u64]));
for_each_set!(bind_with_one = bind_with_one_body(left: &[u64], right: &[u64], out: &mut [u64]));

#[inline(always)]
fn exclusive_or_body(left: &[u64], right: &[u64], out: &mut [u64]) {
    for ((out, left), right) in out.iter_mut().zip(left).zip(right) {
        *out = left ^ right;
    }
}

#[inline(always)]
fn bind_with_one_body(left: &[u64], right: &[u64], out: &mut [u64]) {
    for (out, left) in out.chunks_exact_mut(right.len()).zip(left.chunks_exact(right.len())) {
        exclusive_or_body(left, right, out);
    }
}

/// Rotate hypervectors, which is their permutation: bit i moves to bit `i + shift`, around the end. `shift` may be
/// negative and of any size.
///
/// # Errors
///
/// [`BitsError`] where `vectors` are not rows of `words` words, or `rotated` is not as long as they are.
pub fn rotate(
    set: InstructionSet,
    vectors: &[u64],
    words: usize,
    shift: i64,
    rotated: &mut [u64],
) -> Result<(), BitsError> {
    rows(vectors, words)?;
    fits("words of the result", rotated.len(), vectors.len())?;
    // Neither cast loses anything: no slice has 2^63 words, and both remainders are smaller than what divides them.
    let by_words = shift.div_euclid(64).rem_euclid(words as i64) as usize;
    let by_bits = shift.rem_euclid(64) as u32;
    rotate_rows(set, vectors, words, by_words, by_bits, rotated);
    Ok(())
}

for_each_set!(rotate_rows = rotate_rows_body(
    vectors: &[u64], words: usize, by_words: usize, by_bits: u32, rotated: &mut [u64]
));

#[inline(always)]
fn rotate_rows_body(vectors: &[u64], words: usize, by_words: usize, by_bits: u32, rotated: &mut [u64]) {
    for (row, out) in vectors.chunks_exact(words).zip(rotated.chunks_exact_mut(words)) {
        let (stay, wrap) = row.split_at(words - by_words);
        let (low, high) = out.split_at_mut(by_words);
        // Both parts end where the other begins, around the end.
        shift_into(wrap, stay.last(), by_bits, low);
        shift_into(stay, wrap.last().or(stay.last()), by_bits, high);
    }
}

/// Write `words`, moved up by less than a word, filled from the word `before` them.
#[inline(always)]
fn shift_into(words: &[u64], before: Option<&u64>, by_bits: u32, out: &mut [u64]) {
    let (Some(before), Some(first), Some(out_first)) = (before, words.first(), out.first_mut()) else {
        return;
    };
    if by_bits == 0 {
        out.copy_from_slice(words);
        return;
    }
    *out_first = first << by_bits | before >> (64 - by_bits);
    for (out, pair) in out.iter_mut().skip(1).zip(words.windows(2)) {
        *out = pair[1] << by_bits | pair[0] >> (64 - by_bits);
    }
}
