//! The innermost products, one implementation for each instruction set.
//!
//! A tile is a few rows of the left side times a few panels of the right side; a panel is sixteen columns, laid out so
//! that what one step needs is one cache line. Byte products are summed as integers and are the same on every set.
//! Float products are summed in the order of the inner dimension, one sum for each cell, and each multiplication is
//! rounded together with its addition. Plain Rust does so only where it is asked for the same bits (`EXACT`) or the
//! processor has an instruction for it: else it is a function call.

/// Columns of a panel.
pub(crate) const LANES: usize = 16;
/// The most rows of any set's tile.
pub(crate) const TILE_ROWS: usize = 6;
/// The most panels of any set's tile.
pub(crate) const TILE_PANELS: usize = 4;
/// Bytes of the inner dimension that one step takes in.
pub(crate) const STEP: usize = 4;

/// Sixteen floats in one cache line: the weights of sixteen outputs for one input.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Floats(pub [f32; LANES]);

/// Sixty-four bytes in one cache line: the weights of sixteen outputs for four inputs, those of an output together.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Bytes(pub [i8; LANES * STEP]);

/// What a tile gives, row by row and panel by panel.
pub(crate) type Cells<T> = [[[T; LANES]; TILE_PANELS]; TILE_ROWS];

/// The left side of a product: rows that lie `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    /// From the first value of the first row on.
    pub values: &'a [T],
    /// From one row to the next.
    pub stride: usize,
}

impl<T> Rows<'_, T> {
    /// Panics unless `rows` of `width` values are there: what the unsafe code below rests on.
    fn check(&self, rows: usize, width: usize) {
        assert!(rows > 0 && rows <= TILE_ROWS && (rows - 1) * self.stride + width <= self.values.len());
    }
}

/// What an encoder, and the projection of hypervectors, need of an instruction set.
pub(crate) trait Tiles {
    /// The most rows of a tile, up to [`TILE_ROWS`].
    const ROWS: usize;
    /// The most panels of a tile of several; a tile has this many or one.
    const PANELS: usize;
    /// What is taken from the left side's bytes before they are stored: 128 where the instructions take signed ones, and
    /// 0 where they take unsigned ones.
    const SHIFT: i32;

    /// Integer products of `rows` rows with `panels` panels of `steps` lines each, which stand one behind the other.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set.
    unsafe fn bytes(rows: usize, panels: usize, left: Rows<u8>, right: &[Bytes], steps: usize, out: &mut Cells<i32>);

    /// The same for floats; a panel has `steps` lines, one for each value of a row.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set.
    unsafe fn floats<const EXACT: bool>(
        rows: usize,
        panels: usize,
        left: Rows<f32>,
        right: &[Floats],
        steps: usize,
        out: &mut Cells<f32>,
    );
}

/// Plain Rust.
pub(crate) struct Portable;

impl Portable {
    /// Two sums for each lane, each of two products: what a compiler has an instruction for, on most processors.
    #[inline(always)]
    fn bytes_of<const R: usize>(left: Rows<u8>, right: &[Bytes], steps: usize, out: &mut Cells<i32>) {
        let mut sums = [[0_i32; 2 * LANES]; R];
        for (step, line) in right[..steps].iter().enumerate() {
            let weights = line.0.map(i16::from);
            for (row, sums) in sums.iter_mut().enumerate() {
                let at = row * left.stride + step * STEP;
                let four = [0, 1, 2, 3].map(|byte| i16::from(left.values[at + byte] as i8));
                for (pair, sum) in sums.iter_mut().enumerate() {
                    let (first, second) = if pair % 2 == 0 { (four[0], four[1]) } else { (four[2], four[3]) };
                    *sum += i32::from(first) * i32::from(weights[2 * pair])
                        + i32::from(second) * i32::from(weights[2 * pair + 1]);
                }
            }
        }
        for (sums, out) in sums.iter().zip(out.iter_mut()) {
            for (pair, sum) in sums.chunks_exact(2).zip(&mut out[0]) {
                *sum = pair[0] + pair[1];
            }
        }
    }

    #[inline(always)]
    fn floats_of<const R: usize, const EXACT: bool>(
        left: Rows<f32>,
        right: &[Floats],
        steps: usize,
        out: &mut Cells<f32>,
    ) {
        let mut sums = [[0.0_f32; LANES]; R];
        for (step, line) in right[..steps].iter().enumerate() {
            for (row, sums) in sums.iter_mut().enumerate() {
                let value = left.values[row * left.stride + step];
                for (sum, weight) in sums.iter_mut().zip(line.0) {
                    let fused = EXACT || cfg!(target_arch = "aarch64");
                    *sum = if fused { value.mul_add(weight, *sum) } else { *sum + value * weight };
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            out[row][0] = *sums;
        }
    }
}

impl Tiles for Portable {
    const ROWS: usize = 4;
    const PANELS: usize = 1;
    const SHIFT: i32 = 128;

    #[inline(always)]
    unsafe fn bytes(rows: usize, _panels: usize, left: Rows<u8>, right: &[Bytes], steps: usize, out: &mut Cells<i32>) {
        left.check(rows, steps * STEP);
        match rows {
            1 => Self::bytes_of::<1>(left, right, steps, out),
            2 => Self::bytes_of::<2>(left, right, steps, out),
            3 => Self::bytes_of::<3>(left, right, steps, out),
            _ => Self::bytes_of::<4>(left, right, steps, out),
        }
    }

    #[inline(always)]
    unsafe fn floats<const EXACT: bool>(
        rows: usize,
        _panels: usize,
        left: Rows<f32>,
        right: &[Floats],
        steps: usize,
        out: &mut Cells<f32>,
    ) {
        left.check(rows, steps);
        match rows {
            1 => Self::floats_of::<1, EXACT>(left, right, steps, out),
            2 => Self::floats_of::<2, EXACT>(left, right, steps, out),
            3 => Self::floats_of::<3, EXACT>(left, right, steps, out),
            _ => Self::floats_of::<4, EXACT>(left, right, steps, out),
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512, AvxVnni};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Bytes, Cells, Floats, Rows, Tiles, LANES, STEP};
    use std::arch::x86_64::{
        __m256, __m256i, __m512, __m512i, _mm256_abs_epi8, _mm256_add_epi32, _mm256_dpbusd_avx_epi32, _mm256_fmadd_ps,
        _mm256_load_ps, _mm256_load_si256, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi16,
        _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_sign_epi8, _mm256_storeu_ps,
        _mm256_storeu_si256, _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_load_ps, _mm512_load_si512,
        _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_storeu_ps,
        _mm512_storeu_si512,
    };

    /// Sixteen lanes at a time.
    pub struct Avx512;
    /// Eight lanes at a time, with the instruction that sums four byte products.
    pub struct AvxVnni;
    /// Eight lanes at a time.
    pub struct Avx2;

    /// Four bytes of a row, as one integer.
    ///
    /// # Safety
    ///
    /// Four bytes can be read there.
    #[inline(always)]
    unsafe fn four(at: *const u8) -> i32 {
        // SAFETY: the caller's.
        unsafe { at.cast::<i32>().read_unaligned() }
    }

    /// # Safety
    ///
    /// The processor has AVX-512F and VNNI; `R` rows of `steps` fours and `P` panels of `steps` lines are there.
    #[target_feature(enable = "avx512f,avx512vnni")]
    #[inline]
    unsafe fn bytes_avx512<const R: usize, const P: usize>(
        left: Rows<u8>,
        right: &[Bytes],
        steps: usize,
        out: &mut Cells<i32>,
    ) {
        let (a, b) = (left.values.as_ptr(), right.as_ptr().cast::<__m512i>());
        let mut sums = [[_mm512_setzero_si512(); P]; R];
        for step in 0..steps {
            let mut weights = [_mm512_setzero_si512(); P];
            for (panel, line) in weights.iter_mut().enumerate() {
                // SAFETY: `panel * steps + step` is one of the lines that are there, and a line is aligned.
                *line = unsafe { _mm512_load_si512(b.add(panel * steps + step)) };
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the row has `steps` fours.
                let value = _mm512_set1_epi32(unsafe { four(a.add(row * left.stride + step * STEP)) });
                for (sum, line) in sums.iter_mut().zip(weights) {
                    *sum = _mm512_dpbusd_epi32(*sum, value, line);
                }
            }
        }
        for (sums, out) in sums.iter().zip(out.iter_mut()) {
            for (sum, part) in sums.iter().zip(out) {
                // SAFETY: the part holds sixteen integers.
                unsafe { _mm512_storeu_si512(part.as_mut_ptr().cast(), *sum) };
            }
        }
    }

    /// # Safety
    ///
    /// The processor has AVX-512F; `R` rows of `steps` floats and `P` panels of `steps` lines are there.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn floats_avx512<const R: usize, const P: usize>(
        left: Rows<f32>,
        right: &[Floats],
        steps: usize,
        out: &mut Cells<f32>,
    ) {
        let (a, b) = (left.values.as_ptr(), right.as_ptr().cast::<f32>());
        let mut sums: [[__m512; P]; R] = [[_mm512_setzero_ps(); P]; R];
        for step in 0..steps {
            let mut weights = [_mm512_setzero_ps(); P];
            for (panel, line) in weights.iter_mut().enumerate() {
                // SAFETY: `panel * steps + step` is one of the lines that are there, and a line is aligned.
                *line = unsafe { _mm512_load_ps(b.add((panel * steps + step) * LANES)) };
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the row has `steps` floats.
                let value = _mm512_set1_ps(unsafe { *a.add(row * left.stride + step) });
                for (sum, line) in sums.iter_mut().zip(weights) {
                    *sum = _mm512_fmadd_ps(value, line, *sum);
                }
            }
        }
        for (sums, out) in sums.iter().zip(out.iter_mut()) {
            for (sum, part) in sums.iter().zip(out) {
                // SAFETY: the part holds sixteen floats.
                unsafe { _mm512_storeu_ps(part.as_mut_ptr(), *sum) };
            }
        }
    }

    /// One panel, which is two registers wide.
    ///
    /// # Safety
    ///
    /// The processor has AVX2 and AVX-VNNI; `R` rows of `steps` fours and a panel of `steps` lines are there.
    #[target_feature(enable = "avx2,avxvnni")]
    #[inline]
    unsafe fn bytes_avxvnni<const R: usize>(left: Rows<u8>, right: &[Bytes], steps: usize, out: &mut Cells<i32>) {
        let (a, b) = (left.values.as_ptr(), right.as_ptr().cast::<__m256i>());
        let mut sums = [[_mm256_setzero_si256(); 2]; R];
        for step in 0..steps {
            // SAFETY: the line is there, aligned, and two registers long.
            let weights = unsafe { [_mm256_load_si256(b.add(2 * step)), _mm256_load_si256(b.add(2 * step + 1))] };
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the row has `steps` fours.
                let value = _mm256_set1_epi32(unsafe { four(a.add(row * left.stride + step * STEP)) });
                for (sum, half) in sums.iter_mut().zip(weights) {
                    *sum = _mm256_dpbusd_avx_epi32(*sum, value, half);
                }
            }
        }
        store_integers(&sums, out);
    }

    /// One panel, which is two registers wide. AVX2 multiplies unsigned bytes with signed ones only, and sums two
    /// products into sixteen bits: the sign goes over to the weight, and 2 * 128 * 127 fits.
    ///
    /// # Safety
    ///
    /// The processor has AVX2; `R` rows of `steps` fours and a panel of `steps` lines are there, no weight -128.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn bytes_avx2<const R: usize>(left: Rows<u8>, right: &[Bytes], steps: usize, out: &mut Cells<i32>) {
        let (a, b) = (left.values.as_ptr(), right.as_ptr().cast::<__m256i>());
        let ones = _mm256_set1_epi16(1);
        let mut sums = [[_mm256_setzero_si256(); 2]; R];
        for step in 0..steps {
            // SAFETY: the line is there, aligned, and two registers long.
            let weights = unsafe { [_mm256_load_si256(b.add(2 * step)), _mm256_load_si256(b.add(2 * step + 1))] };
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the row has `steps` fours.
                let value = _mm256_set1_epi32(unsafe { four(a.add(row * left.stride + step * STEP)) });
                let size = _mm256_abs_epi8(value);
                for (sum, half) in sums.iter_mut().zip(weights) {
                    let pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(half, value));
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
                }
            }
        }
        store_integers(&sums, out);
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store_integers<const R: usize>(sums: &[[__m256i; 2]; R], out: &mut Cells<i32>) {
        for (sums, out) in sums.iter().zip(out.iter_mut()) {
            for (sum, part) in sums.iter().zip(out[0].chunks_exact_mut(LANES / 2)) {
                // SAFETY: the part holds eight integers.
                unsafe { _mm256_storeu_si256(part.as_mut_ptr().cast(), *sum) };
            }
        }
    }

    /// One panel, which is two registers wide.
    ///
    /// # Safety
    ///
    /// The processor has AVX2 and FMA; `R` rows of `steps` floats and a panel of `steps` lines are there.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    unsafe fn floats_avx2<const R: usize>(left: Rows<f32>, right: &[Floats], steps: usize, out: &mut Cells<f32>) {
        let (a, b) = (left.values.as_ptr(), right.as_ptr().cast::<f32>());
        let mut sums: [[__m256; 2]; R] = [[_mm256_setzero_ps(); 2]; R];
        for step in 0..steps {
            // SAFETY: the line is there, aligned, and two registers long.
            let weights = unsafe { [_mm256_load_ps(b.add(step * LANES)), _mm256_load_ps(b.add(step * LANES + 8))] };
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the row has `steps` floats.
                let value = _mm256_set1_ps(unsafe { *a.add(row * left.stride + step) });
                for (sum, half) in sums.iter_mut().zip(weights) {
                    *sum = _mm256_fmadd_ps(value, half, *sum);
                }
            }
        }
        for (sums, out) in sums.iter().zip(out.iter_mut()) {
            for (sum, part) in sums.iter().zip(out[0].chunks_exact_mut(LANES / 2)) {
                // SAFETY: the part holds eight floats.
                unsafe { _mm256_storeu_ps(part.as_mut_ptr(), *sum) };
            }
        }
    }

    /// Calls `$tile::<rows, …>` for a number of rows that is only known now.
    macro_rules! by_rows {
        ($rows:expr, $tile:ident [$($more:tt)*] $arguments:tt) => {
            match $rows {
                1 => $tile::<1 $($more)*> $arguments,
                2 => $tile::<2 $($more)*> $arguments,
                3 => $tile::<3 $($more)*> $arguments,
                4 => $tile::<4 $($more)*> $arguments,
                5 => $tile::<5 $($more)*> $arguments,
                _ => $tile::<6 $($more)*> $arguments,
            }
        };
    }

    impl Tiles for Avx512 {
        const ROWS: usize = 6; // 24 sums, 4 lines of weights and a value: 29 of 32 registers
        const PANELS: usize = 4;
        const SHIFT: i32 = 0;

        #[inline(always)]
        unsafe fn bytes(
            rows: usize,
            panels: usize,
            left: Rows<u8>,
            right: &[Bytes],
            steps: usize,
            out: &mut Cells<i32>,
        ) {
            left.check(rows, steps * STEP);
            assert!(panels * steps <= right.len());
            // SAFETY: the processor is the caller's, the sizes were just checked.
            unsafe {
                if panels == 4 {
                    by_rows!(rows, bytes_avx512[, 4](left, right, steps, out));
                } else {
                    by_rows!(rows, bytes_avx512[, 1](left, right, steps, out));
                }
            }
        }

        #[inline(always)]
        unsafe fn floats<const EXACT: bool>(
            rows: usize,
            panels: usize,
            left: Rows<f32>,
            right: &[Floats],
            steps: usize,
            out: &mut Cells<f32>,
        ) {
            left.check(rows, steps);
            assert!(panels * steps <= right.len());
            // SAFETY: the processor is the caller's, the sizes were just checked.
            unsafe {
                if panels == 4 {
                    by_rows!(rows, floats_avx512[, 4](left, right, steps, out));
                } else {
                    by_rows!(rows, floats_avx512[, 1](left, right, steps, out));
                }
            }
        }
    }

    /// The two sets of 256 bits differ in one instruction.
    macro_rules! tiles_256 {
        ($set:ident, $bytes:ident, $rows:expr, $shift:expr) => {
            impl Tiles for $set {
                const ROWS: usize = $rows;
                const PANELS: usize = 1;
                const SHIFT: i32 = $shift;

                #[inline(always)]
                unsafe fn bytes(
                    rows: usize,
                    _panels: usize,
                    left: Rows<u8>,
                    right: &[Bytes],
                    steps: usize,
                    out: &mut Cells<i32>,
                ) {
                    left.check(rows, steps * STEP);
                    assert!(steps <= right.len());
                    // SAFETY: the processor is the caller's, the sizes were just checked.
                    unsafe { by_rows!(rows, $bytes[](left, right, steps, out)) };
                }

                #[inline(always)]
                unsafe fn floats<const EXACT: bool>(
                    rows: usize,
                    _panels: usize,
                    left: Rows<f32>,
                    right: &[Floats],
                    steps: usize,
                    out: &mut Cells<f32>,
                ) {
                    left.check(rows, steps);
                    assert!(steps <= right.len());
                    // SAFETY: the processor is the caller's, the sizes were just checked.
                    unsafe { by_rows!(rows, floats_avx2[](left, right, steps, out)) };
                }
            }
        };
    }

    tiles_256!(AvxVnni, bytes_avxvnni, 6, 0); // 12 sums, 2 halves of a line and a value: 15 of 16 registers
    tiles_256!(Avx2, bytes_avx2, 4, 128); // 8 sums, 2 halves, a value and its size, the ones, 2 between: 15
}
