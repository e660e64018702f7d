//! The nearest others of each row within its group, by codes of one byte a value ([`crate::codes::quantise`]).
//!
//! A cosine is the integer sum of the products of two rows' codes times both scales, rounded once to float64 and once
//! to float32: the same bits on every instruction set, in any number of threads, and from either of the two rows. For
//! unit vectors of 384 dimensions it is off by 0.0005 (one standard deviation).
//!
//! Each group's queries are taken in blocks, and its rows in blocks that stay in the first cache while a block of
//! queries passes over them. Groups with few queries are cut by rows instead, so that all threads have work.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::codes::best::better;
use crate::codes::sums::{self, Factors, Four, MOST_DIMENSIONS};
use crate::instructions::InstructionSet;

/// Queries that pass over a block of rows: with their codes (98 KiB at 384 dimensions) they stay in the second cache.
const QUERIES: usize = 256;
/// Rows of a block: 24 KiB at 384 dimensions.
const ROWS: usize = 64;
/// How many rows ahead their bytes are asked for.
const AHEAD: usize = 12;
/// Bytes that are worth a thread: what takes about as long to read as it takes to start one.
const BYTES_A_THREAD: usize = 1 << 20;

/// Why neighbours could not be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighboursError {
    /// There are not as many of them as there are scales (codes: rows times dimensions).
    LengthMismatch {
        /// Which: `codes`, `groups`, `bounds`, `neighbours` or `cosines`.
        of: &'static str,
        /// How many there are.
        found: usize,
        /// How many there were to be.
        expected: usize,
    },
    /// A row is longer than [`MOST_DIMENSIONS`].
    TooWide {
        /// Its length.
        dimensions: usize,
    },
    /// A scale is not within 0 to 1.
    ScaleOutOfRange {
        /// The first such row.
        row: usize,
    },
    /// What is asked for is no row.
    NoSuchRow {
        /// The number.
        row: i64,
    },
    /// A code of a row that is asked for is -128, which [`crate::codes::quantise`] gives to none.
    CodeOutOfRange {
        /// The row.
        row: usize,
    },
}

impl fmt::Display for NeighboursError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthMismatch { of, found, expected } => write!(out, "{of}: {found} values were to be {expected}"),
            Self::TooWide { dimensions } => write!(out, "{dimensions} dimensions are more than {MOST_DIMENSIONS}"),
            Self::ScaleOutOfRange { row } => write!(out, "the scale of row {row} is not within 0 to 1"),
            Self::NoSuchRow { row } => write!(out, "there is no row {row}"),
            Self::CodeOutOfRange { row } => write!(out, "a code of row {row} is -128"),
        }
    }
}

impl std::error::Error for NeighboursError {}

/// Rows of codes, their scales and groups; as many rows as there are scales.
#[derive(Clone, Copy, Debug)]
pub struct Grouped<'a> {
    /// The rows one behind the other.
    pub codes: &'a [i8],
    /// Codes of a row.
    pub dimensions: usize,
    /// What a row's codes are to be multiplied with, 0 to 1.
    pub scales: &'a [f32],
    /// The group of each row; a negative one means that the row is not there.
    pub groups: &'a [i32],
    /// Above which cosine with a query a row is told as a [`Hit`]; without bounds none are.
    pub bounds: Option<&'a [f32]>,
}

/// A row that was not asked for, and is nearer to a query than its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Which of the rows asked for, counted from 0.
    pub query: usize,
    /// The row.
    pub row: usize,
    /// The cosine of the two.
    pub cosine: f32,
}

/// Write for each of `rows` its `k` nearest others of its own group and their cosines, the nearest first, then the lower
/// row; -1 and 0 where there are fewer. `k` is the length of `neighbours` by that of `rows`. Returns the hits by row,
/// then by query; up to `threads` threads share the work.
///
/// # Errors
///
/// [`NeighboursError`] before anything is written.
pub fn nearest(
    set: InstructionSet,
    among: Grouped<'_>,
    rows: &[i64],
    threads: usize,
    neighbours: &mut [i64],
    cosines: &mut [f32],
) -> Result<Vec<Hit>, NeighboursError> {
    let asked = checked(&among, rows)?;
    let k = neighbours.len() / rows.len().max(1);
    same("neighbours", neighbours.len(), k * rows.len())?;
    same("cosines", cosines.len(), neighbours.len())?;
    neighbours.fill(-1);
    cosines.fill(0.0);

    let mut bounds = among.bounds.map(<[f32]>::to_vec);
    if let Some(bounds) = &mut bounds {
        asked.iter().for_each(|row| bounds[*row] = f32::INFINITY);
    }
    let parts = by_group(among.groups, &asked);
    let bytes: usize = parts.iter().map(|part| part.members.len() * part.queries.len() * among.dimensions.max(1)).sum();
    let threads = threads.clamp(1, (bytes / BYTES_A_THREAD).max(1));
    let search = Search { four: sums::four(set), among, bounds, asked, k, parts };
    let tasks = search.tasks(threads);

    let mut hits = Vec::new();
    let mut found: Vec<Vec<(usize, f32)>> = vec![Vec::new(); rows.len()];
    for done in share(&tasks, threads, |task| search.run(task)) {
        hits.extend(done.hits);
        done.nearest.into_iter().for_each(|(query, nearest)| found[query].extend(nearest));
    }
    hits.sort_unstable_by_key(|hit| (hit.row, hit.query));
    for (query, nearest) in found.iter_mut().enumerate() {
        nearest.sort_unstable_by(better);
        for (at, (row, cosine)) in nearest.iter().take(k).enumerate() {
            neighbours[query * k + at] = *row as i64;
            cosines[query * k + at] = *cosine;
        }
    }
    Ok(hits)
}

/// The rows asked for as indexes, once all shapes and ranges are as they should be.
fn checked(among: &Grouped<'_>, rows: &[i64]) -> Result<Vec<usize>, NeighboursError> {
    let (count, dimensions) = (among.scales.len(), among.dimensions);
    if dimensions > MOST_DIMENSIONS {
        return Err(NeighboursError::TooWide { dimensions });
    }
    same("codes", among.codes.len(), count.saturating_mul(dimensions))?;
    same("groups", among.groups.len(), count)?;
    same("bounds", among.bounds.map_or(count, <[f32]>::len), count)?;
    // Without a branch for each: all of them are looked at in every call.
    if !among.scales.iter().fold(true, |good, scale| good & (0.0..=1.0).contains(scale)) {
        let row = among.scales.iter().position(|scale| !(0.0..=1.0).contains(scale)).unwrap_or(0);
        return Err(NeighboursError::ScaleOutOfRange { row });
    }
    let index = |row: &i64| {
        let found = usize::try_from(*row).ok().filter(|index| *index < count);
        let index = found.ok_or(NeighboursError::NoSuchRow { row: *row })?;
        if among.codes[index * dimensions..(index + 1) * dimensions].contains(&i8::MIN) {
            return Err(NeighboursError::CodeOutOfRange { row: index });
        }
        Ok(index)
    };
    rows.iter().map(index).collect()
}

fn same(of: &'static str, found: usize, expected: usize) -> Result<(), NeighboursError> {
    if found == expected {
        Ok(())
    } else {
        Err(NeighboursError::LengthMismatch { of, found, expected })
    }
}

/// A group of which rows are asked for.
struct Part {
    /// Its rows, ascending.
    members: Vec<usize>,
    /// Which of the rows asked for are of it, ascending.
    queries: Vec<usize>,
}

fn by_group(groups: &[i32], asked: &[usize]) -> Vec<Part> {
    let mut wanted: Vec<i32> = asked.iter().map(|row| groups[*row]).filter(|group| *group >= 0).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut parts: Vec<Part> = wanted.iter().map(|_| Part { members: Vec::new(), queries: Vec::new() }).collect();
    for (row, group) in groups.iter().enumerate() {
        if let Ok(part) = wanted.binary_search(group) {
            parts[part].members.push(row);
        }
    }
    for (query, row) in asked.iter().enumerate() {
        if let Ok(part) = wanted.binary_search(&groups[*row]) {
            parts[part].queries.push(query);
        }
    }
    parts
}

/// Some queries of a group against some of its rows.
struct Task {
    part: usize,
    queries: Range<usize>,
    members: Range<usize>,
}

/// What came of a task: of each query the nearest rows, in no order, and all hits.
struct Done {
    nearest: Vec<(usize, Vec<(usize, f32)>)>,
    hits: Vec<Hit>,
}

/// Do all tasks, in up to so many threads.
fn share<T: Sync, D: Send>(tasks: &[T], threads: usize, run: impl Fn(&T) -> D + Sync) -> Vec<D> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push(run(task));
        }
        done
    };
    std::thread::scope(|scope| {
        // Where the system gives no more threads, those that are there do all of it.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads.min(tasks.len())).map_while(spawn).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(found) => done.extend(found),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}

/// One call's work.
struct Search<'a> {
    four: Four,
    among: Grouped<'a>,
    /// As they were given, but infinite for the rows asked for.
    bounds: Option<Vec<f32>>,
    asked: Vec<usize>,
    k: usize,
    parts: Vec<Part>,
}

/// A query at work.
struct Probe {
    query: usize,
    row: usize,
    scale: f64,
    factors: Factors,
    best: Nearest,
}

impl Search<'_> {
    /// Cut the work: by blocks of queries, and by rows where those are too few for the threads.
    fn tasks(&self, threads: usize) -> Vec<Task> {
        let blocks: usize = self.parts.iter().map(|part| part.queries.len().div_ceil(QUERIES)).sum();
        let pieces = if blocks < 2 * threads { threads } else { 1 };
        let mut tasks = Vec::new();
        for (part, Part { members, queries }) in self.parts.iter().enumerate() {
            let step = members.len().div_ceil(pieces).next_multiple_of(ROWS);
            for from in (0..queries.len()).step_by(QUERIES) {
                tasks.extend((0..members.len()).step_by(step).map(|first| Task {
                    part,
                    queries: from..queries.len().min(from + QUERIES),
                    members: first..members.len().min(first + step),
                }));
            }
        }
        tasks
    }

    fn run(&self, task: &Task) -> Done {
        let part = &self.parts[task.part];
        let members = &part.members[task.members.clone()];
        let mut probes: Vec<Probe> = part.queries[task.queries.clone()]
            .iter()
            .map(|query| {
                let row = self.asked[*query];
                let scale = f64::from(self.among.scales[row]);
                let factors = Factors::new(self.codes(row).to_vec());
                Probe { query: *query, row, scale, factors, best: Nearest::new(self.k, members.len()) }
            })
            .collect();
        let mut hits = Vec::new();
        for start in (0..members.len()).step_by(ROWS) {
            self.pass(members, start, &mut probes, &mut hits);
        }
        Done { nearest: probes.into_iter().map(|probe| (probe.query, probe.best.chosen())).collect(), hits }
    }

    /// Let all queries pass over one block of rows.
    fn pass(&self, members: &[usize], start: usize, probes: &mut [Probe], hits: &mut Vec<Hit>) {
        let block = &members[start..members.len().min(start + ROWS)];
        let (mut scales, mut bounds) = ([0.0_f64; ROWS], [f32::INFINITY; ROWS]);
        for (at, row) in block.iter().enumerate() {
            scales[at] = f64::from(self.among.scales[*row]);
            if let Some(given) = &self.bounds {
                bounds[at] = given[*row];
            }
        }
        let four_of = |at: usize| std::array::from_fn(|one| self.codes(members[(at + one).min(members.len() - 1)]));
        let (mut sums, mut cosines) = ([0_i32; ROWS], [0.0_f32; ROWS]);
        for probe in probes {
            for (at, four) in sums[..block.len().next_multiple_of(4)].chunks_exact_mut(4).enumerate() {
                let at = start + 4 * at;
                four.copy_from_slice(&(self.four)(four_of(at), four_of(at + AHEAD), &probe.factors));
            }
            for ((cosine, sum), scale) in cosines.iter_mut().zip(&sums).zip(&scales) {
                // The scales first: their product is exact in float64, so either row as the query gives the same.
                *cosine = (f64::from(*sum) * (probe.scale * scale)) as f32;
            }
            for (at, row) in block.iter().enumerate() {
                if cosines[at] > probe.best.least && *row != probe.row {
                    probe.best.take(*row, cosines[at]);
                }
                if cosines[at] > bounds[at] {
                    hits.push(Hit { query: probe.query, row: *row, cosine: cosines[at] });
                }
            }
        }
    }

    fn codes(&self, row: usize) -> &[i8] {
        &self.among.codes[row * self.among.dimensions..(row + 1) * self.among.dimensions]
    }
}

/// The best `k` of cosines that come by ascending row: twice as many are taken in before the worse half goes.
struct Nearest {
    k: usize,
    taken: Vec<(usize, f32)>,
    /// What a row has to pass: the worst of the best `k` when the others last went. One that ties with it is higher.
    least: f32,
}

impl Nearest {
    fn new(k: usize, rows: usize) -> Self {
        let k = k.min(rows);
        let least = if k == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        Self { k, taken: Vec::with_capacity(2 * k), least }
    }

    fn take(&mut self, row: usize, cosine: f32) {
        self.taken.push((row, cosine));
        if self.taken.len() == 2 * self.k {
            let (_, &mut (_, worst), _) = self.taken.select_nth_unstable_by(self.k - 1, better);
            self.least = worst;
            self.taken.truncate(self.k);
        }
    }

    fn chosen(self) -> Vec<(usize, f32)> {
        self.taken
    }
}

#[cfg(test)]
mod tests;
