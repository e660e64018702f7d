//! Self-attention of one window (Vaswani et al. 2017, arXiv:1706.03762), head by head, in floats.

use super::elementwise::{exponentials, put};
use super::tiles::{Cells, Floats, Rows, Tiles, LANES, TILE_PANELS, TILE_ROWS};

/// Room for one head's keys and values, laid out for the products, and for the weights of a few rows.
#[derive(Default)]
pub(super) struct Room {
    keys: Vec<Floats>,
    values: Vec<Floats>,
    weights: Vec<[f32; LANES]>,
}

/// Write what each token takes from all into `context`, `(tokens, hidden)`.
///
/// `qkv` holds for each token its queries (scaled beforehand), keys and values, `(tokens, 3, hidden)`.
///
/// # Safety
///
/// The processor has the instruction set `T`.
#[inline(always)]
pub(super) unsafe fn attend<T: Tiles>(qkv: &[f32], heads: usize, hidden: usize, room: &mut Room, context: &mut [f32]) {
    let (stride, size) = (3 * hidden, hidden / heads);
    let tokens = qkv.len() / stride;
    let (blocks, parts) = (tokens.div_ceil(LANES), size.div_ceil(LANES));
    room.keys.resize(blocks * size, Floats([0.0; LANES]));
    room.values.resize(parts * tokens, Floats([0.0; LANES]));
    room.weights.resize(T::ROWS * blocks, [0.0; LANES]);
    let mut cells: Cells<f32> = [[[0.0; LANES]; TILE_PANELS]; TILE_ROWS];
    for head in 0..heads {
        lay_out(qkv, stride, hidden + head * size, size, room);
        for row in (0..tokens).step_by(T::ROWS) {
            let rows = T::ROWS.min(tokens - row);
            let queries = Rows { values: &qkv[row * stride + head * size..], stride };
            for (block, panels) in stretches::<T>(blocks) {
                // SAFETY: the caller's.
                unsafe { T::floats::<true>(rows, panels, queries, &room.keys[block * size..], size, &mut cells) };
                for (weights, cells) in room.weights.chunks_exact_mut(blocks).zip(&cells[..rows]) {
                    // As many stores, in place of a call that copies any number: a tile has all its panels or one.
                    match weights[block..block + panels].first_chunk_mut::<TILE_PANELS>() {
                        Some(all) => *all = *cells,
                        None => weights[block..block + panels].iter_mut().zip(cells).for_each(|(to, from)| *to = *from),
                    }
                }
            }
            let mut shares = [0.0_f32; TILE_ROWS];
            for (weights, share) in room.weights.chunks_exact_mut(blocks).zip(&mut shares[..rows]) {
                if let Some(last) = weights.last_mut() {
                    last[tokens - (blocks - 1) * LANES..].fill(f32::MIN);
                    // no tokens any more
                }
                *share = 1.0 / exponentials(weights);
            }
            let weights = Rows { values: room.weights.as_flattened(), stride: blocks * LANES };
            for (part, panels) in stretches::<T>(parts) {
                // SAFETY: the caller's.
                unsafe { T::floats::<true>(rows, panels, weights, &room.values[part * tokens..], tokens, &mut cells) };
                for (index, (cells, share)) in cells.iter().zip(&shares[..rows]).enumerate() {
                    for (panel, products) in cells[..panels].iter().enumerate() {
                        let column = (part + panel) * LANES;
                        let at = (row + index) * hidden + head * size + column;
                        let values = products.map(|product| product * share);
                        put(&values, &mut context[at..at + LANES.min(size - column)]);
                    }
                }
            }
        }
    }
}

/// The first panel of each tile, and how many it has.
#[inline(always)]
fn stretches<T: Tiles>(panels: usize) -> impl Iterator<Item = (usize, usize)> {
    let many = panels / T::PANELS;
    let whole = (0..many).map(|tile| (tile * T::PANELS, T::PANELS));
    whole.chain((many * T::PANELS..panels).map(|panel| (panel, 1)))
}

/// Lay out a head's keys, sixteen tokens a panel and a line for each dimension, and its values, sixteen dimensions a
/// panel and a line for each token. `from` is the column of its keys.
#[inline(always)]
fn lay_out(qkv: &[f32], stride: usize, from: usize, size: usize, room: &mut Room) {
    let (hidden, tokens) = (stride / 3, qkv.len() / stride);
    for (token, row) in qkv.chunks_exact(stride).enumerate() {
        let panel = &mut room.keys[token / LANES * size..][..size];
        for (line, key) in panel.iter_mut().zip(&row[from..from + size]) {
            line.0[token % LANES] = *key;
        }
        for (part, values) in row[from + hidden..from + hidden + size].chunks(LANES).enumerate() {
            put_line(&mut room.values[part * tokens + token], values);
        }
    }
}

/// The first values of a line.
#[inline(always)]
fn put_line(line: &mut Floats, values: &[f32]) {
    match values.first_chunk::<LANES>() {
        Some(whole) => line.0 = *whole,
        None => line.0[..values.len()].copy_from_slice(values),
    }
}
