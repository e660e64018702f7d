//! Postings however far apart and however often, and what is refused.

use super::{Groups, InvertedError, InvertedIndex, Matches, Search};

/// Each term once for each time it stands there.
fn codes(terms: &[u64]) -> Vec<u8> {
    terms.iter().flat_map(|term| (1 << 48 | term).to_le_bytes()[..7].to_vec()).collect()
}

/// Documents of terms, appended in two parts.
fn index(documents: &[&[u64]]) -> InvertedIndex {
    let mut index = InvertedIndex::default();
    let half = documents.len() / 2;
    for (first, part) in [(0, &documents[..half]), (half, &documents[half..])] {
        let rows: Vec<i64> = (first..first + part.len()).map(|row| row as i64 + 1).collect();
        let ends: Vec<i64> = part
            .iter()
            .scan(0, |end, terms| {
                *end += 7 * terms.len() as i64;
                Some(*end)
            })
            .collect();
        assert_eq!(index.append(&rows, &ends, &codes(&part.concat())), Ok(()));
    }
    index
}

#[test]
fn postings_of_any_distance_and_count_are_found_one_by_one_and_together() {
    let far: Vec<Vec<u64>> =
        (0..40_000_u64).map(|row| vec![7; if row % 317 == 0 { 1 + row as usize % 400 } else { 0 }]).collect();
    let documents: Vec<&[u64]> = far.iter().map(Vec::as_slice).collect();
    let index = index(&documents);
    let expected: Vec<(u32, u32)> =
        (0..40_000_u32).filter(|row| row % 317 == 0).map(|row| (row, 1 + row % 400)).collect();
    assert_eq!(index.postings(&[7]), expected);
    assert_eq!(index.postings(&[7, 8, 7]), expected);
    assert_eq!(index.postings(&[8]), []);
    let all: Vec<i64> = (-1..40_001).collect();
    let counts = index.counts_at(&[vec![8], vec![7]], &all);
    assert!(counts[..all.len()].iter().all(|count| *count == 0));
    for (position, count) in all.iter().zip(&counts[all.len()..]) {
        let at = expected.iter().find(|(known, _)| i64::from(*known) == *position);
        assert_eq!(at.map_or(0, |(_, often)| *often), *count, "{position}");
    }
}

#[test]
fn words_of_several_terms_are_one_and_groups_are_summed() {
    let index = index(&[&[1, 1, 2], &[3], &[2, 2], &[1, 3]]);
    assert_eq!(index.postings(&[1, 2]), [(0, 3), (2, 2), (3, 1)]);
    let mut scores = [0.0; 4];
    let groups = Groups { of: &[1, 0, 1, 0], lengths: &[3, 1, 2, 2], count: 2 };
    let search = Search { visible: &[true, true, true, false], k1: 1.2, groups: Some(groups) };
    let found = index.search(&[vec![1, 2], vec![9]], &search, &mut scores);
    let grouped = vec![(vec![1], vec![5.0]), (vec![], vec![])];
    assert_eq!(found, Ok(Matches { holding: vec![2, 0], grouped, lengths: vec![1.0, 5.0], visible: vec![true, true] }));
    let weight = (1.5_f64 / 2.5).ln_1p() * 2.2;
    assert_eq!(scores, [weight * 3.0 / 4.2, 0.0, weight * 2.0 / 3.2, 0.0]);
}

#[test]
fn codes_in_no_order_count_as_those_in_order_and_a_rest_is_left_out() {
    let mut index = InvertedIndex::default();
    let mut bytes = codes(&[9, 4, 9]);
    bytes[6] = 200;
    bytes.extend([1, 2]);
    assert_eq!(index.append(&[5], &[23], &bytes), Ok(()));
    assert_eq!((index.postings(&[9]), index.postings(&[4])), (vec![(0, 201)], vec![(0, 1)]));
    let whole = bytes.iter().rev().fold(0_u128, |sum, byte| (sum * 256 + u128::from(*byte)) % ((1 << 61) - 1));
    assert_eq!(index.checksum(), (whole as u64).wrapping_mul(11) % (1 << 62));
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut index = index(&[&[1], &[2]]);
    let refused = |found, expected| Err(InvertedError::LengthMismatch { found, expected });
    assert_eq!(index.append(&[3], &[], &[]), refused(0, 1));
    for ends in [[12, 6], [-6, 12], [0, 6]] {
        assert_eq!(index.append(&[3, 4], &ends, &[0; 12]), Err(InvertedError::BadEnds));
    }
    assert_eq!(index.documents(), 2);
    let asked = |visible, of: Option<&[i64]>, lengths| {
        let groups = of.map(|of| Groups { of, lengths, count: 1 });
        index.search(&[vec![1]], &Search { visible, k1: 1.2, groups }, &mut [0.0; 2]).map(|_| ())
    };
    assert_eq!(asked(&[true], None, &[]), refused(1, 2));
    assert_eq!(asked(&[true; 2], Some(&[0]), &[1, 1]), refused(1, 2));
    assert_eq!(asked(&[true; 2], Some(&[0, 0]), &[1]), refused(1, 2));
    for group in [-1, 1] {
        assert_eq!(asked(&[true; 2], Some(&[group, 0]), &[1, 1]), Err(InvertedError::NoSuchGroup { group }));
    }
    assert_eq!(asked(&[false, true], Some(&[7, 0]), &[1, 1]), Ok(()), "of what is not visible nothing is looked at");
}
