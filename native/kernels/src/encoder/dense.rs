//! Matrix products with weights that were laid out beforehand, in bytes or in floats.

use super::elementwise::quantise;
use super::tiles::{Bytes, Floats, Integers, Products, Rows, Tiles, LANES, STEP, TILE_COLUMNS, TILE_ROWS};

/// A dense layer: `x W^T + b`.
pub(super) struct Dense {
    inputs: usize,
    outputs: usize,
    bias: Vec<f32>,
    weights: Weights,
}

enum Weights {
    Bytes(ByteWeights),
    Floats(Vec<Floats>),
}

/// Each output's weights as bytes from -127 to 127.
struct ByteWeights {
    panels: Vec<Bytes>,
    /// What one is worth, for each output.
    worth: Vec<f32>,
    /// The sum of its weights, for each output: what 1 added to every input would add.
    sums: Vec<i32>,
}

/// What becomes of the outputs: a stretch of one row at a time.
pub(super) trait Sink {
    /// Take the values of row `row` from column `column` on.
    fn take(&mut self, row: usize, column: usize, values: &mut [f32]);
}

/// Room for what a product needs on the way; grows to what was asked of it.
#[derive(Default)]
pub(super) struct Room {
    bytes: Vec<u8>,
    worth: Vec<f32>,
}

impl Dense {
    /// Lay out weights `(outputs, inputs)`, row-major, as bytes or as floats.
    pub(super) fn new(weights: &[f32], bias: Vec<f32>, inputs: usize, in_bytes: bool) -> Self {
        let outputs = bias.len();
        let weights = if in_bytes {
            Weights::Bytes(ByteWeights::new(weights, inputs, outputs))
        } else {
            let mut panels = vec![Floats([0.0; LANES]); outputs.div_ceil(LANES) * inputs];
            for (output, row) in weights.chunks_exact(inputs).enumerate() {
                let panel = &mut panels[output / LANES * inputs..][..inputs];
                for (line, weight) in panel.iter_mut().zip(row) {
                    line.0[output % LANES] = *weight;
                }
            }
            Weights::Floats(panels)
        };
        Self { inputs, outputs, bias, weights }
    }

    /// Send `x W^T + b` to a sink, for `rows` rows of `x`, which is row-major without gaps.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set `T`.
    #[inline(always)]
    pub(super) unsafe fn apply<T: Tiles>(&self, x: &[f32], rows: usize, room: &mut Room, sink: &mut impl Sink) {
        match &self.weights {
            // SAFETY: the caller's.
            Weights::Bytes(weights) => unsafe { self.apply_bytes::<T>(weights, x, rows, room, sink) },
            // SAFETY: the caller's.
            Weights::Floats(weights) => unsafe { self.apply_floats::<T>(weights, x, rows, sink) },
        }
    }

    #[inline(always)]
    unsafe fn apply_bytes<T: Tiles>(
        &self,
        weights: &ByteWeights,
        x: &[f32],
        rows: usize,
        room: &mut Room,
        sink: &mut impl Sink,
    ) {
        let steps = self.inputs.div_ceil(STEP);
        let stride = steps * STEP;
        room.bytes.resize(rows * stride, 0);
        room.worth.resize(rows, 0.0);
        let lines = x.chunks_exact(self.inputs).zip(room.bytes.chunks_exact_mut(stride));
        for ((row, bytes), worth) in lines.zip(&mut room.worth) {
            *worth = quantise(row, T::OFFSET, bytes);
        }
        let mut sums: Integers = [[0; TILE_COLUMNS]; TILE_ROWS];
        let mut values = [0.0_f32; TILE_COLUMNS];
        for tile in tiles::<T>(rows, self.outputs) {
            let left = Rows { values: &room.bytes[tile.row * stride..], stride };
            let right = &weights.panels[tile.column / LANES * steps..];
            // SAFETY: the caller's.
            unsafe { T::bytes(tile.rows, tile.panels, left, right, steps, &mut sums) };
            let columns = tile.column..self.outputs.min(tile.column + tile.panels * LANES);
            let (scales, offsets) = (&weights.worth[columns.clone()], &weights.sums[columns.clone()]);
            let (bias, values) = (&self.bias[columns.clone()], &mut values[..columns.len()]);
            for (row, sums) in sums[..tile.rows].iter().enumerate() {
                let worth = room.worth[tile.row + row];
                for (index, value) in values.iter_mut().enumerate() {
                    let whole = sums[index] - T::OFFSET * offsets[index];
                    *value = whole as f32 * (worth * scales[index]) + bias[index];
                }
                sink.take(tile.row + row, tile.column, values);
            }
        }
    }

    #[inline(always)]
    unsafe fn apply_floats<T: Tiles>(&self, weights: &[Floats], x: &[f32], rows: usize, sink: &mut impl Sink) {
        let mut sums: Products = [[0.0; TILE_COLUMNS]; TILE_ROWS];
        for tile in tiles::<T>(rows, self.outputs) {
            let left = Rows { values: &x[tile.row * self.inputs..], stride: self.inputs };
            let right = &weights[tile.column / LANES * self.inputs..];
            // SAFETY: the caller's.
            unsafe { T::floats::<true>(tile.rows, tile.panels, left, right, self.inputs, &mut sums) };
            let columns = tile.column..self.outputs.min(tile.column + tile.panels * LANES);
            let bias = &self.bias[columns.clone()];
            for (row, sums) in sums[..tile.rows].iter_mut().enumerate() {
                let values = &mut sums[..columns.len()];
                for (value, bias) in values.iter_mut().zip(bias) {
                    *value += bias;
                }
                sink.take(tile.row + row, tile.column, values);
            }
        }
    }
}

impl ByteWeights {
    fn new(weights: &[f32], inputs: usize, outputs: usize) -> Self {
        let steps = inputs.div_ceil(STEP);
        let mut panels = vec![Bytes([0; LANES * STEP]); outputs.div_ceil(LANES) * steps];
        let mut bytes = vec![0_u8; steps * STEP];
        let (mut worth, mut sums) = (Vec::with_capacity(outputs), Vec::with_capacity(outputs));
        for (output, row) in weights.chunks_exact(inputs).enumerate() {
            worth.push(quantise(row, 0, &mut bytes));
            sums.push(bytes.iter().map(|byte| i32::from(*byte as i8)).sum());
            let panel = &mut panels[output / LANES * steps..][..steps];
            let lane = output % LANES * STEP;
            for (line, four) in panel.iter_mut().zip(bytes.chunks_exact(STEP)) {
                for (weight, byte) in line.0[lane..lane + STEP].iter_mut().zip(four) {
                    *weight = *byte as i8;
                }
            }
        }
        Self { panels, worth, sums }
    }
}

/// A part of the outputs that is computed at once.
struct Tile {
    row: usize,
    rows: usize,
    column: usize,
    panels: usize,
}

/// The tiles of `rows` by `outputs`: all rows against one stretch of weights before the next, which stays in the
/// first-level cache meanwhile.
#[inline(always)]
fn tiles<T: Tiles>(rows: usize, outputs: usize) -> impl Iterator<Item = Tile> {
    let panels = outputs.div_ceil(LANES);
    let (many, heights) = (panels / T::PANELS, rows.div_ceil(T::ROWS));
    let stretches = many + panels % T::PANELS;
    (0..stretches * heights).map(move |number| {
        let (stretch, height) = (number / heights, number % heights);
        let (panel, width) =
            if stretch < many { (stretch * T::PANELS, T::PANELS) } else { (many * T::PANELS + stretch - many, 1) };
        let row = height * T::ROWS;
        Tile { row, rows: T::ROWS.min(rows - row), column: panel * LANES, panels: width }
    })
}
