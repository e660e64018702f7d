//! Bundling: how many hypervectors have each bit, and what most of them have.

use super::{fits, for_each_set, rows, BitsError};
use crate::instructions::InstructionSet;

/// Rows that are added up bit by bit before their number goes to the counters: groups of eight, of which eight planes
/// of bits can count up to 255.
pub(super) const BLOCK: usize = 248;

/// Words side by side: 512 bits.
pub(super) const WIDTH: usize = 8;

/// Hypervectors that are added up: some, or all that lie one behind the other.
#[derive(Clone, Copy)]
pub(super) struct Members<'a> {
    /// Which ones, by index; each one that is there.
    pub rows: Option<&'a [i64]>,
    /// Where there are no such indices: the first one.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// Words of each.
    pub words: usize,
}

impl Members<'_> {
    /// The index of a member's first word.
    #[inline(always)]
    pub(super) fn start(&self, member: usize) -> usize {
        self.words * self.rows.map_or(self.first + member, |rows| rows[member] as usize)
    }

    /// Those from one on, [`BLOCK`] at most.
    #[inline(always)]
    fn block(&self, from: usize) -> Self {
        let count = BLOCK.min(self.count - from);
        Self { rows: self.rows.map(|rows| &rows[from..from + count]), first: self.first + from, count, ..*self }
    }
}

/// Count, for each bit, in how many of `vectors` it is set, and add that number times `weight` to its counter.
///
/// A weight of -1 takes away what was added before.
///
/// # Errors
///
/// [`BitsError`] where there are not 64 counters for each word of a row, `vectors` are no such rows, or a counter could
/// overflow; nothing is written then.
pub fn count(set: InstructionSet, vectors: &[u64], weight: i32, counters: &mut [i32]) -> Result<(), BitsError> {
    let words = counters.len() / 64;
    let rows = rows(vectors, words)?;
    fits("counters", counters.len(), 64 * words)?;
    let most = counters.iter().map(|counter| counter.unsigned_abs()).max().unwrap_or(0);
    let added = (rows as u64).saturating_mul(u64::from(weight.unsigned_abs()));
    if added.saturating_add(u64::from(most)) > i32::MAX as u64 {
        return Err(BitsError::Overflow);
    }
    add_up(set, vectors, words, weight, counters);
    Ok(())
}

/// Write the bits that most of `total` counted hypervectors have; where it is one half of them, those of `tie`.
///
/// # Errors
///
/// [`BitsError`] where `tie` and `bundled` are not as long as there are counters for, 64 a word.
pub fn majority(
    set: InstructionSet,
    counters: &[i32],
    total: i32,
    tie: &[u64],
    bundled: &mut [u64],
) -> Result<(), BitsError> {
    let words = rows(tie, tie.len()).map(|_| tie.len())?;
    fits("counters", counters.len(), 64 * words)?;
    fits("words of the result", bundled.len(), words)?;
    decide(set, counters, total, tie, bundled);
    Ok(())
}

/// [`count`] and [`majority`] of all of `vectors`, each with weight 1. Few of them need no counters.
///
/// # Errors
///
/// [`BitsError`] as there.
pub fn bundle(set: InstructionSet, vectors: &[u64], tie: &[u64], bundled: &mut [u64]) -> Result<(), BitsError> {
    let rows = rows(vectors, tie.len())?;
    fits("words of the result", bundled.len(), tie.len())?;
    if rows <= BLOCK {
        bundle_few(set, vectors, rows, tie, bundled);
        return Ok(());
    }
    let total = i32::try_from(rows).map_err(|_| BitsError::Overflow)?;
    let mut counters = vec![0; 64 * tie.len()];
    count(set, vectors, 1, &mut counters)?;
    majority(set, &counters, total, tie, bundled)
}

for_each_set!(add_up = add_up_body(vectors: &[u64], words: usize, weight: i32, counters: &mut [i32]));
for_each_set!(bundle_few = bundle_few_body(vectors: &[u64], rows: usize, tie: &[u64], bundled: &mut [u64]));
for_each_set!(decide = decide_body(counters: &[i32], total: i32, tie: &[u64], bundled: &mut [u64]));

#[inline(always)]
fn add_up_body(vectors: &[u64], words: usize, weight: i32, counters: &mut [i32]) {
    let all = Members { rows: None, first: 0, count: vectors.len() / words, words };
    add_up_rows(vectors, all, weight, counters);
}

/// Add those members up into the counters.
#[inline(always)]
pub(super) fn add_up_rows(vectors: &[u64], members: Members, weight: i32, counters: &mut [i32]) {
    for from in (0..members.count).step_by(BLOCK) {
        let block = members.block(from);
        let mut at = 0;
        let mut wide = counters.chunks_exact_mut(64 * WIDTH);
        for counters in wide.by_ref() {
            spread(&planes::<WIDTH>(vectors, block, at), weight, counters);
            at += WIDTH;
        }
        for counters in wide.into_remainder().chunks_exact_mut(64) {
            spread(&planes::<1>(vectors, block, at), weight, counters);
            at += 1;
        }
    }
}

#[inline(always)]
fn bundle_few_body(vectors: &[u64], rows: usize, tie: &[u64], bundled: &mut [u64]) {
    bundle_members(vectors, Members { rows: None, first: 0, count: rows, words: tie.len() }, tie, bundled);
}

/// Bundle up to [`BLOCK`] members, without counters.
#[inline(always)]
pub(super) fn bundle_members(vectors: &[u64], members: Members, tie: &[u64], bundled: &mut [u64]) {
    let mut at = 0;
    let mut wide = bundled.chunks_exact_mut(WIDTH);
    for out in wide.by_ref() {
        compare(&planes::<WIDTH>(vectors, members, at), members.count, &tie[at..], out);
        at += WIDTH;
    }
    for out in wide.into_remainder().chunks_exact_mut(1) {
        compare(&planes::<1>(vectors, members, at), members.count, &tie[at..], out);
        at += 1;
    }
}

/// Write in which places the numbers that the planes hold are over half of `rows`, or half and `tie` is set.
#[inline(always)]
fn compare<const N: usize>(planes: &[[u64; N]; 8], rows: usize, tie: &[u64], out: &mut [u64]) {
    let half = rows / 2;
    for (word, (out, tie)) in out.iter_mut().zip(tie).enumerate() {
        let (mut more, mut equal) = (0, u64::MAX);
        for (place, plane) in planes.iter().enumerate().rev() {
            if half >> place & 1 == 1 {
                equal &= plane[word];
            } else {
                more |= equal & plane[word];
                equal &= !plane[word];
            }
        }
        *out = more | if rows.is_multiple_of(2) { equal & tie } else { 0 };
    }
}

/// Add up to [`BLOCK`] members bit by bit, in words `at` to `at + N`: plane p holds bit p of all the numbers.
///
/// Eight rows at a time go through a tree of carry-save adders (Harley and Seal; Warren, Hacker's Delight, 5-1), so that
/// the higher planes are touched once in eight rows.
#[inline(always)]
fn planes<const N: usize>(vectors: &[u64], members: Members, at: usize) -> [[u64; N]; 8] {
    let mut planes = [[0; N]; 8];
    for first in (0..members.count).step_by(8) {
        let row = |index: usize| -> [u64; N] {
            if first + index >= members.count {
                return [0; N];
            }
            let from = members.start(first + index) + at;
            vectors.get(from..from + N).and_then(|words| words.try_into().ok()).unwrap_or([0; N])
        };
        let (ones, twos_a) = add(planes[0], row(0), row(1));
        let (ones, twos_b) = add(ones, row(2), row(3));
        let (twos, fours_a) = add(planes[1], twos_a, twos_b);
        let (ones, twos_a) = add(ones, row(4), row(5));
        let (ones, twos_b) = add(ones, row(6), row(7));
        let (twos, fours_b) = add(twos, twos_a, twos_b);
        let (fours, mut carry) = add(planes[2], fours_a, fours_b);
        (planes[0], planes[1], planes[2]) = (ones, twos, fours);
        for plane in &mut planes[3..] {
            (*plane, carry) = add(*plane, carry, [0; N]);
        }
    }
    planes
}

/// Three bits added, in each place: their sum and their carry.
#[inline(always)]
fn add<const N: usize>(a: [u64; N], b: [u64; N], c: [u64; N]) -> ([u64; N], [u64; N]) {
    let (mut sum, mut carry) = ([0; N], [0; N]);
    for at in 0..N {
        let either = a[at] ^ b[at];
        sum[at] = either ^ c[at];
        carry[at] = a[at] & b[at] | either & c[at];
    }
    (sum, carry)
}

/// Add the numbers that the planes hold, times `weight`, to the counters.
#[inline(always)]
fn spread<const N: usize>(planes: &[[u64; N]; 8], weight: i32, counters: &mut [i32]) {
    for (word, counters) in counters.chunks_exact_mut(64).enumerate() {
        for (byte, counters) in counters.chunks_exact_mut(8).enumerate() {
            let mut bits = 0;
            for (place, plane) in planes.iter().enumerate() {
                bits |= (plane[word] >> (8 * byte) & 0xff) << (8 * place);
            }
            for (counter, number) in counters.iter_mut().zip(transposed(bits).to_le_bytes()) {
                *counter += weight * i32::from(number);
            }
        }
    }
}

/// Eight bytes as a matrix of bits, turned over: bit j of byte i becomes bit i of byte j (Warren, Hacker's Delight, 7-3).
#[inline(always)]
fn transposed(bits: u64) -> u64 {
    let swap = |bits: u64, by: u32, which: u64| {
        let changed = (bits ^ bits >> by) & which;
        bits ^ changed ^ changed << by
    };
    let bits = swap(bits, 7, 0x00aa_00aa_00aa_00aa);
    let bits = swap(bits, 14, 0x0000_cccc_0000_cccc);
    swap(bits, 28, 0x0000_0000_f0f0_f0f0)
}

#[inline(always)]
pub(super) fn decide_body(counters: &[i32], total: i32, tie: &[u64], bundled: &mut [u64]) {
    let half = total.div_euclid(2);
    let even = total.rem_euclid(2) == 0;
    for ((counters, tie), out) in counters.chunks_exact(64).zip(tie).zip(bundled) {
        let (mut more, mut equal) = (0, 0);
        for (bit, counter) in counters.iter().enumerate() {
            more |= u64::from(*counter > half) << bit;
            equal |= u64::from(*counter == half) << bit;
        }
        *out = more | if even { equal & tie } else { 0 };
    }
}
