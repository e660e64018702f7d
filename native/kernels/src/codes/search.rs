//! The first pass over the codes, and the second one over what it chose.

use super::best::Best;
use super::sums::{self, Factors, MOST_DIMENSIONS};
use super::{fits, quantise, Coded, CodesError};
use crate::instructions::InstructionSet;
use crate::scan::{inner_products, ScanError};

/// How many rows are listed before they are scanned, so that their bytes can be asked for in time.
const BLOCK: usize = 1024;
/// How far ahead that is: ten rows of 384 (of 1 to 8 KiB, the fastest on a Sapphire Rapids).
const AHEAD_BYTES: usize = 4096;
/// Rows that are scored exactly are further apart, and longer.
const AHEAD_EXACT: usize = 4;

/// Write a score for each allowed row, NaN for the others: exact for the best `exact` rows and all that tie with the
/// last of them by the codes, by the codes for the rest, but none above the least exact score.
///
/// Bit `row % 64` of word `row / 64` of `allowed` says whether a row may be found; without words all may.
///
/// # Errors
///
/// [`CodesError`] where shapes disagree, or the query or a row that was looked at is not finite; `scores` is not to be
/// used then.
pub fn scores(
    set: InstructionSet,
    coded: Coded<'_>,
    query: &[f32],
    allowed: Option<&[u64]>,
    exact: usize,
    scores: &mut [f32],
) -> Result<(), CodesError> {
    fits("scores", scores.len(), coded.scales.len(), 1)?;
    scores.fill(f32::NAN);
    let chosen = scan(set, coded, query, allowed, exact, |row, score| scores[row] = score)?;
    let least = chosen.iter().fold(f32::INFINITY, |least, (_, score)| least.min(*score));
    for score in scores.iter_mut() {
        *score = if *score > least { least } else { *score }; // NaN stays; without a branch it takes a quarter as long
    }
    for (row, score) in chosen {
        scores[row] = score;
    }
    Ok(())
}

/// Tell each allowed row's approximate score; return the best `rescore` rows by it and all that tie with the last of
/// them, with their exact scores.
fn scan(
    set: InstructionSet,
    coded: Coded<'_>,
    query: &[f32],
    allowed: Option<&[u64]>,
    rescore: usize,
    mut told: impl FnMut(usize, f32),
) -> Result<Vec<(usize, f32)>, CodesError> {
    let (rows, dimensions) = (coded.scales.len(), query.len());
    fits("vectors", coded.vectors.len(), rows, dimensions)?;
    fits("codes", coded.codes.len(), rows, dimensions)?;
    if dimensions > MOST_DIMENSIONS {
        return Err(CodesError::TooWide { dimensions });
    }
    let words = rows.div_ceil(64);
    if let Some(mask) = allowed.filter(|mask| mask.len() != words) {
        return Err(CodesError::MaskMismatch { words: mask.len(), rows });
    }
    let (mut factors, mut factor) = (vec![0; dimensions], [0.0]);
    quantise(set, query, dimensions, &mut factors, &mut factor).map_err(|_| CodesError::QueryNotFinite)?;
    let (four, factors) = (sums::four(set), Factors::new(factors));
    let factor = f64::from(factor[0]);
    let row_of = |row: usize| &coded.codes[row * dimensions..(row + 1) * dimensions];
    let ahead = (AHEAD_BYTES / dimensions.max(1)).clamp(4, 64);

    let mut best = Best::new(rescore, rows);
    let mut listed: Vec<usize> = Vec::with_capacity(BLOCK + 64);
    let mut word = 0;
    while word < words || !listed.is_empty() {
        while word < words && listed.len() < BLOCK {
            list(&mut listed, word, allowed.map_or(u64::MAX, |mask| mask[word]), rows);
            word += 1;
        }
        // The last few stay for the next round, in which what comes behind them is known.
        let ready = if word < words { listed.len() - ahead } else { listed.len() };
        for at in (0..ready).step_by(4) {
            let here = &listed[at..ready.min(at + 4)];
            let behind = &listed[(at + ahead).min(listed.len() - 1)..];
            let rows_of = |list: &[usize]| std::array::from_fn(|one| row_of(list[one.min(list.len() - 1)]));
            let products = four(rows_of(here), rows_of(behind), &factors);
            for (row, product) in here.iter().zip(products) {
                // In float64, where no part of it overflows: 2^31 and two scales of up to 2^121.
                let mut score = (f64::from(product) * f64::from(coded.scales[*row]) * factor) as f32;
                if !score.is_finite() {
                    score = finite(&coded, *row, query)?;
                }
                told(*row, score);
                best.offer(*row, score);
            }
        }
        listed.drain(..ready);
    }
    exactly(set, coded.vectors, query, best.chosen())
}

/// What stands for an approximate score that is not finite: near the largest float32 the exact one may be.
#[cold]
fn finite(coded: &Coded<'_>, row: usize, query: &[f32]) -> Result<f32, CodesError> {
    let vector = &coded.vectors[row * query.len()..(row + 1) * query.len()];
    let exact: f64 = vector.iter().zip(query).map(|(value, factor)| f64::from(*value) * f64::from(*factor)).sum();
    Some(exact as f32)
        .filter(|score| score.is_finite() && coded.scales[row].is_finite())
        .ok_or(CodesError::NotFinite { row })
}

/// Append the rows of one word of the mask.
fn list(listed: &mut Vec<usize>, word: usize, mut bits: u64, rows: usize) {
    let first = word * 64;
    if rows - first < 64 {
        bits &= (1 << (rows - first)) - 1;
    }
    if bits == u64::MAX {
        listed.extend(first..first + 64);
        return;
    }
    while bits != 0 {
        listed.push(first + bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

/// Put the exact score in the place of the approximate one.
fn exactly(
    set: InstructionSet,
    vectors: &[f32],
    query: &[f32],
    mut chosen: Vec<(usize, f32)>,
) -> Result<Vec<(usize, f32)>, CodesError> {
    let row_of = |row: usize| &vectors[row * query.len()..(row + 1) * query.len()];
    chosen.sort_unstable_by_key(|(row, _)| *row); // as they lie in memory
    for at in 0..chosen.len() {
        if let Some((next, _)) = chosen.get(at + AHEAD_EXACT) {
            sums::prefetch(row_of(*next));
        }
        let (row, mut product) = (chosen[at].0, [0.0]);
        inner_products(set, row_of(row), query, &mut product).map_err(|error| match error {
            ScanError::NotFinite { .. } => CodesError::NotFinite { row },
            ScanError::ShapeMismatch { rows, dimensions, values } => {
                CodesError::ShapeMismatch { of: "vectors", rows, dimensions, values }
            }
        })?;
        chosen[at].1 = product[0];
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::super::best::better;
    use super::super::{quantise, Coded, CodesError, MOST_DIMENSIONS};
    use super::scores;
    use crate::instructions::InstructionSet;
    use crate::scan::inner_products;

    struct Rows {
        vectors: Vec<f32>,
        codes: Vec<i8>,
        scales: Vec<f32>,
        query: Vec<f32>,
    }

    impl Rows {
        /// Values in [-0.5, 0.5) from a linear congruential generator; every 50th row is the one before it once more.
        fn new(rows: usize, dimensions: usize) -> Self {
            let mut state = (rows * 1000 + dimensions) as u64;
            let mut values = |count: usize| -> Vec<f32> {
                let value = |_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
                };
                (0..count).map(value).collect()
            };
            let (mut vectors, query) = (values(rows * dimensions), values(dimensions));
            for row in (49..rows).step_by(50) {
                vectors.copy_within((row - 1) * dimensions..row * dimensions, row * dimensions);
            }
            let (mut codes, mut scales) = (vec![0; rows * dimensions], vec![0.0; rows]);
            assert_eq!(quantise(InstructionSet::Portable, &vectors, dimensions, &mut codes, &mut scales), Ok(()));
            Self { vectors, codes, scales, query }
        }

        fn coded(&self) -> Coded<'_> {
            Coded { vectors: &self.vectors, codes: &self.codes, scales: &self.scales }
        }

        /// All allowed rows and their exact scores, the best first.
        fn in_order(&self, set: InstructionSet, allowed: Option<&[u64]>) -> Vec<(usize, f32)> {
            let mut products = vec![0.0; self.scales.len()];
            assert_eq!(inner_products(set, &self.vectors, &self.query, &mut products), Ok(()));
            let mut all: Vec<_> = products.into_iter().enumerate().filter(|(row, _)| is_in(allowed, *row)).collect();
            all.sort_by(better);
            all
        }
    }

    fn is_in(allowed: Option<&[u64]>, row: usize) -> bool {
        allowed.is_none_or(|mask| mask[row / 64] >> (row % 64) & 1 == 1)
    }

    /// All, none, one of each three rows, whole words and none, the first row, the last word.
    fn masks(rows: usize) -> Vec<Option<Vec<u64>>> {
        let words = rows.div_ceil(64);
        let of = |word: &dyn Fn(usize) -> u64| Some((0..words).map(word).collect());
        vec![
            None,
            of(&|_| u64::MAX),
            of(&|_| 0),
            of(&|_| 0x9249_2492_4924_9249),
            of(&|word| if word % 3 == 1 { u64::MAX } else { 0 }),
            of(&|word| u64::from(word == 0)),
            of(&|word| if word + 1 == words { u64::MAX } else { 0 }),
        ]
    }

    /// The best `k` allowed rows by their scores, the best first.
    fn best(
        set: InstructionSet,
        made: &Rows,
        allowed: Option<&[u64]>,
        exact: usize,
        k: usize,
    ) -> Result<Vec<(usize, f32)>, CodesError> {
        let mut found = vec![0.0; made.scales.len()];
        scores(set, made.coded(), &made.query, allowed, exact, &mut found)?;
        let mut found: Vec<_> = found.into_iter().enumerate().filter(|(_, score)| !score.is_nan()).collect();
        found.sort_by(better);
        found.truncate(k);
        Ok(found)
    }

    #[test]
    fn with_all_rows_scored_exactly_the_answer_is_the_exact_one() {
        for (rows, dimensions) in [(0, 8), (1, 1), (3, 0), (63, 5), (64, 384), (65, 33), (1500, 20), (2300, 7)] {
            let made = Rows::new(rows, dimensions);
            for mask in masks(rows) {
                for set in InstructionSet::ALL {
                    for k in [0, 1, 10, rows, rows + 5] {
                        let mut expected = made.in_order(set, mask.as_deref());
                        expected.truncate(k);
                        let found = best(set, &made, mask.as_deref(), usize::MAX, k);
                        assert_eq!(found, Ok(expected), "{set:?} {rows} {dimensions} {mask:?} {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_set_scores_the_same_rows_exactly_and_the_others_alike() {
        let made = Rows::new(1700, 70);
        for mask in masks(1700) {
            let mut first = None;
            for set in InstructionSet::ALL {
                let (mut mixed, mut rough) = (vec![0.0; 1700], vec![0.0; 1700]);
                assert_eq!(scores(set, made.coded(), &made.query, mask.as_deref(), 40, &mut mixed), Ok(()));
                assert_eq!(scores(set, made.coded(), &made.query, mask.as_deref(), 0, &mut rough), Ok(()));
                let bits: Vec<_> = rough.iter().map(|score| score.to_bits()).collect();
                assert_eq!(first.get_or_insert_with(|| bits.clone()), &bits, "{set:?}");
                let mut best: Vec<_> = rough.into_iter().enumerate().filter(|(_, score)| !score.is_nan()).collect();
                best.sort_by(better);
                assert!(best.iter().all(|(row, _)| is_in(mask.as_deref(), *row)));
                let last = best.get(39).map_or(f32::NEG_INFINITY, |(_, score)| *score);
                let mut least = f32::INFINITY;
                for (row, score) in &best {
                    let mut exact = [0.0];
                    let vector = &made.vectors[row * 70..][..70];
                    assert_eq!(inner_products(set, vector, &made.query, &mut exact), Ok(()));
                    assert!((exact[0] - score).abs() < 0.05, "{} {score}", exact[0]);
                    if *score >= last {
                        least = least.min(exact[0]);
                    }
                    let expected = if *score >= last { exact[0] } else { score.min(least) };
                    assert_eq!(mixed[*row].to_bits(), expected.to_bits(), "{set:?} {row}");
                }
                assert_eq!(mixed.iter().filter(|score| !score.is_nan()).count(), best.len());
            }
        }
    }

    #[test]
    fn few_hundred_of_many_are_enough_to_find_the_best_ten() {
        let made = Rows::new(20_000, 64);
        let exact = made.in_order(InstructionSet::Portable, None);
        let found = best(InstructionSet::Portable, &made, None, 300, 10);
        assert_eq!(found, Ok(exact[..10].to_vec()));
    }

    #[test]
    fn equal_rows_have_one_score_and_are_found_from_the_lowest_however_many_they_are() {
        let mut made = Rows::new(900, 70);
        let (first, rest) = made.vectors.split_at_mut(70);
        first.copy_from_slice(&made.query);
        first[0] += 0.5;
        for row in rest.chunks_exact_mut(70).step_by(2) {
            row.copy_from_slice(first);
        }
        let (mut codes, mut scales) = (vec![0; 900 * 70], vec![0.0; 900]);
        assert_eq!(quantise(InstructionSet::Portable, &made.vectors, 70, &mut codes, &mut scales), Ok(()));
        (made.codes, made.scales) = (codes, scales);
        for set in InstructionSet::ALL {
            let exact = made.in_order(set, None);
            for count in [1, 5, 450, 451, 600] {
                let mut mixed = vec![0.0; 900];
                assert_eq!(scores(set, made.coded(), &made.query, None, count, &mut mixed), Ok(()));
                assert!(exact[..451].iter().all(|(row, score)| mixed[*row].to_bits() == score.to_bits()));
                assert!(exact[451..].iter().all(|(row, _)| mixed[*row] <= exact[0].1));
                let found = best(set, &made, None, count, count.min(451));
                assert_eq!(found, Ok(exact[..count.min(451)].to_vec()), "{set:?} {count}");
            }
        }
    }

    #[test]
    fn what_is_finite_is_scored_whatever_lies_between() {
        for (vector, query, expected) in [
            (vec![3e38; 384], vec![1e-30; 384], 1.152e11),
            (vec![1e-30; 384], vec![3e38; 384], 1.152e11),
            (vec![f32::MAX, 0.0], vec![0.0, f32::MAX], 0.0),
            (vec![f32::MAX, f32::MAX * 0.4986], vec![0.5, 1.0], f32::MAX * 0.9986),
            (vec![-f32::MAX, -f32::MAX * 0.4986], vec![0.5, 1.0], -f32::MAX * 0.9986),
        ] {
            let (mut codes, mut scales) = (vec![0; vector.len()], [0.0]);
            assert_eq!(quantise(InstructionSet::Portable, &vector, vector.len(), &mut codes, &mut scales), Ok(()));
            let coded = Coded { vectors: &vector, codes: &codes, scales: &scales };
            for set in InstructionSet::ALL {
                for exact in [0, 1] {
                    let mut found = [0.0_f32];
                    assert_eq!(scores(set, coded, &query, None, exact, &mut found), Ok(()));
                    assert!((found[0] - expected).abs() <= 0.01 * expected.abs(), "{set:?} {} {expected}", found[0]);
                }
            }
        }
    }

    #[test]
    fn rows_that_are_not_allowed_are_not_looked_at() {
        let mut made = Rows::new(130, 9);
        made.vectors[70 * 9] = f32::NAN;
        made.scales[70] = f32::NAN;
        let rest = [u64::MAX, !(1 << 6), u64::MAX];
        for set in InstructionSet::ALL {
            let outcome = best(set, &made, None, 130, 10);
            assert_eq!(outcome, Err(CodesError::NotFinite { row: 70 }));
            assert!(best(set, &made, Some(&rest), 130, 130).is_ok_and(|found| found.len() == 129));
        }
    }

    #[test]
    fn what_does_not_fit_or_is_not_finite_is_refused() {
        let made = Rows::new(70, 3);
        let set = InstructionSet::Portable;
        let look = |coded: Coded<'_>, query: &[f32], mask: Option<&[u64]>| {
            scores(set, coded, query, mask, 5, &mut vec![0.0; coded.scales.len()])
        };
        let shape = |of, values| Err(CodesError::ShapeMismatch { of, rows: 70, dimensions: 3, values });
        assert_eq!(
            look(Coded { vectors: &made.vectors[1..], ..made.coded() }, &made.query, None),
            shape("vectors", 209)
        );
        assert_eq!(look(Coded { codes: &made.codes[1..], ..made.coded() }, &made.query, None), shape("codes", 209));
        let mask = CodesError::MaskMismatch { words: 1, rows: 70 };
        assert_eq!(look(made.coded(), &made.query, Some(&[0])), Err(mask));
        assert_eq!(mask.to_string(), "a mask of 1 words is not one bit for each of 70 rows (2)");
        assert_eq!(look(made.coded(), &[0.0, f32::NAN, 0.0], None), Err(CodesError::QueryNotFinite));
        let wide = vec![0.0; MOST_DIMENSIONS + 1];
        let none = Coded { vectors: &[], codes: &[], scales: &[] };
        assert_eq!(look(none, &wide, None), Err(CodesError::TooWide { dimensions: MOST_DIMENSIONS + 1 }));
        let outcome = scores(set, made.coded(), &made.query, None, 5, &mut [0.0; 3]);
        assert_eq!(outcome, Err(CodesError::ShapeMismatch { of: "scores", rows: 70, dimensions: 1, values: 3 }));
        let (vectors, codes, scales) = ([3e38, 3e38], [127, 127], [3e38 / 127.0]);
        let huge = Coded { vectors: &vectors, codes: &codes, scales: &scales };
        assert_eq!(look(huge, &[3.0, 3.0], None), Err(CodesError::NotFinite { row: 0 }));
    }
}
