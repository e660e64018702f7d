//! What holds on every instruction set this processor has, against sums bit by bit.

use super::{
    bind, bind_groups, bundle, bundle_groups, count, distances, distances_of, majority, nearest, rotate, BitsError,
    Groups, Planes,
};
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

            let mut sorted: Vec<_> = expected.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            for k in [0, 1, 10, rows, usize::MAX] {
                let first = &sorted[..k.min(sorted.len())];
                assert_eq!(nearest(set, &vectors, &query, k).as_deref(), Ok(first), "{set:?} {k}");
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
fn the_distances_from_several_queries_are_those_from_each() {
    for set in InstructionSet::available() {
        for (rows, width) in SHAPES {
            for number in [0, 1, 3, 4, 5, 8, 11] {
                let (vectors, queries) = (words(rows * width, 10), words(number * width, 11));
                let mut found = vec![-1; rows * number];
                assert_eq!(distances_of(set, &vectors, &queries, width, &mut found), Ok(()));
                for (at, query) in queries.chunks(width).enumerate() {
                    let column: Vec<i64> = found.iter().skip(at).step_by(number).map(|one| i64::from(*one)).collect();
                    assert_eq!(column, by_hand(&vectors, query), "{set:?} {rows} {width} {number}");
                }
            }
        }
    }
}

#[test]
fn each_group_is_bundled_and_bound_as_it_would_be_alone() {
    for set in InstructionSet::available() {
        for width in [1, 8, 17, 20] {
            let vectors = words(40 * width, 12);
            let sizes = [0, 1, 2, 7, 8, 9, 13, 248, 249, 500, 0];
            let members: Vec<i64> = (0..sizes.iter().sum()).map(|member| member * member % 40).collect();
            let ends = sizes.iter().scan(0, |end, size| {
                *end += size;
                Some(*end)
            });
            let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
            let ties = words(sizes.len() * width, 13);
            let taken: Vec<u64> =
                members.iter().flat_map(|row| &vectors[*row as usize * width..][..width]).copied().collect();
            let of_rows = Groups { offsets: &offsets, rows: Some(&members) };
            for (groups, from) in [(of_rows, &vectors), (Groups { rows: None, ..of_rows }, &taken)] {
                let (mut bundled, mut bound) = (vec![7; ties.len()], vec![7; ties.len()]);
                assert_eq!(bundle_groups(set, from, width, groups, &ties, &mut bundled), Ok(()));
                assert_eq!(bind_groups(set, from, width, groups, &mut bound), Ok(()));
                for (group, pair) in offsets.windows(2).enumerate() {
                    let rows = &taken[pair[0] as usize * width..pair[1] as usize * width];
                    let here = group * width..(group + 1) * width;
                    let mut alone = vec![7; width];
                    assert_eq!(bundle(set, rows, &ties[here.clone()], &mut alone), Ok(()));
                    assert_eq!(bundled[here.clone()], alone, "{set:?} {width} {group}");
                    let parity = |at| rows.chunks(width).filter(|row| bit(row, at)).count() % 2 == 1;
                    assert!((0..64 * width).all(|at| bit(&bound[here.clone()], at) == parity(at)));
                }
            }
        }
    }
}

#[test]
fn each_embedding_lies_on_the_side_of_each_plane_that_its_sum_says() {
    for set in InstructionSet::available() {
        for (rows, width, planes) in [(0, 3, 64), (1, 1, 64), (2, 4, 128), (7, 5, 64), (13, 67, 192), (3, 384, 640)] {
            let normals: Vec<i8> = words(planes * width, 14).iter().map(|word| (word >> 40 & 2) as i8 - 1).collect();
            for largest in [0, 1, 127] {
                let drawn = words(rows * width, 15);
                let embeddings: Vec<i8> = drawn
                    .iter()
                    .map(|word| ((word >> 20) as i64 % (largest + 1)) as i8 * (1 - 2 * (word & 1) as i8))
                    .collect();
                let (tie, mut sides) = (words(planes / 64, 16), vec![7; rows * planes / 64]);
                let laid_out = Planes::new(&normals, width).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!((laid_out.width(), laid_out.words()), (width, planes / 64));
                assert_eq!(laid_out.project(set, &embeddings, &tie, &mut sides), Ok(()));
                for (embedding, side) in embeddings.chunks(width).zip(sides.chunks(planes / 64)) {
                    for (plane, normal) in normals.chunks(width).enumerate() {
                        let sum: i64 = embedding.iter().zip(normal).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
                        let expected = sum > 0 || sum == 0 && bit(&tie, plane);
                        assert_eq!(bit(side, plane), expected, "{set:?} {width} {plane}");
                    }
                }
            }
        }
    }
}

#[test]
fn groups_and_planes_that_are_none_are_refused() {
    let set = InstructionSet::Portable;
    let bundle_of = |offsets: &[i64], rows: Option<&[i64]>| {
        bundle_groups(set, &[0; 6], 2, Groups { offsets, rows }, &[0; 4], &mut [0; 4])
    };
    assert_eq!(bundle_of(&[0, 1, 3], None), Ok(()));
    assert_eq!(bundle_of(&[0, 1, 2], Some(&[2, 0])), Ok(()));
    for offsets in [&[][..], &[0, 1, 2], &[0, 1, 4], &[1, 2, 3], &[0, 4, 3], &[0, -1, 3]] {
        assert_eq!(bundle_of(offsets, None), Err(BitsError::Offsets { members: 3 }), "{offsets:?}");
        let groups = Groups { offsets, rows: None };
        assert_eq!(bind_groups(set, &[0; 6], 2, groups, &mut [0; 4]), Err(BitsError::Offsets { members: 3 }));
    }
    for row in [3, -1, i64::MIN, i64::MAX] {
        assert_eq!(bundle_of(&[0, 1, 2], Some(&[0, row])), Err(BitsError::Row { row, rows: 3 }));
    }
    let length = |what, given, expected| Err(BitsError::Length { what, given, expected });
    assert_eq!(bundle_of(&[0, 3], None), length("words of the ties", 4, 2));
    assert_eq!(bundle_of(&[0, 0, 3], None), Ok(()));
    let groups = Groups { offsets: &[0, 3], rows: None };
    assert_eq!(bind_groups(set, &[0; 6], 2, groups, &mut [0; 3]), length("words of the result", 3, 2));
    assert_eq!(bind_groups(set, &[], 0, Groups { offsets: &[0], rows: None }, &mut []), Err(BitsError::NoWords));
    assert_eq!(distances_of(set, &[0; 4], &[0; 3], 2, &mut [0; 2]), Err(BitsError::Ragged { given: 3, words: 2 }));
    assert_eq!(distances_of(set, &[0; 4], &[0; 4], 2, &mut [0; 3]), length("distances", 3, 4));

    let refused = |normals: &[i8], width| Planes::new(normals, width).err();
    assert_eq!(refused(&[], 0), Some(BitsError::NoValues));
    assert_eq!(refused(&[], 3), length("planes", 0, 64).err());
    assert_eq!(refused(&[1; 65], 1), length("planes", 65, 128).err());
    assert_eq!(refused(&[1; 129], 2), length("values left over", 1, 0).err());
    for value in [0, 2, -2, i8::MIN, i8::MAX] {
        let mut normals = [1; 64];
        normals[63] = value;
        assert_eq!(refused(&normals, 1), Some(BitsError::Plane));
    }
    let planes = Planes::new(&[1; 128], 2).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(planes.project(set, &[1; 3], &[0], &mut [0]), length("values left over", 1, 0));
    assert_eq!(planes.project(set, &[1; 4], &[0; 2], &mut [0; 2]), length("words of the tie", 2, 1));
    assert_eq!(planes.project(set, &[1; 4], &[0], &mut [0]), length("words of the result", 1, 2));
    assert_eq!(planes.project(set, &[], &[0], &mut []), Ok(()));
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let set = InstructionSet::Portable;
    let length = |what, given, expected| Err(BitsError::Length { what, given, expected });
    assert_eq!(distances(set, &[], &[], &mut []), Err(BitsError::NoWords));
    assert_eq!(distances(set, &[0; 5], &[0; 2], &mut [0; 2]), Err(BitsError::Ragged { given: 5, words: 2 }));
    assert_eq!(distances(set, &[0; 4], &[0; 2], &mut [0; 3]), length("distances", 3, 2));
    assert_eq!(nearest(set, &[], &[], 1), Err(BitsError::NoWords));
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
    assert_eq!(text(BitsError::Offsets { members: 3 }), "offsets must rise from 0 to 3");
    assert_eq!(text(BitsError::Row { row: -1, rows: 3 }), "row -1 is none of 3");
    assert_eq!(text(BitsError::Plane), "a plane has a value that is neither 1 nor -1");
    assert_eq!(text(BitsError::NoValues), "a plane has at least one value");
}
