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
    let mut lanes = [0.0_f32; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += term(*value);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane += term(*value);
    }
    total(lanes)
}

/// The lanes added up pairwise.
#[inline(always)]
fn total(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// The greatest value; not a number counts as none.
#[inline(always)]
fn greatest(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    let keep = |lane: &mut f32, value: f32| {
        if value > *lane {
            *lane = value;
        }
    };
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            keep(lane, of(*value));
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        keep(lane, of(*value));
    }
    lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
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
    let length = sum(row, |value| value * value).sqrt().max(1e-12);
    for value in row {
        *value /= length;
    }
}

/// The exact (erf) Gaussian error linear unit (Hendrycks and Gimpel 2016, arXiv:1606.08415), in place, to 8e-7.
///
/// `max(x, 0) - |x| P(|x|)^-16`, where `P^-16` is the tail of the normal distribution after Hastings (Abramowitz and
/// Stegun 1964, 7.1.28): no table and no branch; the coefficients as in `mnemic/algorithms/bert.py`.
#[inline(always)]
pub(super) fn gelu(values: &mut [f32]) {
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
        *value = value.max(0.0) - size / tail;
    }
}

/// What is below zero becomes zero.
#[inline(always)]
pub(super) fn relu(values: &mut [f32]) {
    for value in values {
        *value = value.max(0.0);
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

/// `e^(x - max)` of a row in place, without dividing by their sum, which is returned.
#[inline(always)]
pub(super) fn exponentials(row: &mut [f32]) -> f32 {
    let most = greatest(row, |value| value);
    for value in row.iter_mut() {
        *value = exponential((*value - most).max(-87.0));
    }
    sum(row, |value| value)
}

/// A row as bytes from -127 to 127, each stored with `offset` added, and what one is worth. `bytes` may be longer than
/// the row: what is over becomes zero.
#[inline(always)]
pub(super) fn quantise(row: &[f32], offset: i32, bytes: &mut [u8]) -> f32 {
    let most = greatest(row, f32::abs);
    let (worth, per_unit) = if most > 0.0 && most < f32::INFINITY { (most / 127.0, 127.0 / most) } else { (0.0, 0.0) };
    let (inside, over) = bytes.split_at_mut(row.len());
    for (byte, value) in inside.iter_mut().zip(row) {
        *byte = (value * per_unit + ROUNDER).to_bits().wrapping_add(offset as u32) as u8;
    }
    over.fill(offset as u8);
    if most == f32::INFINITY {
        f32::NAN
    } else {
        worth
    }
}

#[cfg(test)]
mod tests {
    use super::{exponential, exponentials, gelu, normalise, quantise, to_unit};

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
            let mut value = [x];
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
        let mut row = [1.0, 3.0, -500.0];
        let sum = exponentials(&mut row);
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
        assert_eq!(quantise(&row, 128, &mut bytes), 0.0);
        assert_eq!(bytes, [128; 8]);
    }

    #[test]
    fn bytes_are_within_half_of_what_one_is_worth() {
        let row: Vec<f32> = (0..100).map(|step| (step as f32 - 31.0) * 0.37).collect();
        let mut bytes = [0; 104];
        let worth = quantise(&row, 0, &mut bytes);
        for (value, byte) in row.iter().zip(bytes) {
            assert!((value - f32::from(byte as i8) * worth).abs() <= worth * 0.500_1);
        }
        assert_eq!(bytes.iter().map(|byte| (*byte as i8).unsigned_abs()).max(), Some(127));
        assert_eq!(bytes[100..], [0; 4]);
    }

    #[test]
    fn what_is_not_finite_makes_a_row_that_is_not() {
        assert!(quantise(&[1.0, f32::INFINITY], 0, &mut [0; 2]).is_nan());
    }
}
