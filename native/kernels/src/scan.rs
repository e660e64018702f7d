//! Inner products of many rows with one query: the dense part of recall.
//!
//! A row's product depends on that row and the query alone, never on the rows beside it: the same row gives the same
//! bits whatever else is in the matrix. Between instruction sets the last bits differ, because sums are taken in
//! another order; the error against exact arithmetic stays below `d * f32::EPSILON * sum(|row[i] * query[i]|)`.

use std::fmt;

use crate::instructions::InstructionSet;

/// Why a scan could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanError {
    /// The matrix is not made of `rows` rows of the query's length.
    ShapeMismatch {
        /// Rows the caller expects, which is the length of the output.
        rows: usize,
        /// Length of the query.
        dimensions: usize,
        /// Length of the matrix as it lies in memory.
        values: usize,
    },
    /// A product is infinite or not a number, and no score could be made of it.
    NotFinite {
        /// The first such row.
        row: usize,
    },
}

impl fmt::Display for ScanError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShapeMismatch { rows, dimensions, values } => {
                write!(out, "{values} values are not {rows} rows of {dimensions}")
            }
            Self::NotFinite { row } => write!(out, "the inner product of row {row} is not finite"),
        }
    }
}

impl std::error::Error for ScanError {}

/// Write the inner product of each row of `vectors` with `query` into `products`.
///
/// `vectors` is row-major and holds `products.len()` rows of `query.len()` values. No rows is no work; rows without
/// values have the product 0.
///
/// # Errors
///
/// [`ScanError::ShapeMismatch`] before anything is written; [`ScanError::NotFinite`] where an input was not finite or
/// a product overflowed, with `products` written but not to be used.
pub fn inner_products(
    set: InstructionSet,
    vectors: &[f32],
    query: &[f32],
    products: &mut [f32],
) -> Result<(), ScanError> {
    let (rows, dimensions) = (products.len(), query.len());
    if rows.checked_mul(dimensions) != Some(vectors.len()) {
        return Err(ScanError::ShapeMismatch { rows, dimensions, values: vectors.len() });
    }
    if dimensions == 0 {
        products.fill(0.0);
        return Ok(());
    }
    let rows_of = vectors.chunks_exact(dimensions);
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 if set.is_available() => {
            for (row, product) in rows_of.zip(products.iter_mut()) {
                // SAFETY: the processor has AVX-512F, as just asked, and both slices are `dimensions` long.
                *product = unsafe { x86::product_avx512(row, query) };
            }
        }
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 | InstructionSet::AvxVnni if set.is_available() => {
            for (row, product) in rows_of.zip(products.iter_mut()) {
                // SAFETY: the processor has AVX2 and FMA, as just asked, and both slices are `dimensions` long.
                *product = unsafe { x86::product_avx2(row, query) };
            }
        }
        _ => {
            for (row, product) in rows_of.zip(products.iter_mut()) {
                *product = product_portable(row, query);
            }
        }
    }
    match products.iter().position(|product| !product.is_finite()) {
        Some(row) => Err(ScanError::NotFinite { row }),
        None => Ok(()),
    }
}

/// Eight running sums, which a compiler turns into whatever vectors the target always has.
fn product_portable(row: &[f32], query: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0_f32; LANES];
    let (row_chunks, query_chunks) = (row.chunks_exact(LANES), query.chunks_exact(LANES));
    let rest: f32 = row_chunks.remainder().iter().zip(query_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in row_chunks.zip(query_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps, _mm256_storeu_ps, _mm512_add_ps,
        _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_reduce_add_ps, _mm512_setzero_ps,
    };

    /// Four running sums hide the latency of the fused multiply-add; the last few values go one by one.
    ///
    /// # Safety
    ///
    /// The processor has AVX2 and FMA, and `query` is at least as long as `row`.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn product_avx2(row: &[f32], query: &[f32]) -> f32 {
        let (a, b) = (row.as_ptr(), query.as_ptr());
        let mut sums = [_mm256_setzero_ps(); 4];
        let mut at = 0;
        while at + 32 <= row.len() {
            for (part, sum) in sums.iter_mut().enumerate() {
                let here = at + 8 * part;
                // SAFETY: `here + 8 <= at + 32 <= row.len() <= query.len()`, and unaligned loads are allowed.
                *sum = unsafe { _mm256_fmadd_ps(_mm256_loadu_ps(a.add(here)), _mm256_loadu_ps(b.add(here)), *sum) };
            }
            at += 32;
        }
        while at + 8 <= row.len() {
            // SAFETY: `at + 8 <= row.len() <= query.len()`.
            sums[0] = unsafe { _mm256_fmadd_ps(_mm256_loadu_ps(a.add(at)), _mm256_loadu_ps(b.add(at)), sums[0]) };
            at += 8;
        }
        let sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
        let mut lanes = [0.0_f32; 8];
        // SAFETY: `lanes` holds eight floats.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), sum) };
        let rest: f32 = row[at..].iter().zip(&query[at..]).map(|(x, y)| x * y).sum();
        lanes.iter().sum::<f32>() + rest
    }

    /// As [`product_avx2`], sixteen at a time; a mask takes in the last few values.
    ///
    /// # Safety
    ///
    /// The processor has AVX-512F, and `query` is at least as long as `row`.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn product_avx512(row: &[f32], query: &[f32]) -> f32 {
        let (a, b) = (row.as_ptr(), query.as_ptr());
        let mut sums = [_mm512_setzero_ps(); 4];
        let mut at = 0;
        while at + 64 <= row.len() {
            for (part, sum) in sums.iter_mut().enumerate() {
                let here = at + 16 * part;
                // SAFETY: `here + 16 <= at + 64 <= row.len() <= query.len()`, and unaligned loads are allowed.
                *sum = unsafe { _mm512_fmadd_ps(_mm512_loadu_ps(a.add(here)), _mm512_loadu_ps(b.add(here)), *sum) };
            }
            at += 64;
        }
        while at < row.len() {
            let mask = if row.len() - at >= 16 { u16::MAX } else { (1 << (row.len() - at)) - 1 };
            // SAFETY: the mask leaves out what lies beyond `row.len() <= query.len()`, and masked lanes are not read.
            sums[0] = unsafe {
                let (x, y) = (_mm512_maskz_loadu_ps(mask, a.add(at)), _mm512_maskz_loadu_ps(mask, b.add(at)));
                _mm512_fmadd_ps(x, y, sums[0])
            };
            at += 16;
        }
        _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])))
    }
}

#[cfg(test)]
mod tests {
    use super::{inner_products, ScanError};
    use crate::instructions::InstructionSet;

    /// Values in [-1, 1) from a linear congruential generator, the same on every machine.
    fn values(count: usize, seed: u64) -> Vec<f32> {
        let mut state = seed;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
            })
            .collect()
    }

    #[test]
    fn every_instruction_set_agrees_with_double_precision() {
        for dimensions in (1..=70).chain([383, 384, 385, 1024]) {
            let (vectors, query) = (values(5 * dimensions, 7), values(dimensions, 11));
            for set in InstructionSet::available() {
                let mut products = [0.0; 5];
                assert_eq!(inner_products(set, &vectors, &query, &mut products), Ok(()));
                for (row, product) in vectors.chunks_exact(dimensions).zip(products) {
                    let terms = || row.iter().zip(&query).map(|(a, b)| f64::from(*a) * f64::from(*b));
                    let bound = dimensions as f64 * f64::from(f32::EPSILON) * terms().map(f64::abs).sum::<f64>();
                    assert!((f64::from(product) - terms().sum::<f64>()).abs() <= bound, "{set:?} {dimensions}");
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_same_product_whatever_lies_beside_it() {
        let (vectors, query) = (values(9 * 384, 3), values(384, 5));
        for set in InstructionSet::available() {
            let mut all = [0.0; 9];
            assert_eq!(inner_products(set, &vectors, &query, &mut all), Ok(()));
            for (row, product) in vectors.chunks_exact(384).zip(all) {
                let mut alone = [0.0];
                assert_eq!(inner_products(set, row, &query, &mut alone), Ok(()));
                assert_eq!(alone[0].to_bits(), product.to_bits());
            }
        }
    }

    #[test]
    fn nothing_to_scan_is_no_error() {
        assert_eq!(inner_products(InstructionSet::Portable, &[], &[1.0, 2.0], &mut []), Ok(()));
        let mut products = [5.0; 3];
        assert_eq!(inner_products(InstructionSet::Portable, &[], &[], &mut products), Ok(()));
        assert_eq!(products, [0.0; 3]);
    }

    #[test]
    fn a_matrix_of_another_shape_is_refused_and_nothing_is_written() {
        let mut products = [5.0; 2];
        let error = ScanError::ShapeMismatch { rows: 2, dimensions: 2, values: 5 };
        assert_eq!(inner_products(InstructionSet::Portable, &[0.0; 5], &[1.0, 2.0], &mut products), Err(error));
        assert_eq!(products, [5.0; 2]);
        assert_eq!(error.to_string(), "5 values are not 2 rows of 2");
    }

    #[test]
    fn the_first_row_that_is_not_finite_is_named() {
        for bad in [f32::NAN, f32::INFINITY, f32::MAX] {
            for set in InstructionSet::available() {
                let mut vectors = values(4 * 33, 1);
                vectors[2 * 33 + 32] = bad;
                let query = [2.0; 33];
                let outcome = inner_products(set, &vectors, &query, &mut [0.0; 4]);
                assert_eq!(outcome, Err(ScanError::NotFinite { row: 2 }), "{set:?} {bad}");
            }
        }
        assert_eq!(ScanError::NotFinite { row: 2 }.to_string(), "the inner product of row 2 is not finite");
    }
}
