//! Matrix products with weights that were laid out beforehand, in bytes or in floats.

use super::elementwise::{quantise, quantise_evenly, Scale};
use super::tiles::{Bytes, Cells, Floats, Rows, Tiles, LANES, STEP, TILE_PANELS, TILE_ROWS};

/// A dense layer: `x W^T + b`.
pub(super) struct Dense {
    inputs: usize,
    outputs: usize,
    bias: Vec<[f32; LANES]>,
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
    worth: Vec<[f32; LANES]>,
    /// The sum of its bytes, for each output: what 1 added to every input's byte would add.
    sums: Vec<[i32; LANES]>,
    /// The sum of its weights, for each output: what 1 added to every input would add.
    totals: Vec<[f32; LANES]>,
}

/// What becomes of the outputs, `(rows, outputs)`: sixteen of one row at a time.
pub(super) trait Sink {
    /// Take the values of a row from column `column` on; of the row's last ones, those beyond its end mean nothing.
    fn take(&mut self, row: usize, column: usize, values: &mut [f32; LANES]);
}

/// Room for what a product needs on the way; grows to what was asked of it.
#[derive(Default)]
pub(super) struct Room {
    bytes: Vec<u8>,
    scales: Vec<Scale>,
}

impl Dense {
    /// Lay out weights `(outputs, inputs)`, row-major, as bytes or as floats.
    pub(super) fn new(weights: &[f32], bias: &[f32], inputs: usize, in_bytes: bool) -> Self {
        let (outputs, bias) = (bias.len(), in_lanes(bias));
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
        room.scales.resize(rows, Scale::default());
        let lines = x.chunks_exact(self.inputs).zip(room.bytes.chunks_exact_mut(stride));
        for ((row, bytes), scale) in lines.zip(&mut room.scales) {
            *scale = quantise(row, T::SHIFT, bytes);
        }
        let mut cells: Cells<i32> = [[[0; LANES]; TILE_PANELS]; TILE_ROWS];
        for tile in tiles::<T>(rows, self.outputs) {
            let left = Rows { values: &room.bytes[tile.row * stride..], stride };
            let right = &weights.panels[tile.panel * steps..];
            // SAFETY: the caller's.
            unsafe { T::bytes(tile.rows, tile.panels, left, right, steps, &mut cells) };
            for (row, cells) in cells[..tile.rows].iter().enumerate() {
                let scale = room.scales[tile.row + row];
                for (panel, sums) in cells[..tile.panels].iter().enumerate() {
                    let number = tile.panel + panel;
                    let (worth, totals) = (&weights.worth[number], &weights.totals[number]);
                    let (shifts, bias) = (&weights.sums[number], &self.bias[number]);
                    let mut values = [0.0; LANES];
                    for lane in 0..LANES {
                        let whole = sums[lane] + T::SHIFT * shifts[lane];
                        values[lane] =
                            whole as f32 * (scale.worth * worth[lane]) + (scale.least * totals[lane] + bias[lane]);
                    }
                    sink.take(tile.row + row, number * LANES, &mut values);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn apply_floats<T: Tiles>(&self, weights: &[Floats], x: &[f32], rows: usize, sink: &mut impl Sink) {
        let mut cells: Cells<f32> = [[[0.0; LANES]; TILE_PANELS]; TILE_ROWS];
        for tile in tiles::<T>(rows, self.outputs) {
            let left = Rows { values: &x[tile.row * self.inputs..], stride: self.inputs };
            let right = &weights[tile.panel * self.inputs..];
            // SAFETY: the caller's.
            unsafe { T::floats::<false>(tile.rows, tile.panels, left, right, self.inputs, &mut cells) };
            for (row, cells) in cells[..tile.rows].iter().enumerate() {
                for (panel, sums) in cells[..tile.panels].iter().enumerate() {
                    let bias = &self.bias[tile.panel + panel];
                    let mut values = [0.0; LANES];
                    for lane in 0..LANES {
                        values[lane] = sums[lane] + bias[lane];
                    }
                    sink.take(tile.row + row, (tile.panel + panel) * LANES, &mut values);
                }
            }
        }
    }
}

impl ByteWeights {
    fn new(weights: &[f32], inputs: usize, outputs: usize) -> Self {
        let steps = inputs.div_ceil(STEP);
        let mut panels = vec![Bytes([0; LANES * STEP]); outputs.div_ceil(LANES) * steps];
        let mut bytes = vec![0; steps * STEP];
        let (mut worth, mut sums) = (Vec::with_capacity(outputs), Vec::with_capacity(outputs));
        for (output, row) in weights.chunks_exact(inputs).enumerate() {
            worth.push(quantise_evenly(row, &mut bytes));
            sums.push(bytes.iter().map(|byte| i32::from(*byte)).sum());
            let panel = &mut panels[output / LANES * steps..][..steps];
            let lane = output % LANES * STEP;
            for (line, four) in panel.iter_mut().zip(bytes.chunks_exact(STEP)) {
                line.0[lane..lane + STEP].copy_from_slice(four);
            }
        }
        let totals: Vec<f32> = sums.iter().zip(&worth).map(|(sum, worth): (&i32, &f32)| *sum as f32 * worth).collect();
        Self { panels, worth: in_lanes(&worth), sums: in_lanes(&sums), totals: in_lanes(&totals) }
    }
}

/// Sixteen values at a time, zeros after the last.
fn in_lanes<T: Copy + Default>(values: &[T]) -> Vec<[T; LANES]> {
    let lanes = |chunk: &[T]| std::array::from_fn(|lane| chunk.get(lane).copied().unwrap_or_default());
    values.chunks(LANES).map(lanes).collect()
}

/// A part of the outputs that is computed at once.
struct Tile {
    row: usize,
    rows: usize,
    panel: usize,
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
        Tile { row, rows: T::ROWS.min(rows - row), panel, panels: width }
    })
}
