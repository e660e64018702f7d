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

/// Write the Hamming distance of each row of `vectors` from each of `queries`, a row's distances one behind the other.
///
/// `vectors` are read once, whatever the number of queries.
///
/// # Errors
///
/// [`BitsError`] where `vectors` or `queries` are not rows of `words` words, or `distances` not as many as both give.
pub fn distances_of(
    set: InstructionSet,
    vectors: &[u64],
    queries: &[u64],
    words: usize,
    distances: &mut [i32],
) -> Result<(), BitsError> {
    let (rows, number) = (rows(vectors, words)?, rows(queries, words)?);
    fits("distances", distances.len(), rows * number)?;
    if number > 0 {
        measure_all(set, vectors, queries, words, distances);
    }
    Ok(())
}

/// Find the `k` rows of `vectors` nearest to `query`, the nearest first, of equals the one with the lower index first.
///
/// Fewer than `k` are found where there are fewer. Exact.
///
/// # Errors
///
/// [`BitsError`] where `vectors` are not rows as long as `query`.
pub fn nearest(set: InstructionSet, vectors: &[u64], query: &[u64], k: usize) -> Result<Vec<Neighbour>, BitsError> {
    let rows = rows(vectors, query.len())?;
    if k == 0 {
        return Ok(Vec::new());
    }
    let mut best = Best { k, found: BinaryHeap::with_capacity(k.min(rows)) };
    search(set, vectors, query, &mut best);
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
for_each_set!(measure_all = measure_all_body(vectors: &[u64], queries: &[u64], words: usize, distances: &mut [i32]));
for_each_set!(search = search_body(vectors: &[u64], query: &[u64], best: &mut Best));

#[inline(always)]
fn measure_body(vectors: &[u64], query: &[u64], distances: &mut [i64]) {
    let mut out = distances.iter_mut();
    scan(vectors.chunks_exact(query.len()).enumerate(), query, |_, distance| {
        if let Some(out) = out.next() {
            *out = distance;
        }
    });
}

/// Queries that a row is compared with side by side, so that each of its lines is loaded once for all of them.
const TOGETHER: usize = 4;

#[inline(always)]
fn measure_all_body(vectors: &[u64], queries: &[u64], words: usize, distances: &mut [i32]) {
    let number = queries.len() / words;
    let mut rows = vectors.chunks_exact(words).peekable();
    let mut out = distances.chunks_exact_mut(number);
    while let (Some(row), Some(out)) = (rows.next(), out.next()) {
        let mut ahead = *rows.peek().unwrap_or(&row);
        let mut several = queries.chunks_exact(TOGETHER * words);
        let mut outs = out.chunks_exact_mut(TOGETHER);
        for (queries, out) in several.by_ref().zip(outs.by_ref()) {
            let query = |index: usize| &queries[index * words..][..words];
            out.copy_from_slice(&distances_together(row, [query(0), query(1), query(2), query(3)], ahead));
            ahead = row; // the next row was fetched
        }
        for (query, out) in several.remainder().chunks_exact(words).zip(outs.into_remainder()) {
            *out = distance(row, query, ahead) as i32;
            ahead = row;
        }
    }
}

/// [`distance`] of several queries.
#[inline(always)]
fn distances_together(row: &[u64], queries: [&[u64]; TOGETHER], ahead: &[u64]) -> [i32; TOGETHER] {
    let [a, b, c, d] = queries.map(|query| query.as_chunks::<LANES>());
    let (lines, rest) = row.as_chunks::<LANES>();
    let (mut of_a, mut of_b, mut of_c, mut of_d) = ([0_u64; LANES], [0_u64; LANES], [0_u64; LANES], [0_u64; LANES]);
    let query_lines = a.0.iter().zip(b.0).zip(c.0.iter().zip(d.0));
    for ((line, ((a, b), (c, d))), ahead) in lines.iter().zip(query_lines).zip(ahead.chunks_exact(LANES)) {
        fetch(ahead);
        for lane in 0..LANES {
            of_a[lane] += u64::from((line[lane] ^ a[lane]).count_ones());
        }
        for lane in 0..LANES {
            of_b[lane] += u64::from((line[lane] ^ b[lane]).count_ones());
        }
        for lane in 0..LANES {
            of_c[lane] += u64::from((line[lane] ^ c[lane]).count_ones());
        }
        for lane in 0..LANES {
            of_d[lane] += u64::from((line[lane] ^ d[lane]).count_ones());
        }
    }
    let sum = |sums: [u64; LANES], query_rest: &[u64]| {
        let rest: u32 = rest.iter().zip(query_rest).map(|(left, right)| (left ^ right).count_ones()).sum();
        (sums.iter().sum::<u64>() + u64::from(rest)) as i32
    };
    [sum(of_a, a.1), sum(of_b, b.1), sum(of_c, c.1), sum(of_d, d.1)]
}

#[inline(always)]
fn search_body(vectors: &[u64], query: &[u64], best: &mut Best) {
    let rows = vectors.chunks_exact(query.len()).enumerate();
    scan(rows, query, |row, distance| best.offer(distance, row));
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
