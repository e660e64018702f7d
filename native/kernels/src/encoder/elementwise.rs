//! What is done value by value or row by row between the matrix products.
//!
//! Written so that the compiler makes vector instructions of it, whatever set it is inlined under. Nothing is fused and
//! every sum is taken in sixteen lanes, so all sets give the same bits.

use super::tiles::LANES;

/// `1.5 * 2^23`: added and taken away again it rounds to the nearest integer, ties to even, wherever there is no
/// instruction for that; while it is there, the low bits are the integer.
const ROUNDER: f32 = 12_582_912.0;

/// The sum of what `term` makes of the values, in sixteen lanes, then of the lanes.
#[inline(always)]
pub(super) fn sum(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    folded(values, 0.0, |lane, value| lane + term(value), |a, b| a + b)
}

/// The greatest of what `of` makes of the values; not a number counts as none.
#[inline(always)]
fn greatest(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let greater = |a: f32, b: f32| if b > a { b } else { a };
    folded(values, f32::NEG_INFINITY, |lane, value| greater(lane, of(value)), greater)
}

/// Values taken in lane by lane, then the lanes joined in halves.
#[inline(always)]
fn folded(values: &[f32], from: f32, take: impl Fn(f32, f32) -> f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [from; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = take(lanes[lane], chunk[lane]);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane = take(*lane, *value);
    }
    let eight: [f32; 8] = std::array::from_fn(|lane| join(lanes[lane], lanes[lane + 8]));
    let four: [f32; 4] = std::array::from_fn(|lane| join(eight[lane], eight[lane + 4]));
    join(join(four[0], four[2]), join(four[1], four[3]))
}

/// Write as many of the values as there is room for.
#[inline(always)]
pub(super) fn put(values: &[f32; LANES], out: &mut [f32]) {
    match out.first_chunk_mut::<LANES>() {
        Some(whole) => *whole = *values, // one store instead of a call that copies any number
        None => out.copy_from_slice(&values[..out.len()]),
    }
}

/// Layer normalisation of one row (Ba et al. 2016, arXiv:1607.06450), in place.
#[inline(always)]
pub(super) fn normalise(row: &mut [f32], gain: &[f32], bias: &[f32], epsilon: f32) {
    let width = row.len() as f32;
    let mean = sum(row, |value| value) / width;
    let variance = sum(row, |value| (value - mean) * (value - mean)) / width;
    let inverse = 1.0 / (variance + epsilon).sqrt();
    for ((value, gain), bias) in row.iter_mut().zip(gain).zip(bias) {
        *value = (*value - mean) * inverse * gain + bias;
    }
}

/// Divide a row by its length; one of zeros stays as it is.
#[inline(always)]
pub(super) fn to_unit(row: &mut [f32]) {
    let length = sum(row, |value| value * value).sqrt();
    let length = if length < 1e-12 { 1e-12 } else { length }; // what is not a number stays none
    for value in row {
        *value /= length;
    }
}

/// The greater of a value and zero; what is not a number stays none, other than by `f32::max`.
#[inline(always)]
fn positive(value: f32) -> f32 {
    0.5 * (value + value.abs())
}

/// Whether all values are finite: only what is not gives something else than zero.
#[inline(always)]
pub(super) fn all_finite(values: &[f32]) -> bool {
    sum(values, |value| value * 0.0) == 0.0
}

/// The exact (erf) Gaussian error linear unit (Hendrycks and Gimpel 2016, arXiv:1606.08415), in place, to 8e-7.
///
/// `max(x, 0) - |x| P(|x|)^-16`, where `P^-16` is the tail of the normal distribution after Hastings (Abramowitz and
/// Stegun 1964, 7.1.28): no table and no branch; the coefficients as in `algorithms/text/bert.py`.
#[inline(always)]
pub(super) fn gelu(values: &mut [f32; LANES]) {
    /// `2^(1/16) * a_k * 2^(-k/2)` for Hastings' `a_k`.
    const POWERS: [f32; 7] =
        [1.044_273_7, 0.052_075_163, 0.022_076_998, 0.003_422_739_2, 3.968_613_6e-5, 5.105_521e-5, 5.6213e-6];
    for value in values {
        let size = value.abs().min(10.0); // beyond 6 the tail is below 1e-9; beyond 25 its power overflows
        let mut tail = POWERS[6];
        tail = tail * size + POWERS[5];
        tail = tail * size + POWERS[4];
        tail = tail * size + POWERS[3];
        tail = tail * size + POWERS[2];
        tail = tail * size + POWERS[1];
        tail = tail * size + POWERS[0];
        tail *= tail;
        tail *= tail;
        tail *= tail;
        tail *= tail;
        *value = positive(*value) - size / tail;
    }
}

/// What is below zero becomes zero.
#[inline(always)]
pub(super) fn relu(values: &mut [f32; LANES]) {
    for value in values {
        *value = positive(*value);
    }
}

/// `e^x` for x from -87 to 0, to 2e-7 of it: Cephes' `expf` (Moshier), whose polynomial leaves out nothing but the
/// branches.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let whole = shifted - ROUNDER;
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let mut power = 1.987_569_1e-4;
    power = power * rest + 1.398_199_9e-3;
    power = power * rest + 8.333_452e-3;
    power = power * rest + 4.166_579_6e-2;
    power = power * rest + 1.666_666_6e-1;
    power = power * rest + 0.5;
    power = power * rest * rest + rest + 1.0;
    // The low bits of `shifted` are the exponent: shifted into place they leave the rounder's own bits behind.
    power * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// `e^(x - max)` of a row in place, without dividing by their sum, which is returned. The least float adds nothing to
/// it; where a value is not finite, it is not a number.
#[inline(always)]
pub(super) fn exponentials(row: &mut [[f32; LANES]]) -> f32 {
    let finite = all_finite(row.as_flattened());
    let most = greatest(row.as_flattened(), |value| value);
    for value in row.as_flattened_mut() {
        *value = exponential((*value - most).max(-87.0));
    }
    if finite {
        sum(row.as_flattened(), |value| value)
    } else {
        f32::NAN
    }
}

/// A row as bytes from -127 to 127, and what one is worth. `bytes` may be longer than the row: what is over becomes
/// zero. For weights, whose zero has to stay one.
#[inline(always)]
pub(super) fn quantise_evenly(row: &[f32], bytes: &mut [i8]) -> f32 {
    let most = greatest(row, f32::abs);
    let per_unit = if most > 0.0 { 127.0 / most } else { 0.0 };
    let (inside, over) = bytes.split_at_mut(row.len());
    for (byte, value) in inside.iter_mut().zip(row) {
        *byte = (value * per_unit + ROUNDER).to_bits() as i8;
    }
    over.fill(0);
    most / 127.0
}

/// What a quantised row is made of: `value = byte * worth + least`.
#[derive(Clone, Copy, Default)]
pub(super) struct Scale {
    /// What one is worth.
    pub worth: f32,
    /// What zero stands for.
    pub least: f32,
}

/// A row as bytes from 0 to 255, its least value to its greatest, each stored with `shift` taken away. For activations,
/// which are lopsided: against bytes around zero this halves the error (cosine to floats, worst of 350 short texts,
/// 0.994 for 0.983). `bytes` may be longer than the row; what is over means nothing.
/// A row that is not finite is worth what is not a number.
#[inline(always)]
pub(super) fn quantise(row: &[f32], shift: i32, bytes: &mut [u8]) -> Scale {
    let (least, most) = (-greatest(row, |value| -value), greatest(row, |value| value));
    let range = most - least;
    let per_unit = if range > 0.0 { 255.0 / range } else { 0.0 };
    for (byte, value) in bytes.iter_mut().zip(row) {
        *byte = ((value - least) * per_unit + ROUNDER).to_bits().wrapping_sub(shift as u32) as u8;
    }
    Scale { worth: if all_finite(row) { range / 255.0 } else { f32::NAN }, least }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::LANES;
    use super::{exponential, exponentials, gelu, normalise, quantise, quantise_evenly, relu, to_unit};

    /// The normal distribution function by its series and continued fraction, in double precision.
    fn phi(x: f64) -> f64 {
        let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        if x.abs() < 4.0 {
            let (mut term, mut sum) = (x, x);
            for k in 1..200 {
                term *= x * x / f64::from(2 * k + 1);
                sum += term;
            }
            return 0.5 + density * sum;
        }
        let mut fraction = 0.0;
        for k in (1..60).rev() {
            fraction = f64::from(k) / (x.abs() + fraction);
        }
        let tail = density / (x.abs() + fraction);
        if x < 0.0 {
            tail
        } else {
            1.0 - tail
        }
    }

    #[test]
    fn gelu_is_x_times_the_normal_distribution() {
        for step in -12_000..=12_000 {
            let x = step as f32 / 1_000.0;
            let mut value = [x; LANES];
            gelu(&mut value);
            let expected = f64::from(x) * phi(f64::from(x));
            assert!((f64::from(value[0]) - expected).abs() < 8e-7 * f64::from(x.abs().max(1.0)), "{x}");
        }
    }

    #[test]
    fn the_exponential_is_right_to_the_last_bits() {
        for step in 0..=87_000 {
            let x = -step as f32 / 1_000.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exponential(x)) / exact - 1.0).abs() < 2.5e-7, "{x}");
        }
        assert_eq!(exponential(0.0), 1.0);
    }

    #[test]
    fn exponentials_of_a_row_are_relative_to_its_greatest() {
        let mut rows = [[0.0; LANES]];
        rows[0].fill(f32::MIN);
        rows[0][..3].copy_from_slice(&[1.0, 3.0, -500.0]);
        let sum = exponentials(&mut rows);
        let row = rows[0];
        assert_eq!(row[1], 1.0);
        assert!((row[0] - (-2.0_f32).exp()).abs() < 1e-7);
        assert!(row[2] >= 0.0 && row[2] < 1e-37);
        assert_eq!(sum, row[0] + row[1] + row[2]);
    }

    #[test]
    fn a_normalised_row_has_mean_zero_and_variance_one() {
        let mut row: Vec<f32> = (0..37).map(|value| (value * value % 11) as f32 + 100.0).collect();
        normalise(&mut row, &[1.0; 37], &[0.0; 37], 1e-12);
        let (mean, square): (f32, f32) = (row.iter().sum(), row.iter().map(|value| value * value).sum());
        assert!(mean.abs() / 37.0 < 1e-5 && (square / 37.0 - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_row_of_zeros_stays_one() {
        let mut row = [0.0; 5];
        to_unit(&mut row);
        assert_eq!(row, [0.0; 5]);
        let mut bytes = [7; 8];
        assert_eq!(quantise_evenly(&row, &mut bytes), 0.0);
        assert_eq!(bytes, [0; 8]);
    }

    #[test]
    fn bytes_are_within_half_of_what_one_is_worth() {
        let row: Vec<f32> = (0..100).map(|step| (step as f32 - 31.0) * 0.37).collect();
        let mut even = [7; 104];
        let worth = quantise_evenly(&row, &mut even);
        for (value, byte) in row.iter().zip(even) {
            assert!((value - f32::from(byte) * worth).abs() <= worth * 0.500_1);
        }
        assert_eq!(even.iter().map(|byte| byte.unsigned_abs()).max(), Some(127));
        assert_eq!(even[100..], [0; 4]);
        for shift in [0, 128] {
            let mut bytes = [7; 104];
            let scale = quantise(&row, shift, &mut bytes);
            for (value, byte) in row.iter().zip(bytes) {
                let found = f32::from(byte.wrapping_add(shift as u8)) * scale.worth + scale.least;
                assert!((value - found).abs() <= scale.worth * 0.500_1);
            }
        }
    }

    #[test]
    fn a_row_of_one_value_is_that_value() {
        let scale = quantise(&[-3.5; 7], 0, &mut [0; 8]);
        assert_eq!((scale.worth, scale.least), (0.0, -3.5));
    }

    #[test]
    fn what_is_not_finite_makes_what_is_not_a_number() {
        for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            assert!(quantise(&[1.0, bad, 2.0], 0, &mut [0; 4]).worth.is_nan());
            let mut rows = [[0.5; LANES]];
            rows[0][3] = bad;
            assert!(exponentials(&mut rows).is_nan());
            let mut row = [1.0, bad, 2.0];
            to_unit(&mut row);
            assert!(row.iter().any(|value| value.is_nan()));
        }
        let mut values = [f32::NAN; LANES];
        gelu(&mut values);
        assert!(values[0].is_nan());
        relu(&mut values);
        assert!(values[0].is_nan());
    }
}
