//! Against plain sums, on every instruction set and in any number of threads.

use super::{nearest, Grouped, Hit, NeighboursError};
use crate::codes::best::better;
use crate::codes::MOST_DIMENSIONS;
use crate::instructions::InstructionSet;

struct Rows {
    codes: Vec<i8>,
    dimensions: usize,
    scales: Vec<f32>,
    groups: Vec<i32>,
    bounds: Vec<f32>,
}

impl Rows {
    /// Noise from a linear congruential generator; every fifth row is the one before it once more, so that cosines tie.
    fn new(count: usize, dimensions: usize, groups: i32) -> Self {
        let mut state = (count * 1000 + dimensions) as u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as i32
        };
        let mut codes: Vec<i8> = (0..count * dimensions).map(|_| (noise() % 128) as i8).collect();
        let mut scales: Vec<f32> = (0..count).map(|_| (noise() % 1000) as f32 / 1e5).collect();
        for row in (4..count).step_by(5) {
            codes.copy_within((row - 1) * dimensions..row * dimensions, row * dimensions);
            scales[row] = scales[row - 1];
        }
        let groups = (0..count).map(|_| noise() % (groups + 1) - 1).collect();
        let bounds = (0..count).map(|_| (noise() % 200 - 100) as f32 / 100.0).collect();
        Self { codes, dimensions, scales, groups, bounds }
    }

    fn grouped(&self) -> Grouped<'_> {
        let Self { codes, dimensions, scales, groups, bounds } = self;
        Grouped { codes, dimensions: *dimensions, scales, groups, bounds: Some(bounds) }
    }

    fn cosine(&self, one: usize, other: usize) -> f32 {
        let of = |row: usize| self.codes[row * self.dimensions..][..self.dimensions].iter();
        let sum: i64 = of(one).zip(of(other)).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
        (sum as f64 * (f64::from(self.scales[one]) * f64::from(self.scales[other]))) as f32
    }

    fn expected(&self, rows: &[i64], k: usize) -> (Vec<i64>, Vec<f32>, Vec<Hit>) {
        let (mut neighbours, mut cosines, mut hits) = (Vec::new(), Vec::new(), Vec::new());
        for (query, row) in rows.iter().map(|row| *row as usize).enumerate() {
            let here = |other: &usize| self.groups[row] >= 0 && self.groups[*other] == self.groups[row];
            let others = (0..self.scales.len()).filter(here);
            let mut all: Vec<_> = others.map(|other| (other, self.cosine(row, other))).collect();
            hits.extend(all.iter().filter_map(|(row, cosine)| {
                let hit = Hit { query, row: *row, cosine: *cosine };
                (*cosine > self.bounds[*row] && !rows.contains(&(*row as i64))).then_some(hit)
            }));
            all.retain(|(other, _)| *other != row);
            all.sort_by(better);
            neighbours.extend((0..k).map(|at| all.get(at).map_or(-1, |(other, _)| *other as i64)));
            cosines.extend((0..k).map(|at| all.get(at).map_or(0.0, |(_, cosine)| *cosine)));
        }
        hits.sort_by_key(|hit| (hit.row, hit.query));
        (neighbours, cosines, hits)
    }
}

#[test]
fn every_set_and_number_of_threads_finds_what_plain_sums_find() {
    for (count, dimensions, groups) in [(0, 3, 1), (1, 0, 1), (5, 0, 1), (70, 5, 1), (130, 384, 3), (700, 33, 2)] {
        let made = Rows::new(count, dimensions, groups);
        let every: Vec<i64> = (0..count as i64).collect();
        let few: Vec<i64> = every.iter().rev().step_by(9).copied().chain(every.last().copied()).collect();
        for rows in [&[], &every[..], &few, &every[..count.min(1)]] {
            for k in [0, 1, 7, count + 3] {
                let expected = made.expected(rows, k);
                for set in InstructionSet::ALL {
                    for threads in [0, 1, 2, 5] {
                        let (mut neighbours, mut cosines) = (vec![9; rows.len() * k], vec![9.0; rows.len() * k]);
                        let hits = nearest(set, made.grouped(), rows, threads, &mut neighbours, &mut cosines);
                        let found = hits.map(|hits| (neighbours, cosines, hits));
                        assert_eq!(found, Ok(expected.clone()), "{set:?} {count} {dimensions} {k} {threads}");
                    }
                }
            }
        }
    }
}

#[test]
fn without_bounds_nothing_is_hit_and_equal_rows_come_by_their_number() {
    let made = Rows { codes: vec![3; 900 * 8], scales: vec![0.5; 900], groups: vec![0; 900], ..Rows::new(0, 8, 1) };
    let (mut neighbours, mut cosines) = (vec![0; 3], vec![0.0; 3]);
    let among = Grouped { bounds: None, ..made.grouped() };
    assert_eq!(nearest(InstructionSet::detect(), among, &[1], 2, &mut neighbours, &mut cosines), Ok(vec![]));
    assert_eq!((neighbours, cosines), (vec![0, 2, 3], vec![18.0; 3]));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let made = Rows::new(20, 3, 1);
    let (whole, set) = (made.grouped(), InstructionSet::Portable);
    let look = |among: Grouped<'_>, rows: &[i64], wanted: usize| {
        let (mut neighbours, mut cosines) = (vec![7; wanted], [7.0; 4]);
        let outcome = nearest(set, among, rows, 1, &mut neighbours, &mut cosines);
        assert!(outcome.is_ok() || (neighbours == vec![7; wanted] && cosines == [7.0; 4]));
        outcome.err()
    };
    let length = |of, found, expected| Some(NeighboursError::LengthMismatch { of, found, expected });
    assert_eq!(look(whole, &[0, 1], 4), None);
    assert_eq!(look(Grouped { codes: &made.codes[1..], ..whole }, &[0], 4), length("codes", 59, 60));
    assert_eq!(look(Grouped { groups: &made.groups[1..], ..whole }, &[0], 4), length("groups", 19, 20));
    assert_eq!(look(Grouped { bounds: Some(&[]), ..whole }, &[0], 4), length("bounds", 0, 20));
    assert_eq!(look(whole, &[0, 1], 5), length("neighbours", 5, 4));
    assert_eq!(look(whole, &[0], 5), length("cosines", 4, 5));
    for row in [-1, 20, i64::MAX] {
        assert_eq!(look(whole, &[0, row], 4), Some(NeighboursError::NoSuchRow { row }));
    }
    for scale in [f32::NAN, f32::INFINITY, -0.5, 1.5] {
        let mut scales = made.scales.clone();
        scales[9] = scale;
        assert_eq!(
            look(Grouped { scales: &scales, ..whole }, &[0], 4),
            Some(NeighboursError::ScaleOutOfRange { row: 9 })
        );
    }
    let mut codes = made.codes.clone();
    codes[3 * 5 + 1] = -128;
    assert_eq!(look(Grouped { codes: &codes, ..whole }, &[0], 4), None);
    assert_eq!(look(Grouped { codes: &codes, ..whole }, &[0, 5], 4), Some(NeighboursError::CodeOutOfRange { row: 5 }));
    let dimensions = MOST_DIMENSIONS + 1;
    assert_eq!(look(Grouped { dimensions, ..whole }, &[0], 4), Some(NeighboursError::TooWide { dimensions }));
}
