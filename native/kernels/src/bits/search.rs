//! Hamming distances of many hypervectors from one, and the nearest of them.

use std::collections::BinaryHeap;

use super::{fits, for_each_set, rows, BitsError};
use crate::instructions::InstructionSet;

/// Words whose distances are summed side by side: a line of the cache.
const LANES: usize = 8;

/// A row's Hamming distance, and which row it is; ordered by these two.
pub type Neighbour = (i64, i64);

/// Write the Hamming distance of each row of `vectors` from `query`, in bits.
///
/// # Errors
///
/// [`BitsError`] where `vectors` are not `distances.len()` rows as long as `query`.
pub fn distances(set: InstructionSet, vectors: &[u64], query: &[u64], distances: &mut [i64]) -> Result<(), BitsError> {
    fits("distances", distances.len(), rows(vectors, query.len())?)?;
    measure(set, vectors, query, distances);
    Ok(())
}

/// Find the `k` rows of `vectors` nearest to `query`, the nearest first, of equals the one with the lower index first.
///
/// Where there is a mask `allowed`, only rows whose bit is set are looked at: row i's is bit `i % 64` of word `i / 64`.
/// Bits beyond the last row mean nothing. Fewer than `k` are found where there are fewer. Exact.
///
/// # Errors
///
/// [`BitsError`] where `vectors` are not rows as long as `query`, or the mask has not got one bit a row, in whole words.
pub fn nearest(
    set: InstructionSet,
    vectors: &[u64],
    query: &[u64],
    allowed: Option<&[u64]>,
    k: usize,
) -> Result<Vec<Neighbour>, BitsError> {
    let rows = rows(vectors, query.len())?;
    if let Some(allowed) = allowed {
        fits("words of the mask", allowed.len(), rows.div_ceil(64))?;
    }
    if k == 0 {
        return Ok(Vec::new());
    }
    let mut best = Best { k, found: BinaryHeap::with_capacity(k.min(rows)) };
    search(set, vectors, query, allowed, &mut best);
    Ok(best.found.into_sorted_vec())
}

/// The best `k` so far; the worst of them on top. `k` is at least 1.
struct Best {
    k: usize,
    found: BinaryHeap<Neighbour>,
}

impl Best {
    /// Take a row in, if it is among the best. Rows come in the order of their indices, so that an equal never
    /// displaces an earlier one.
    #[inline(always)]
    fn offer(&mut self, distance: i64, row: usize) {
        if self.found.len() < self.k {
            self.found.push((distance, row as i64));
        } else if let Some(mut worst) = self.found.peek_mut() {
            if distance < worst.0 {
                *worst = (distance, row as i64);
            }
        }
    }
}

for_each_set!(measure = measure_body(vectors: &[u64], query: &[u64], distances: &mut [i64]));
for_each_set!(search = search_body(vectors: &[u64], query: &[u64], allowed: Option<&[u64]>, best: &mut Best));

#[inline(always)]
fn measure_body(vectors: &[u64], query: &[u64], distances: &mut [i64]) {
    let mut out = distances.iter_mut();
    scan(vectors.chunks_exact(query.len()).enumerate(), query, |_, distance| {
        if let Some(out) = out.next() {
            *out = distance;
        }
    });
}

#[inline(always)]
fn search_body(vectors: &[u64], query: &[u64], allowed: Option<&[u64]>, best: &mut Best) {
    let mut rows = vectors.chunks_exact(query.len());
    match allowed {
        None => scan(rows.enumerate(), query, |row, distance| best.offer(distance, row)),
        Some(allowed) => {
            let mut passed = 0;
            let allowed_rows = set_bits(allowed).map_while(|row| {
                let found = rows.nth(row - passed)?;
                passed = row + 1;
                Some((row, found))
            });
            scan(allowed_rows, query, |row, distance| best.offer(distance, row));
        }
    }
}

/// Which bits are set, in order.
#[inline(always)]
fn set_bits(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(at, word)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let bit = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (bit < 64).then_some(64 * at + bit)
        })
    })
}

/// Tell each row's distance. While one is measured, the next is fetched: the processor's own prefetching stops at the
/// end of each page of 4 KiB, which is every third row.
#[inline(always)]
fn scan<'a>(mut rows: impl Iterator<Item = (usize, &'a [u64])>, query: &[u64], mut tell: impl FnMut(usize, i64)) {
    let mut next = rows.next();
    while let Some((row, words)) = next {
        next = rows.next();
        let ahead = next.map_or(words, |(_, words)| words);
        tell(row, distance(words, query, ahead));
    }
}

#[inline(always)]
fn distance(row: &[u64], query: &[u64], ahead: &[u64]) -> i64 {
    let mut sums = [0_u64; LANES];
    let (lines, query_lines) = (row.chunks_exact(LANES), query.chunks_exact(LANES));
    let rest = lines.remainder().iter().zip(query_lines.remainder());
    let rest: u32 = rest.map(|(left, right)| (left ^ right).count_ones()).sum();
    for ((line, query_line), ahead) in lines.zip(query_lines).zip(ahead.chunks_exact(LANES)) {
        fetch(ahead);
        for (sum, (left, right)) in sums.iter_mut().zip(line.iter().zip(query_line)) {
            *sum += u64::from((left ^ right).count_ones());
        }
    }
    (sums.iter().sum::<u64>() + u64::from(rest)) as i64
}

/// Bring a line into the cache.
#[inline(always)]
fn fetch(line: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every such processor has SSE, and fetching ahead reads nothing.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
