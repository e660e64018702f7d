//! Integer inner products of rows of codes with a query's codes, four rows at a time.
//!
//! The sums are exact, so every instruction set gives the same ones: nothing saturates whatever the codes are (the
//! query's lie within -127..=127), and 32 bits hold the sum of [`MOST_DIMENSIONS`] products.

use crate::instructions::InstructionSet;

/// The widest row: 255 × 127 × 65,536 is the most that fits the sums.
pub const MOST_DIMENSIONS: usize = 65_536;

/// A query's codes, made ready.
pub struct Factors {
    codes: Vec<i8>,
    /// What the sums hold too much where a row's codes are taken as `code + 128`: one instruction wants them so.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    offset: i32,
}

impl Factors {
    /// `codes` lie within -127..=127, and are at most [`MOST_DIMENSIONS`].
    pub fn new(codes: Vec<i8>) -> Self {
        let offset = 128 * codes.iter().map(|code| i32::from(*code)).sum::<i32>();
        Self { codes, offset }
    }
}

/// Inner products of four rows with a query; each row is as long as the query, else it panics. The second four are
/// the rows whose bytes will be wanted soon: asked for line by line between the sums, they do not hold these up.
pub type Four = fn([&[i8]; 4], [&[i8]; 4], &Factors) -> [i32; 4];

/// The function that an instruction set computes with; the portable one where this processor has not got the set.
pub fn four(set: InstructionSet) -> Four {
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 if set.is_available() => |rows, next, query| {
            // SAFETY: the processor has the set, as just asked.
            unsafe { x86::four_avx512(rows, next, query) }
        },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::AvxVnni if set.is_available() => |rows, next, query| {
            // SAFETY: as above.
            unsafe { x86::four_avxvnni(rows, next, query) }
        },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 if set.is_available() => |rows, next, query| {
            // SAFETY: as above.
            unsafe { x86::four_avx2(rows, next, query) }
        },
        _ => |rows, next, query| {
            next.into_iter().for_each(prefetch);
            rows.map(|row| sum_portable(&row[..query.codes.len()], &query.codes))
        },
    }
}

/// Ask for a row's bytes before they are wanted.
pub fn prefetch<T>(row: &[T]) {
    for at in (0..size_of_val(row)).step_by(64) {
        prefetch_line(row, at);
    }
}

/// Ask for the cache line that lies so many bytes behind a row's beginning; no address is wrong.
#[inline(always)]
fn prefetch_line<T>(row: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a prefetch reads nothing, and every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.as_ptr().cast::<i8>().wrapping_add(at)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (row, at);
}

fn sum_portable(row: &[i8], query: &[i8]) -> i32 {
    row.iter().zip(query).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm256_abs_epi8, _mm256_add_epi32, _mm256_castsi256_si128, _mm256_dpbusd_avx_epi32,
        _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
        _mm256_set1_epi16, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_sign_epi8, _mm256_xor_si256,
        _mm512_castsi512_si256, _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_loadu_si512,
        _mm512_maskz_loadu_epi8, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_xor_si512, _mm_add_epi32,
        _mm_storeu_si128,
    };

    use super::{prefetch_line, sum_portable, Factors};

    /// A mask takes in the last few codes; masked ones of the query are 0 and add nothing.
    ///
    /// # Safety
    ///
    /// The processor has AVX-512F, AVX-512BW and VNNI.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub unsafe fn four_avx512(rows: [&[i8]; 4], next: [&[i8]; 4], query: &Factors) -> [i32; 4] {
        let (rows, length) = (begun(rows, query), query.codes.len());
        let offset = _mm512_set1_epi8(-128);
        let mut sums = [_mm512_setzero_si512(); 4];
        let mut at = 0;
        while at + 64 <= length {
            // SAFETY: `at + 64 <= length`, which all slices have.
            let factors = unsafe { _mm512_loadu_si512(query.codes.as_ptr().add(at).cast()) };
            for ahead in next {
                prefetch_line(ahead, at);
            }
            for (row, sum) in rows.iter().zip(sums.iter_mut()) {
                // SAFETY: as above.
                let codes = unsafe { _mm512_loadu_si512(row.add(at).cast()) };
                *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(codes, offset), factors);
            }
            at += 64;
        }
        if at < length {
            let mask = (1 << (length - at)) - 1;
            // SAFETY: what the mask leaves out is not read; the rest lies within `length`.
            let factors = unsafe { _mm512_maskz_loadu_epi8(mask, query.codes.as_ptr().add(at)) };
            for (row, sum) in rows.iter().zip(sums.iter_mut()) {
                // SAFETY: as above.
                let codes = unsafe { _mm512_maskz_loadu_epi8(mask, row.add(at)) };
                *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(codes, offset), factors);
            }
        }
        let halves = sums.map(|sum| _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum)));
        reduce(halves).map(|sum| sum - query.offset)
    }

    /// # Safety
    ///
    /// The processor has AVX2 and AVX-VNNI.
    #[target_feature(enable = "avx2,avxvnni")]
    pub unsafe fn four_avxvnni(rows: [&[i8]; 4], next: [&[i8]; 4], query: &Factors) -> [i32; 4] {
        let (starts, whole) = (begun(rows, query), query.codes.len() / 32 * 32);
        let offset = _mm256_set1_epi8(-128);
        let mut sums = [_mm256_setzero_si256(); 4];
        for at in (0..whole).step_by(32) {
            // SAFETY: `at + 32 <= whole`, and no slice is shorter.
            let factors = unsafe { _mm256_loadu_si256(query.codes.as_ptr().add(at).cast()) };
            if at.is_multiple_of(64) {
                for ahead in next {
                    prefetch_line(ahead, at);
                }
            }
            for (row, sum) in starts.iter().zip(sums.iter_mut()) {
                // SAFETY: as above.
                let codes = unsafe { _mm256_loadu_si256(row.add(at).cast()) };
                *sum = _mm256_dpbusd_avx_epi32(*sum, _mm256_xor_si256(codes, offset), factors);
            }
        }
        // The rest is taken with the offset too, so that it is subtracted once for all.
        let rest = rows.map(|row| {
            row[whole..]
                .iter()
                .zip(&query.codes[whole..])
                .map(|(a, b)| (i32::from(*a) + 128) * i32::from(*b))
                .sum::<i32>()
        });
        let sums = reduce(sums);
        std::array::from_fn(|row| sums[row] + rest[row] - query.offset)
    }

    /// The row's codes without their signs, times the query's with the signs of both: two such products add up to
    /// 2 × 128 × 127 at most, which 16 bits hold.
    ///
    /// # Safety
    ///
    /// The processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn four_avx2(rows: [&[i8]; 4], next: [&[i8]; 4], query: &Factors) -> [i32; 4] {
        let (starts, whole) = (begun(rows, query), query.codes.len() / 32 * 32);
        let ones = _mm256_set1_epi16(1);
        let mut sums = [_mm256_setzero_si256(); 4];
        for at in (0..whole).step_by(32) {
            // SAFETY: `at + 32 <= whole`, and no slice is shorter.
            let factors = unsafe { _mm256_loadu_si256(query.codes.as_ptr().add(at).cast()) };
            if at.is_multiple_of(64) {
                for ahead in next {
                    prefetch_line(ahead, at);
                }
            }
            for (row, sum) in starts.iter().zip(sums.iter_mut()) {
                // SAFETY: as above.
                let codes = unsafe { _mm256_loadu_si256(row.add(at).cast()) };
                let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(factors, codes));
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
            }
        }
        let sums = reduce(sums);
        std::array::from_fn(|row| sums[row] + sum_portable(&rows[row][whole..], &query.codes[whole..]))
    }

    /// Where the rows begin, which are as long as the query.
    #[inline(always)]
    fn begun(rows: [&[i8]; 4], query: &Factors) -> [*const i8; 4] {
        rows.map(|row| row[..query.codes.len()].as_ptr())
    }

    /// Add up the lanes of each of four.
    #[target_feature(enable = "avx2")]
    fn reduce(sums: [__m256i; 4]) -> [i32; 4] {
        let pairs = (_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
        let both = _mm256_hadd_epi32(pairs.0, pairs.1);
        let all: __m128i = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256::<1>(both));
        let mut products = [0_i32; 4];
        // SAFETY: `products` holds 128 bits.
        unsafe { _mm_storeu_si128(products.as_mut_ptr().cast(), all) };
        products
    }
}

#[cfg(test)]
mod tests {
    use super::{four, Factors, MOST_DIMENSIONS};
    use crate::instructions::InstructionSet;

    fn exact(row: &[i8], query: &[i8]) -> i32 {
        row.iter().zip(query).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
    }

    #[test]
    fn every_instruction_set_gives_the_exact_sums() {
        let noise = |at: usize, seed: usize| ((at * 2_654_435_761 + seed * 40_503) >> 7) as u8 as i8;
        for dimensions in (0..=130).chain([383, 384, 385, 1024]) {
            let rows: [Vec<i8>; 4] = std::array::from_fn(|seed| (0..dimensions).map(|at| noise(at, seed)).collect());
            let query: Vec<i8> = (0..dimensions).map(|at| noise(at, 9).max(-127)).collect();
            let rows = std::array::from_fn(|row| rows[row].as_slice());
            for set in InstructionSet::ALL {
                assert_eq!(
                    four(set)(rows, rows, &Factors::new(query.clone())),
                    rows.map(|row| exact(row, &query)),
                    "{set:?} {dimensions}"
                );
            }
        }
    }

    #[test]
    fn the_largest_sums_do_not_overflow() {
        for (row, factor) in [(-128, 127), (-128, -127), (127, 127), (127, -127)] {
            let (codes, query) = (vec![row; MOST_DIMENSIONS], vec![factor; MOST_DIMENSIONS]);
            for set in InstructionSet::ALL {
                assert_eq!(
                    four(set)([&codes; 4], [&codes; 4], &Factors::new(query.clone())),
                    [exact(&codes, &query); 4],
                    "{set:?} {row} {factor}"
                );
            }
        }
    }
}
