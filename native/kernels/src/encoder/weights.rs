//! A model's weights, checked and laid out.

use super::dense::Dense;
use super::elementwise::{all_finite, quantise_evenly};
use super::{Config, EncoderError};

/// The most inputs whose products, of bytes up to 255 and 127, add up in 32 bits.
pub(super) const MOST_INPUTS: usize = i32::MAX as usize / (255 * 127);

/// Layer normalisation's weights.
pub(super) struct Norm {
    pub gain: Vec<f32>,
    pub bias: Vec<f32>,
}

/// One encoder layer, post-norm.
pub(super) struct Layer {
    pub qkv: Dense,
    pub mix: Dense,
    pub mix_norm: Norm,
    pub widen: Dense,
    pub narrow: Dense,
    pub narrow_norm: Norm,
}

/// The word embeddings: as bytes with what one is worth in each row, or as floats.
enum Words {
    Bytes(Vec<i8>, Vec<f32>),
    Floats(Vec<f32>),
}

/// All of a model.
pub(super) struct Model {
    pub config: Config,
    words: Words,
    /// A window is one segment: the embedding of segment 0, the same for every token, is added to the positions.
    positions: Vec<f32>,
    pub norm: Norm,
    pub layers: Vec<Layer>,
}

impl Model {
    pub(super) fn new<'a>(
        config: Config,
        in_bytes: bool,
        tensors: impl Fn(&str) -> Option<&'a [f32]>,
    ) -> Result<Self, EncoderError> {
        let Config { vocabulary, hidden, layers, heads, intermediate, positions, .. } = config;
        if [vocabulary, hidden, layers, heads, intermediate, positions].contains(&0) || hidden % heads != 0 {
            return Err(EncoderError::NoShape);
        }
        if in_bytes && hidden.max(intermediate) > MOST_INPUTS {
            return Err(EncoderError::TooWide { inputs: hidden.max(intermediate) });
        }
        let tensor = |name: String, rows: usize, columns: usize| {
            let values = tensors(&name).ok_or_else(|| EncoderError::Absent { name: name.clone() })?;
            match rows.checked_mul(columns) {
                Some(expected) if expected == values.len() => {}
                expected => {
                    let expected = expected.unwrap_or(usize::MAX);
                    return Err(EncoderError::WrongSize { name, found: values.len(), expected });
                }
            }
            if !all_finite(values) {
                return Err(EncoderError::NotFinite { name });
            }
            Ok(values)
        };
        let row = |name: String| tensor(name, 1, hidden).map(<[f32]>::to_vec);
        let norm = |name: String| Ok(Norm { gain: row(format!("{name}.weight"))?, bias: row(format!("{name}.bias"))? });
        let dense = |name: String, outputs: usize, inputs: usize| {
            let weights = tensor(format!("{name}.weight"), outputs, inputs)?;
            let bias = tensor(format!("{name}.bias"), 1, outputs)?;
            Ok(Dense::new(weights, bias, inputs, in_bytes))
        };
        let layer = |number: usize| {
            let prefix = format!("encoder.layer.{number}");
            let attention = |part: &str| format!("{prefix}.attention.{part}");
            let scale = 1.0 / ((hidden / heads) as f32).sqrt(); // queries come out scaled
            let (mut weights, mut bias) = (Vec::new(), Vec::new());
            for (part, scale) in [("self.query", scale), ("self.key", 1.0), ("self.value", 1.0)] {
                let scaled = |value: &f32| value * scale;
                let matrix = tensor(attention(&format!("{part}.weight")), hidden, hidden)?;
                weights.reserve_exact(3 * matrix.len() - weights.len()); // as much as is there, and no more
                weights.extend(matrix.iter().map(scaled));
                bias.extend(tensor(attention(&format!("{part}.bias")), 1, hidden)?.iter().map(scaled));
            }
            Ok(Layer {
                qkv: Dense::new(&weights, &bias, hidden, in_bytes),
                mix: dense(attention("output.dense"), hidden, hidden)?,
                mix_norm: norm(attention("output.LayerNorm"))?,
                widen: dense(format!("{prefix}.intermediate.dense"), intermediate, hidden)?,
                narrow: dense(format!("{prefix}.output.dense"), hidden, intermediate)?,
                narrow_norm: norm(format!("{prefix}.output.LayerNorm"))?,
            })
        };
        let embedding = |part: &str| format!("embeddings.{part}.weight");
        let words = tensor(embedding("word_embeddings"), vocabulary, hidden)?;
        let mut places = tensor(embedding("position_embeddings"), positions, hidden)?.to_vec();
        let segment = &tensor(embedding("token_type_embeddings"), 2, hidden)?[..hidden];
        for place in places.chunks_exact_mut(hidden) {
            for (value, more) in place.iter_mut().zip(segment) {
                *value += more;
            }
        }
        Ok(Self {
            config,
            words: Words::new(words, hidden, in_bytes),
            positions: places,
            norm: norm("embeddings.LayerNorm".to_owned())?,
            layers: (0..layers).map(layer).collect::<Result<_, EncoderError>>()?,
        })
    }

    /// Write what a token is before the first layer, not normalised yet. The token was checked.
    #[inline(always)]
    pub(super) fn embed(&self, token: usize, position: usize, out: &mut [f32]) {
        let hidden = out.len();
        let place = &self.positions[position * hidden..][..hidden];
        match &self.words {
            Words::Floats(words) => {
                for ((value, word), place) in out.iter_mut().zip(&words[token * hidden..][..hidden]).zip(place) {
                    *value = word + place;
                }
            }
            Words::Bytes(words, worth) => {
                let worth = worth[token];
                for ((value, word), place) in out.iter_mut().zip(&words[token * hidden..][..hidden]).zip(place) {
                    *value = f32::from(*word) * worth + place;
                }
            }
        }
    }
}

impl Words {
    fn new(words: &[f32], hidden: usize, in_bytes: bool) -> Self {
        if !in_bytes {
            return Self::Floats(words.to_vec());
        }
        let mut bytes = vec![0; words.len()];
        let rows = words.chunks_exact(hidden).zip(bytes.chunks_exact_mut(hidden));
        let worth = rows.map(|(word, row)| quantise_evenly(word, row)).collect();
        Self::Bytes(bytes, worth)
    }
}
