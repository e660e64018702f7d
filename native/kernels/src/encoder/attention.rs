//! Self-attention of one window (Vaswani et al. 2017, arXiv:1706.03762), head by head, in floats.

use super::elementwise::exponentials;
use super::tiles::{Floats, Products, Rows, Tiles, LANES, TILE_COLUMNS, TILE_ROWS};

/// Room for one head's keys and values, laid out for the products, and for the weights of a few rows.
#[derive(Default)]
pub(super) struct Room {
    keys: Vec<Floats>,
    values: Vec<Floats>,
    weights: Vec<f32>,
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
    let width = blocks * LANES;
    room.keys.resize(blocks * size, Floats([0.0; LANES]));
    room.values.resize(parts * tokens, Floats([0.0; LANES]));
    room.weights.resize(T::ROWS * width, 0.0);
    let mut products: Products = [[0.0; TILE_COLUMNS]; TILE_ROWS];
    for head in 0..heads {
        lay_out(qkv, stride, hidden + head * size, size, room);
        for row in (0..tokens).step_by(T::ROWS) {
            let rows = T::ROWS.min(tokens - row);
            let queries = Rows { values: &qkv[row * stride + head * size..], stride };
            let mut block = 0;
            while block < blocks {
                let panels = if block + T::PANELS <= blocks { T::PANELS } else { 1 };
                // SAFETY: the caller's.
                unsafe { T::floats::<false>(rows, panels, queries, &room.keys[block * size..], size, &mut products) };
                for (weights, products) in room.weights.chunks_exact_mut(width).zip(&products[..rows]) {
                    weights[block * LANES..][..panels * LANES].copy_from_slice(&products[..panels * LANES]);
                }
                block += panels;
            }
            let mut shares = [0.0_f32; TILE_ROWS];
            for (weights, share) in room.weights.chunks_exact_mut(width).zip(&mut shares[..rows]) {
                *share = 1.0 / exponentials(&mut weights[..tokens]);
            }
            let weights = Rows { values: &room.weights, stride: width };
            let mut part = 0;
            while part < parts {
                let panels = if part + T::PANELS <= parts { T::PANELS } else { 1 };
                // SAFETY: the caller's.
                unsafe {
                    T::floats::<false>(rows, panels, weights, &room.values[part * tokens..], tokens, &mut products)
                };
                let columns = part * LANES..size.min((part + panels) * LANES);
                for index in 0..rows {
                    let at = (row + index) * hidden + head * size;
                    let out = &mut context[at + columns.start..at + columns.end];
                    for (value, product) in out.iter_mut().zip(&products[index]) {
                        *value = product * shares[index];
                    }
                }
                part += panels;
            }
        }
    }
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
            room.values[part * tokens + token].0[..values.len()].copy_from_slice(values);
        }
    }
}
