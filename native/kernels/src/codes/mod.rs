//! Search among vectors by codes of one byte a value, a quarter of what float32 would have to be read.
//!
//! A first pass takes the inner product of the query's codes with each row's; the best few hundred rows by it are
//! scored again in float32, and so are those that tie with the last of these: equal rows get equal scores, however many
//! they are. The order of the exact scores is the answer. Rows that a bitmask leaves out are not read. The sums of
//! the first pass are integers, so all instruction sets choose the same rows, and an exact score has the bits that
//! [`crate::scan::inner_products`] gives.
//!
//! What is given up: a row whose exact score is among the best `k`, but whose approximate one is not among the best
//! `rescore`, is missed. For unit vectors the two differ by about 0.0005 (one standard deviation, 384 dimensions).

use std::fmt;

use crate::instructions::InstructionSet;

pub(crate) mod best;
mod search;
pub(crate) mod sums;

pub use search::scores;
pub use sums::MOST_DIMENSIONS;

/// Why vectors could not be quantised or searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodesError {
    /// A matrix is not made of `rows` rows of `dimensions` values.
    ShapeMismatch {
        /// Which: `vectors` or `codes`.
        of: &'static str,
        /// Rows the caller expects.
        rows: usize,
        /// Length of a row.
        dimensions: usize,
        /// Length of the matrix as it lies in memory.
        values: usize,
    },
    /// There is not one bit for each row.
    MaskMismatch {
        /// Words of the mask.
        words: usize,
        /// Rows, which take up `rows.div_ceil(64)` words.
        rows: usize,
    },
    /// A row is longer than [`MOST_DIMENSIONS`].
    TooWide {
        /// Its length.
        dimensions: usize,
    },
    /// A value of a row is infinite or not a number, or its product with the query is.
    NotFinite {
        /// The first such row that was found.
        row: usize,
    },
    /// A value of the query is infinite or not a number.
    QueryNotFinite,
}

impl fmt::Display for CodesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShapeMismatch { of, rows, dimensions, values } => {
                write!(out, "{of}: {values} values are not {rows} rows of {dimensions}")
            }
            Self::MaskMismatch { words, rows } => {
                write!(out, "a mask of {words} words is not one bit for each of {rows} rows ({})", rows.div_ceil(64))
            }
            Self::TooWide { dimensions } => write!(out, "{dimensions} dimensions are more than {MOST_DIMENSIONS}"),
            Self::NotFinite { row } => write!(out, "row {row}, or its product with the query, is not finite"),
            Self::QueryNotFinite => write!(out, "the query is not finite"),
        }
    }
}

impl std::error::Error for CodesError {}

/// Vectors and their codes; as many rows as there are scales.
#[derive(Clone, Copy, Debug)]
pub struct Coded<'a> {
    /// The rows themselves, one behind the other.
    pub vectors: &'a [f32],
    /// Their codes, as [`quantise`] makes them, in the same shape.
    pub codes: &'a [i8],
    /// What a row's codes are to be multiplied with.
    pub scales: &'a [f32],
}

/// Write each row's codes, -127 to 127, and its scale: `codes * scale` is the row, to half a scale in each value.
///
/// A row's scale is its largest absolute value / 127; halves go to the even code. A row of zeros, or whose largest
/// absolute value is below 4e-37, has scale 0 and codes 0. All instruction sets give the same bits.
///
/// # Errors
///
/// [`CodesError::ShapeMismatch`] before anything is written; [`CodesError::NotFinite`] with part of it written.
pub fn quantise(
    set: InstructionSet,
    vectors: &[f32],
    dimensions: usize,
    codes: &mut [i8],
    scales: &mut [f32],
) -> Result<(), CodesError> {
    let rows = scales.len();
    fits("vectors", vectors.len(), rows, dimensions)?;
    fits("codes", codes.len(), rows, dimensions)?;
    for (row, scale) in scales.iter_mut().enumerate() {
        let here = row * dimensions..(row + 1) * dimensions;
        let (values, written) = (&vectors[here.clone()], &mut codes[here]);
        let found = match set {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 | InstructionSet::AvxVnni | InstructionSet::Avx2 if set.is_available() => {
                // SAFETY: each of these sets has AVX2, and the processor has the set, as just asked.
                unsafe { quantise_row_avx2(values, written) }
            }
            _ => quantise_row(values, written),
        };
        *scale = found.ok_or(CodesError::NotFinite { row })?;
    }
    Ok(())
}

/// [`quantise_row`], made of AVX2 by the compiler.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn quantise_row_avx2(values: &[f32], codes: &mut [i8]) -> Option<f32> {
    quantise_row(values, codes)
}

/// The row's scale; none where a value is not finite.
#[inline(always)]
fn quantise_row(values: &[f32], codes: &mut [i8]) -> Option<f32> {
    // Without their signs floats are ordered as their bits are, and what is not finite stands above all others.
    let largest = f32::from_bits(values.iter().map(|value| value.to_bits() & (u32::MAX >> 1)).max().unwrap_or(0));
    if !largest.is_finite() {
        return None;
    }
    let steps = 127.0 / largest;
    if !steps.is_finite() {
        codes.fill(0);
        return Some(0.0);
    }
    // 1.5 × 2^23: floats around it lie 1 apart, so adding it rounds, and the integer is in the lowest bits.
    const ROUNDING: f32 = 12_582_912.0;
    for (value, code) in values.iter().zip(codes) {
        *code = (value * steps + ROUNDING).to_bits() as i8;
    }
    Some(largest / 127.0)
}

fn fits(of: &'static str, values: usize, rows: usize, dimensions: usize) -> Result<(), CodesError> {
    if rows.checked_mul(dimensions) == Some(values) {
        Ok(())
    } else {
        Err(CodesError::ShapeMismatch { of, rows, dimensions, values })
    }
}

#[cfg(test)]
mod tests {
    use super::{quantise, CodesError};
    use crate::instructions::InstructionSet;

    #[test]
    fn codes_are_the_nearest_and_equal_on_all_sets() {
        for dimensions in (1..=70).chain([383, 384, 385]) {
            let mut state = dimensions as u32;
            let vectors: Vec<f32> = (0..3 * dimensions)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 8) as f32 / (1_u32 << 24) as f32 - 0.5
                })
                .collect();
            let mut first = None;
            for set in InstructionSet::ALL {
                let (mut codes, mut scales) = (vec![0; 3 * dimensions], [0.0; 3]);
                assert_eq!(quantise(set, &vectors, dimensions, &mut codes, &mut scales), Ok(()));
                for (at, (value, code)) in vectors.iter().zip(&codes).enumerate() {
                    let error = f64::from(*value) - f64::from(*code) * f64::from(scales[at / dimensions]);
                    assert!(error.abs() <= 0.500_1 * f64::from(scales[at / dimensions]), "{set:?} {value} {code}");
                    assert!(*code != -128);
                }
                let expected = first.get_or_insert((codes.clone(), scales));
                assert_eq!((&codes, &scales), (&expected.0, &expected.1), "{set:?} {dimensions}");
            }
        }
    }

    #[test]
    fn halves_go_to_the_even_code_and_what_is_next_to_nothing_is_nothing() {
        let vectors =
            [127.0, 0.5, 1.5, -2.5, 0.0, -0.0, 0.0, 0.0, 1e-40, -1e-40, 0.0, 1e-45, f32::MAX, f32::MIN, 1.0, 0.0];
        for set in InstructionSet::ALL {
            let (mut codes, mut scales) = ([7; 16], [7.0; 4]);
            assert_eq!(quantise(set, &vectors, 4, &mut codes, &mut scales), Ok(()));
            assert_eq!(codes, [127, 0, 2, -2, 0, 0, 0, 0, 0, 0, 0, 0, 127, -127, 0, 0]);
            assert_eq!(scales, [1.0, 0.0, 0.0, f32::MAX / 127.0]);
        }
    }

    #[test]
    fn nothing_is_quantised_without_complaint() {
        assert_eq!(quantise(InstructionSet::Portable, &[], 384, &mut [], &mut []), Ok(()));
        let mut scales = [7.0; 2];
        assert_eq!(quantise(InstructionSet::Portable, &[], 0, &mut [], &mut scales), Ok(()));
        assert_eq!(scales, [0.0; 2]);
    }

    #[test]
    fn a_row_that_is_not_finite_is_named_and_another_shape_refused() {
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for set in InstructionSet::ALL {
                let outcome = quantise(set, &[1.0, 2.0, bad, 3.0], 2, &mut [0; 4], &mut [0.0; 2]);
                assert_eq!(outcome, Err(CodesError::NotFinite { row: 1 }));
            }
        }
        let outcome = quantise(InstructionSet::Portable, &[0.0; 4], 2, &mut [0; 3], &mut [0.0; 2]);
        assert_eq!(outcome, Err(CodesError::ShapeMismatch { of: "codes", rows: 2, dimensions: 2, values: 3 }));
        let outcome = quantise(InstructionSet::Portable, &[], usize::MAX, &mut [], &mut [0.0; 2]);
        let words = outcome.map_err(|error| error.to_string()).err().unwrap_or_default();
        assert_eq!(words, "vectors: 0 values are not 2 rows of 18446744073709551615");
    }
}
