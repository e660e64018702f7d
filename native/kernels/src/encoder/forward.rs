//! One pass: a few windows through all layers together.

use super::attention::{attend, Room as AttentionRoom};
use super::dense::{Room as DenseRoom, Sink};
use super::elementwise::{gelu, normalise, put, relu, to_unit};
#[cfg(target_arch = "x86_64")]
use super::tiles::{Avx2, Avx512, AvxVnni};
use super::tiles::{Portable, Tiles, LANES};
use super::weights::Model;
use super::{Activation, Pooling};
use crate::instructions::InstructionSet;

/// Tokens whose feed-forward part is computed at once: what lies between its two matrices (64 x 1536 floats in MiniLM)
/// and the weights of both then share the second-level cache.
const BLOCK_TOKENS: usize = 64;

/// A model and the room that a pass needs; one for each thread, dropped with the call.
pub(super) struct Pass<'a> {
    model: &'a Model,
    x: Vec<f32>,
    qkv: Vec<f32>,
    context: Vec<f32>,
    wide: Vec<f32>,
    dense: DenseRoom,
    attention: AttentionRoom,
}

impl<'a> Pass<'a> {
    pub(super) fn new(model: &'a Model) -> Self {
        let (dense, attention) = (DenseRoom::default(), AttentionRoom::default());
        Self { model, x: vec![], qkv: vec![], context: vec![], wide: vec![], dense, attention }
    }

    /// A unit vector for each window, one behind the other. The tokens were checked.
    pub(super) fn run(&mut self, set: InstructionSet, windows: &[&[i64]]) -> Vec<f32> {
        match set {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the set, as just asked.
            InstructionSet::Avx512 if set.is_available() => unsafe { self.run_avx512(windows) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            InstructionSet::AvxVnni if set.is_available() => unsafe { self.run_avxvnni(windows) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            InstructionSet::Avx2 if set.is_available() => unsafe { self.run_avx2(windows) },
            // SAFETY: every processor has it.
            _ => unsafe { self.run_as::<Portable>(windows) },
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    unsafe fn run_avx512(&mut self, windows: &[&[i64]]) -> Vec<f32> {
        // SAFETY: the caller's.
        unsafe { self.run_as::<Avx512>(windows) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,avxvnni")]
    unsafe fn run_avxvnni(&mut self, windows: &[&[i64]]) -> Vec<f32> {
        // SAFETY: the caller's.
        unsafe { self.run_as::<AvxVnni>(windows) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn run_avx2(&mut self, windows: &[&[i64]]) -> Vec<f32> {
        // SAFETY: the caller's.
        unsafe { self.run_as::<Avx2>(windows) }
    }

    /// # Safety
    ///
    /// The processor has the instruction set `T`.
    #[inline(always)]
    unsafe fn run_as<T: Tiles>(&mut self, windows: &[&[i64]]) -> Vec<f32> {
        let hidden = self.model.config.hidden;
        let tokens: usize = windows.iter().map(|window| window.len()).sum();
        self.x.resize(tokens * hidden, 0.0);
        self.context.resize(tokens * hidden, 0.0);
        self.qkv.resize(tokens * 3 * hidden, 0.0);
        self.embed(windows);
        for layer in 0..self.model.layers.len() {
            // SAFETY: the caller's.
            unsafe { self.advance::<T>(layer, windows) };
        }
        self.pool(windows)
    }

    #[inline(always)]
    fn embed(&mut self, windows: &[&[i64]]) {
        let (model, hidden) = (self.model, self.model.config.hidden);
        let tokens = windows.iter().flat_map(|window| window.iter().enumerate());
        for ((position, token), row) in tokens.zip(self.x.chunks_exact_mut(hidden)) {
            model.embed(*token as usize, position, row);
            normalise(row, &model.norm.gain, &model.norm.bias, model.config.epsilon);
        }
    }

    /// Carry all tokens through a layer, in place.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set `T`.
    #[inline(always)]
    unsafe fn advance<T: Tiles>(&mut self, layer: usize, windows: &[&[i64]]) {
        let (config, layer) = (&self.model.config, &self.model.layers[layer]);
        let (hidden, intermediate) = (config.hidden, config.intermediate);
        let tokens = self.x.len() / hidden;
        let mut store = Store { out: &mut self.qkv, width: 3 * hidden };
        // SAFETY: the caller's, here and below.
        unsafe { layer.qkv.apply::<T>(&self.x, tokens, &mut self.dense, &mut store) };
        let mut at = 0;
        for window in windows {
            let (from, to) = (at * hidden, (at + window.len()) * hidden);
            let context = &mut self.context[from..to];
            // SAFETY: as above.
            unsafe { attend::<T>(&self.qkv[3 * from..3 * to], config.heads, hidden, &mut self.attention, context) };
            at += window.len();
        }
        let mut add = Add { out: &mut self.x, width: hidden };
        // SAFETY: as above.
        unsafe { layer.mix.apply::<T>(&self.context, tokens, &mut self.dense, &mut add) };
        self.wide.resize(BLOCK_TOKENS.min(tokens) * intermediate, 0.0);
        for block in self.x.chunks_mut(BLOCK_TOKENS * hidden) {
            for row in block.chunks_exact_mut(hidden) {
                normalise(row, &layer.mix_norm.gain, &layer.mix_norm.bias, config.epsilon);
            }
            let rows = block.len() / hidden;
            let wide = &mut self.wide[..rows * intermediate];
            let mut activate = Activate { out: wide, width: intermediate, activation: config.activation };
            // SAFETY: as above.
            unsafe { layer.widen.apply::<T>(block, rows, &mut self.dense, &mut activate) };
            let mut add = Add { out: block, width: hidden };
            // SAFETY: as above.
            unsafe { layer.narrow.apply::<T>(&self.wide[..rows * intermediate], rows, &mut self.dense, &mut add) };
            for row in block.chunks_exact_mut(hidden) {
                normalise(row, &layer.narrow_norm.gain, &layer.narrow_norm.bias, config.epsilon);
            }
        }
    }

    #[inline(always)]
    fn pool(&self, windows: &[&[i64]]) -> Vec<f32> {
        let hidden = self.model.config.hidden;
        let mut vectors = vec![0.0; windows.len() * hidden];
        let mut rows = self.x.chunks_exact(hidden);
        for (window, vector) in windows.iter().zip(vectors.chunks_exact_mut(hidden)) {
            for (number, row) in rows.by_ref().take(window.len()).enumerate() {
                if number == 0 || self.model.config.pooling == Pooling::Mean {
                    for (sum, value) in vector.iter_mut().zip(row) {
                        *sum += value; // the mean's divisor goes with the length
                    }
                }
            }
            if self.model.config.pooling != Pooling::Unscaled {
                to_unit(vector);
            }
        }
        vectors
    }
}

/// Sixteen values of a row from a column on, fewer at its end; rows are `width` long.
#[inline(always)]
fn stretch(out: &mut [f32], width: usize, row: usize, column: usize) -> &mut [f32] {
    &mut out[row * width + column..][..LANES.min(width - column)]
}

/// Puts the outputs where they belong.
struct Store<'a> {
    out: &'a mut [f32],
    width: usize,
}

impl Sink for Store<'_> {
    #[inline(always)]
    fn take(&mut self, row: usize, column: usize, values: &mut [f32; LANES]) {
        put(values, stretch(self.out, self.width, row, column));
    }
}

/// Adds them to what is there: the residual connection.
struct Add<'a> {
    out: &'a mut [f32],
    width: usize,
}

impl Sink for Add<'_> {
    #[inline(always)]
    fn take(&mut self, row: usize, column: usize, values: &mut [f32; LANES]) {
        let out = stretch(self.out, self.width, row, column);
        match out.first_chunk_mut::<LANES>() {
            Some(whole) => (0..LANES).for_each(|lane| whole[lane] += values[lane]),
            None => out.iter_mut().zip(values).for_each(|(sum, value)| *sum += *value),
        }
    }
}

/// Puts them where they belong, activated.
struct Activate<'a> {
    out: &'a mut [f32],
    width: usize,
    activation: Activation,
}

impl Sink for Activate<'_> {
    #[inline(always)]
    fn take(&mut self, row: usize, column: usize, values: &mut [f32; LANES]) {
        match self.activation {
            Activation::Gelu => gelu(values),
            Activation::Relu => relu(values),
        }
        put(values, stretch(self.out, self.width, row, column));
    }
}
