//! A BERT-family text encoder: windows of tokens in, unit vectors out (Devlin et al. 2019, arXiv:1810.04805).
//!
//! Weights are kept as bytes or as floats. Bytes have one scale for each output, activations are quantised token by
//! token as they come, products are summed as integers, and everything between is arranged so that each instruction
//! set takes the same floats in the same order: with bytes, every set gives the same bits. With floats, sets that
//! multiply and add at once differ from the portable one in the last bits. A window's vector never depends on what is
//! embedded beside it, nor on the number of threads.

mod attention;
mod dense;
mod elementwise;
mod forward;
#[cfg(test)]
mod tests;
pub(crate) mod tiles;
mod weights;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::instructions::InstructionSet;
use forward::Pass;
use weights::{Model, MOST_INPUTS};

/// Tokens that are carried through all layers together, about: their values stay in the second-level cache, and each
/// weight that is read serves all of them.
const PACK_TOKENS: usize = 256;

/// The activation of the feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The exact Gaussian error linear unit.
    Gelu,
    /// Zero for what is below.
    Relu,
}

/// How the vectors of the tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// That of the first.
    Cls,
    /// That of the first, as long as it is: what a head reads on top of the encoder.
    Unscaled,
}

/// The shape of a model; sizes are at least 1, and `heads` divides `hidden`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Rows of the word embedding.
    pub vocabulary: usize,
    /// Length of a token's vector, and of the result.
    pub hidden: usize,
    /// Number of encoder layers.
    pub layers: usize,
    /// Attention heads in each.
    pub heads: usize,
    /// Width of the feed-forward part.
    pub intermediate: usize,
    /// The most tokens of a window.
    pub positions: usize,
    /// What layer normalisation adds to the variance.
    pub epsilon: f32,
    /// The activation of the feed-forward part.
    pub activation: Activation,
    /// How the vectors of the tokens become one.
    pub pooling: Pooling,
}

/// Why there is no encoder, or no vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncoderError {
    /// The numbers are the shape of no model.
    NoShape,
    /// In bytes, a sum over so many inputs could overflow.
    TooWide {
        /// How many inputs.
        inputs: usize,
    },
    /// A tensor is not there.
    Absent {
        /// Its name.
        name: String,
    },
    /// A tensor has another number of values.
    WrongSize {
        /// Its name.
        name: String,
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A tensor holds something infinite or not a number.
    NotFinite {
        /// Its name.
        name: String,
    },
    /// The lengths of the windows do not add up to the number of tokens, or the room is not for as many vectors.
    Lengths,
    /// A window has no tokens, or more than the model takes.
    WindowSize {
        /// How many it has.
        tokens: usize,
        /// The most the model takes.
        most: usize,
    },
    /// A token is not in the vocabulary.
    UnknownToken {
        /// The token.
        id: i64,
        /// Size of the vocabulary.
        vocabulary: usize,
    },
}

impl fmt::Display for EncoderError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoShape => write!(out, "sizes must be at least 1, and the attention heads divide the hidden size"),
            Self::TooWide { inputs } => {
                write!(out, "a matrix of {inputs} inputs cannot be computed in bytes, only up to {MOST_INPUTS}")
            }
            Self::Absent { name } => write!(out, "the tensor {name} is absent"),
            Self::WrongSize { name, found, expected } => {
                write!(out, "the tensor {name} has {found} values, expected {expected}")
            }
            Self::NotFinite { name } => write!(out, "the tensor {name} holds a value that is not finite"),
            Self::Lengths => write!(out, "the lengths of the windows do not add up to the number of token ids"),
            Self::WindowSize { tokens, most } => {
                write!(out, "a window of {tokens} tokens; the model takes 1 to {most}")
            }
            Self::UnknownToken { id, vocabulary } => {
                write!(out, "the token id {id} is outside the vocabulary of {vocabulary}")
            }
        }
    }
}

impl std::error::Error for EncoderError {}

/// A model, ready to encode. It keeps no room between calls: any thread may encode, and nothing leaks across.
pub struct Encoder {
    model: Model,
}

impl Encoder {
    /// Lay out a model's weights, as bytes or as floats.
    ///
    /// `tensors` gives a tensor's values, row-major, by the name and in the layout that `transformers` has for it.
    ///
    /// # Errors
    ///
    /// All of [`EncoderError`] that is about shapes and tensors.
    pub fn new<'a>(
        config: Config,
        in_bytes: bool,
        tensors: impl Fn(&str) -> Option<&'a [f32]>,
    ) -> Result<Self, EncoderError> {
        Ok(Self { model: Model::new(config, in_bytes, tensors)? })
    }

    /// The shape of the model.
    pub fn config(&self) -> &Config {
        &self.model.config
    }

    /// Embed windows: `vectors` receives a vector for each, of unit length unless unscaled, `(windows, hidden)`, row-major.
    ///
    /// `ids` are the tokens of all windows, one behind the other, special ones included and nothing padded; `lengths`
    /// says how many each window has. Up to `threads` threads share the work, by windows. An instruction set that
    /// this processor has not got is replaced by the portable one.
    ///
    /// # Errors
    ///
    /// All of [`EncoderError`] that is about windows, before anything is computed.
    pub fn encode(
        &self,
        set: InstructionSet,
        ids: &[i64],
        lengths: &[usize],
        threads: usize,
        vectors: &mut [f32],
    ) -> Result<(), EncoderError> {
        let config = self.config();
        if vectors.len() != lengths.len() * config.hidden {
            return Err(EncoderError::Lengths);
        }
        let windows = cut(ids, lengths, config)?;
        let packs = packs(&windows, threads);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut pass = Pass::new(&self.model);
            let mut done = Vec::new();
            while let Some(pack) = packs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let tokens: Vec<&[i64]> = pack.iter().map(|window| windows[*window]).collect();
                done.push((pack, pass.run(set, &tokens)));
            }
            done
        };
        let mut keep = |done: Vec<(&Vec<usize>, Vec<f32>)>| {
            for (pack, found) in done {
                for (window, vector) in pack.iter().zip(found.chunks_exact(config.hidden)) {
                    vectors[window * config.hidden..][..config.hidden].copy_from_slice(vector);
                }
            }
        };
        let threads = threads.clamp(1, packs.len().max(1));
        if threads == 1 {
            keep(work());
            return Ok(());
        }
        std::thread::scope(|scope| {
            // Where the system gives no more threads, those that are there do all of it.
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
            let others: Vec<_> = (1..threads).map_while(spawn).collect();
            keep(work());
            for other in others {
                match other.join() {
                    Ok(done) => keep(done),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        Ok(())
    }
}

/// The tokens of each window, checked.
fn cut<'a>(ids: &'a [i64], lengths: &[usize], config: &Config) -> Result<Vec<&'a [i64]>, EncoderError> {
    let mut rest = ids;
    let mut windows = Vec::with_capacity(lengths.len());
    for &tokens in lengths {
        if tokens == 0 || tokens > config.positions {
            return Err(EncoderError::WindowSize { tokens, most: config.positions });
        }
        let (window, after) = rest.split_at_checked(tokens).ok_or(EncoderError::Lengths)?;
        windows.push(window);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(EncoderError::Lengths);
    }
    let known = |id: &&i64| usize::try_from(**id).is_ok_and(|id| id < config.vocabulary);
    match ids.iter().find(|id| !known(id)) {
        Some(&id) => Err(EncoderError::UnknownToken { id, vocabulary: config.vocabulary }),
        None => Ok(windows),
    }
}

/// Which windows are computed together: as few packs as hold them and give every thread as many, of about as many
/// tokens each, so that threads end at about the same time. The longest come first, each to the pack that has least.
fn packs(windows: &[&[i64]], threads: usize) -> Vec<Vec<usize>> {
    let all: usize = windows.iter().map(|window| window.len()).sum();
    let count = all.div_ceil(PACK_TOKENS).next_multiple_of(threads.clamp(1, windows.len().max(1)));
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by_key(|window| std::cmp::Reverse(windows[*window].len()));
    let mut packs = vec![(0, Vec::new()); count];
    for window in order {
        if let Some((tokens, pack)) = packs.iter_mut().min_by_key(|(tokens, _)| *tokens) {
            *tokens += windows[window].len();
            pack.push(window);
        }
    }
    packs.into_iter().map(|(_, pack)| pack).filter(|pack| !pack.is_empty()).collect()
}
