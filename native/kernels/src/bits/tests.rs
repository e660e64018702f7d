//! What holds on every instruction set this processor has, against sums bit by bit.

use super::{bind, bundle, count, distances, majority, nearest, rotate, BitsError};
use crate::instructions::InstructionSet;

/// The same words each time, all different.
fn words(count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(step).collect()
}

fn bit(vector: &[u64], at: usize) -> bool {
    vector[at / 64] >> (at % 64) & 1 == 1
}

/// Rows and words that leave something over in every loop, and nothing.
const SHAPES: [(usize, usize); 10] =
    [(0, 1), (1, 1), (2, 3), (7, 8), (8, 9), (9, 17), (65, 5), (248, 2), (249, 9), (300, 24)];

fn by_hand(vectors: &[u64], query: &[u64]) -> Vec<i64> {
    let distance = |row: &[u64]| (0..64 * query.len()).filter(|at| bit(row, *at) != bit(query, *at)).count() as i64;
    vectors.chunks(query.len()).map(distance).collect()
}

#[test]
fn distances_are_the_bits_that_differ_and_the_nearest_are_the_first_of_the_sorted() {
    for set in InstructionSet::available() {
        for (rows, width) in SHAPES {
            let mut vectors = words(rows * width, 1);
            if rows > 3 {
                vectors.copy_within(..width, 2 * width); // a tie
            }
            let query = words(width, 2);
            let expected = by_hand(&vectors, &query);
            let mut found = vec![-1; rows];
            assert_eq!(distances(set, &vectors, &query, &mut found), Ok(()));
            assert_eq!(found, expected, "{set:?} {rows} {width}");

            let mask = words(rows.div_ceil(64), 3);
            for allowed in [None, Some(mask.as_slice())] {
                let mut sorted: Vec<_> = expected.iter().copied().zip(0..).collect();
                sorted.retain(|(_, row)| allowed.is_none_or(|mask| bit(mask, *row as usize)));
                sorted.sort_unstable();
                for k in [0, 1, 10, rows, usize::MAX] {
                    let first = &sorted[..k.min(sorted.len())];
                    assert_eq!(nearest(set, &vectors, &query, allowed, k).as_deref(), Ok(first), "{set:?} {k}");
                }
            }
        }
    }
}

#[test]
fn bundles_are_the_majority_of_each_bit_and_ties_are_the_tie() {
    for set in InstructionSet::available() {
        for (rows, width) in SHAPES {
            let (vectors, tie) = (words(rows * width, 4), words(width, 5));
            let counted = |at| vectors.chunks(width).filter(|row| bit(row, at)).count();
            let mut expected = vec![0; width];
            let mut numbers = vec![0_i32; 64 * width];
            for at in 0..64 * width {
                let more = 2 * counted(at) > rows || 2 * counted(at) == rows && bit(&tie, at);
                expected[at / 64] |= u64::from(more) << (at % 64);
                numbers[at] = counted(at) as i32;
            }
            let mut bundled = vec![7; width];
            assert_eq!(bundle(set, &vectors, &tie, &mut bundled), Ok(()));
            assert_eq!(bundled, expected, "{set:?} {rows} {width}");

            let mut counters = vec![0; 64 * width];
            let half = rows / 2 * width;
            assert_eq!(count(set, &vectors[half..], 3, &mut counters), Ok(()));
            assert_eq!(count(set, &vectors[half..], -2, &mut counters), Ok(()));
            assert_eq!(count(set, &vectors[..half], 1, &mut counters), Ok(()));
            assert_eq!(counters, numbers, "{set:?} {rows} {width}");
            bundled.fill(7);
            assert_eq!(majority(set, &counters, rows as i32, &tie, &mut bundled), Ok(()));
            assert_eq!(bundled, expected, "{set:?} {rows} {width}");
        }
    }
}

#[test]
fn every_bit_moves_by_the_shift_around_the_end() {
    for set in InstructionSet::available() {
        for (rows, width) in SHAPES {
            let bits = 64 * width as i64;
            let (vectors, mut rotated) = (words(rows * width, 6), vec![0; rows * width]);
            for shift in [0, 1, 63, 64, 65, bits - 1, bits, bits + 1, -1, -64, -65, i64::MAX, i64::MIN] {
                assert_eq!(rotate(set, &vectors, width, shift, &mut rotated), Ok(()));
                for (row, turned) in vectors.chunks(width).zip(rotated.chunks(width)).take(3) {
                    for at in 0..bits {
                        let to = (i128::from(at) + i128::from(shift)).rem_euclid(i128::from(bits));
                        assert_eq!(bit(turned, to as usize), bit(row, at as usize), "{set:?} {width} {shift} {at}");
                    }
                }
            }
        }
    }
}

#[test]
fn binding_is_exclusive_or_with_one_or_with_as_many() {
    for set in InstructionSet::available() {
        for (rows, width) in SHAPES {
            let (vectors, others) = (words(rows * width, 7), words(rows * width, 8));
            let one = words(width, 9);
            let mut bound = vec![0; rows * width];
            assert_eq!(bind(set, &vectors, &others, width, &mut bound), Ok(()));
            assert!(bound.iter().zip(vectors.iter().zip(&others)).all(|(bound, (a, b))| *bound == a ^ b));
            assert_eq!(bind(set, &vectors, &one, width, &mut bound), Ok(()));
            assert!(bound.iter().zip(vectors.iter().zip(one.iter().cycle())).all(|(bound, (a, b))| *bound == a ^ b));
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let set = InstructionSet::Portable;
    let length = |what, given, expected| Err(BitsError::Length { what, given, expected });
    assert_eq!(distances(set, &[], &[], &mut []), Err(BitsError::NoWords));
    assert_eq!(distances(set, &[0; 5], &[0; 2], &mut [0; 2]), Err(BitsError::Ragged { given: 5, words: 2 }));
    assert_eq!(distances(set, &[0; 4], &[0; 2], &mut [0; 3]), length("distances", 3, 2));
    assert_eq!(nearest(set, &[], &[], None, 1), Err(BitsError::NoWords));
    assert_eq!(nearest(set, &[0; 65], &[0], Some(&[0]), 1).map(|_| ()), length("words of the mask", 1, 2));
    assert_eq!(count(set, &[0], 1, &mut []), Err(BitsError::NoWords));
    assert_eq!(count(set, &[0], 1, &mut [0; 65]), length("counters", 65, 64));
    assert_eq!(majority(set, &[], 0, &[], &mut []), Err(BitsError::NoWords));
    assert_eq!(majority(set, &[0; 63], 0, &[0], &mut [0]), length("counters", 63, 64));
    assert_eq!(majority(set, &[0; 64], 0, &[0], &mut []), length("words of the result", 0, 1));
    assert_eq!(bundle(set, &[0; 3], &[0; 2], &mut [0; 2]), Err(BitsError::Ragged { given: 3, words: 2 }));
    assert_eq!(bundle(set, &[0; 2], &[0; 2], &mut [0]), length("words of the result", 1, 2));
    assert_eq!(rotate(set, &[0; 2], 0, 1, &mut [0; 2]), Err(BitsError::NoWords));
    assert_eq!(rotate(set, &[0; 2], 2, 1, &mut [0; 4]), length("words of the result", 4, 2));
    assert_eq!(bind(set, &[0; 4], &[0; 6], 2, &mut [0; 4]), length("words of the others", 6, 4));
    assert_eq!(bind(set, &[0; 4], &[0; 4], 2, &mut [0; 2]), length("words of the result", 2, 4));
}

#[test]
fn a_counter_that_might_overflow_is_left_alone() {
    for set in InstructionSet::available() {
        let mut counters = [0; 64];
        counters[63] = i32::MAX - 5;
        assert_eq!(count(set, &[0; 2], 3, &mut counters), Err(BitsError::Overflow));
        assert_eq!(count(set, &[0; 2], i32::MIN, &mut counters), Err(BitsError::Overflow));
        assert_eq!(count(set, &[u64::MAX], 5, &mut counters), Ok(()));
        assert_eq!((counters[0], counters[63]), (5, i32::MAX));
        counters[0] = i32::MIN;
        assert_eq!(count(set, &[0], 0, &mut counters), Err(BitsError::Overflow));
    }
}

#[test]
fn each_error_says_what_is_wrong() {
    let text = |error: BitsError| error.to_string();
    assert_eq!(text(BitsError::NoWords), "a hypervector has at least one word");
    assert_eq!(text(BitsError::Ragged { given: 5, words: 2 }), "5 words are not rows of 2");
    let length = BitsError::Length { what: "distances", given: 3, expected: 2 };
    assert_eq!(text(length), "distances: 3 given, 2 expected");
    assert_eq!(text(BitsError::Overflow), "a counter would leave the range of 32 bits");
}
