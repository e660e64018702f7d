//! Groups of hypervectors, each bundled or bound into one: all records of a batch in one call.

use super::bundle::{add_up_rows, bundle_members, decide_body, Members, BLOCK};
use super::{fits, for_each_set, rows, BitsError};
use crate::instructions::InstructionSet;

/// Which hypervectors belong together.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a> {
    /// One more than there are groups: group i is those from `offsets[i]` to `offsets[i + 1]`.
    pub offsets: &'a [i64],
    /// Of what the groups are made, each the index of a hypervector; else of the hypervectors themselves, in order.
    pub rows: Option<&'a [i64]>,
}

impl<'a> Groups<'a> {
    /// That the offsets rise from 0 to all members, and that each member is one of `rows` hypervectors.
    fn check(&self, rows: usize) -> Result<(), BitsError> {
        let members = self.rows.map_or(rows, <[i64]>::len);
        let ends = (self.offsets.first() == Some(&0), self.offsets.last().map(|last| *last as usize));
        if ends != (true, Some(members)) || !self.offsets.is_sorted() {
            return Err(BitsError::Offsets { members });
        }
        let outside = |row: &&i64| usize::try_from(**row).map_or(true, |row| row >= rows);
        match self.rows.and_then(|members| members.iter().find(outside)) {
            Some(row) => Err(BitsError::Row { row: *row, rows }),
            None => Ok(()),
        }
    }

    /// The groups, one behind the other.
    #[inline(always)]
    fn each(self, words: usize) -> impl Iterator<Item = Members<'a>> {
        self.offsets.windows(2).map(move |ends| {
            let (from, to) = (ends[0] as usize, ends[1] as usize);
            Members { rows: self.rows.map(|rows| &rows[from..to]), first: from, count: to - from, words }
        })
    }
}

/// Bundle each group, as [`super::bundle`] does one, into rows of `bundled`; `ties` has one row for each.
///
/// # Errors
///
/// [`BitsError`] where `vectors` are not rows of `words` words, `ties` or `bundled` not as many as groups, or the
/// groups are not of those rows.
pub fn bundle_groups(
    set: InstructionSet,
    vectors: &[u64],
    words: usize,
    groups: Groups,
    ties: &[u64],
    bundled: &mut [u64],
) -> Result<(), BitsError> {
    groups.check(rows(vectors, words)?)?;
    let number = (groups.offsets.len() - 1) * words;
    fits("words of the ties", ties.len(), number)?;
    fits("words of the result", bundled.len(), number)?;
    if groups.offsets.windows(2).any(|ends| ends[1] - ends[0] > i64::from(i32::MAX)) {
        return Err(BitsError::Overflow);
    }
    bundle_each(set, vectors, words, groups, ties, bundled);
    Ok(())
}

/// Bind the hypervectors of each group with each other, into rows of `bound`; of an empty group, zeros.
///
/// # Errors
///
/// [`BitsError`] as for [`bundle_groups`].
pub fn bind_groups(
    set: InstructionSet,
    vectors: &[u64],
    words: usize,
    groups: Groups,
    bound: &mut [u64],
) -> Result<(), BitsError> {
    groups.check(rows(vectors, words)?)?;
    fits("words of the result", bound.len(), (groups.offsets.len() - 1) * words)?;
    bind_each(set, vectors, words, groups, bound);
    Ok(())
}

for_each_set!(bundle_each = bundle_each_body(
    vectors: &[u64], words: usize, groups: Groups, ties: &[u64], bundled: &mut [u64]
));
for_each_set!(bind_each = bind_each_body(vectors: &[u64], words: usize, groups: Groups, bound: &mut [u64]));

#[inline(always)]
fn bundle_each_body(vectors: &[u64], words: usize, groups: Groups, ties: &[u64], bundled: &mut [u64]) {
    let mut counters = Vec::new();
    let results = bundled.chunks_exact_mut(words).zip(ties.chunks_exact(words));
    for (members, (out, tie)) in groups.each(words).zip(results) {
        if members.count > BLOCK {
            counters.clear();
            counters.resize(64 * words, 0);
            add_up_rows(vectors, members, 1, &mut counters);
            decide_body(&counters, members.count as i32, tie, out);
            continue;
        }
        bundle_members(vectors, members, tie, out);
    }
}

#[inline(always)]
fn bind_each_body(vectors: &[u64], words: usize, groups: Groups, bound: &mut [u64]) {
    for (members, out) in groups.each(words).zip(bound.chunks_exact_mut(words)) {
        out.fill(0);
        for member in 0..members.count {
            let from = members.start(member);
            for (out, word) in out.iter_mut().zip(&vectors[from..from + words]) {
                *out ^= word;
            }
        }
    }
}
