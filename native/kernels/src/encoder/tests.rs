//! What has to hold whatever the model: on every instruction set, beside other windows, in any number of threads.

use std::collections::HashMap;

use super::{packs, Activation, Config, Encoder, EncoderError, Pooling, PACK_TOKENS};
use crate::instructions::InstructionSet;

/// Shapes that fill panels, tiles and steps, and shapes that fill none of them.
const SHAPES: [(usize, usize, usize, usize); 5] =
    [(64, 4, 128, 40), (48, 3, 100, 33), (7, 7, 5, 21), (1, 1, 1, 4), (130, 10, 258, 70)];

fn config(shape: (usize, usize, usize, usize), activation: Activation, pooling: Pooling) -> Config {
    let (hidden, heads, intermediate, positions) = shape;
    Config { vocabulary: 50, hidden, layers: 2, heads, intermediate, positions, epsilon: 1e-12, activation, pooling }
}

/// Tensors of a model, drawn by a linear congruential generator, the same on every machine.
fn tensors(config: &Config) -> HashMap<String, Vec<f32>> {
    let (hidden, wide) = (config.hidden, config.intermediate);
    let mut sizes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), config.vocabulary * hidden),
        ("embeddings.position_embeddings.weight".to_owned(), config.positions * hidden),
        ("embeddings.token_type_embeddings.weight".to_owned(), 2 * hidden),
        ("embeddings.LayerNorm.weight".to_owned(), hidden),
        ("embeddings.LayerNorm.bias".to_owned(), hidden),
    ];
    for layer in 0..config.layers {
        for (name, rows, columns) in [
            ("attention.self.query", hidden, hidden),
            ("attention.self.key", hidden, hidden),
            ("attention.self.value", hidden, hidden),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", wide, hidden),
            ("output.dense", hidden, wide),
        ] {
            sizes.push((format!("encoder.layer.{layer}.{name}.weight"), rows * columns));
            sizes.push((format!("encoder.layer.{layer}.{name}.bias"), rows));
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            sizes.push((format!("encoder.layer.{layer}.{name}.weight"), hidden));
            sizes.push((format!("encoder.layer.{layer}.{name}.bias"), hidden));
        }
    }
    let mut state = 17_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    sizes.into_iter().map(|(name, size)| (name, (0..size).map(|_| next()).collect())).collect()
}

fn encoder(config: Config, in_bytes: bool) -> Result<Encoder, EncoderError> {
    let tensors = tensors(&config);
    Encoder::new(config, in_bytes, |name| tensors.get(name).map(Vec::as_slice))
}

fn encode(
    encoder: &Encoder,
    set: InstructionSet,
    windows: &[Vec<i64>],
    threads: usize,
) -> Result<Vec<f32>, EncoderError> {
    let lengths: Vec<usize> = windows.iter().map(Vec::len).collect();
    let mut vectors = vec![0.0; windows.len() * encoder.config().hidden];
    encoder.encode(set, &windows.concat(), &lengths, threads, &mut vectors)?;
    Ok(vectors)
}

/// Windows of all lengths up to the most, their tokens in no order.
fn windows(config: &Config) -> Vec<Vec<i64>> {
    let token = |window: usize, place: usize| ((window * 31 + place * 7) % config.vocabulary) as i64;
    (1..=config.positions).map(|size| (0..size).map(|place| token(size, place)).collect()).collect()
}

#[test]
fn with_bytes_every_instruction_set_gives_the_same_bits() -> Result<(), EncoderError> {
    for shape in SHAPES {
        for (activation, pooling) in [(Activation::Gelu, Pooling::Mean), (Activation::Relu, Pooling::Cls)] {
            let encoder = encoder(config(shape, activation, pooling), true)?;
            let windows = windows(encoder.config());
            let expected = encode(&encoder, InstructionSet::Portable, &windows, 1)?;
            for set in InstructionSet::available() {
                assert_eq!(encode(&encoder, set, &windows, 1)?, expected, "{set:?} {shape:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn what_is_not_scaled_points_where_the_first_token_points() -> Result<(), EncoderError> {
    for in_bytes in [false, true] {
        let of = |pooling| encoder(config(SHAPES[1], Activation::Gelu, pooling), in_bytes);
        let (unit, whole) = (of(Pooling::Cls)?, of(Pooling::Unscaled)?);
        let windows = windows(unit.config());
        let (expected, found) = (
            encode(&unit, InstructionSet::Portable, &windows, 1)?,
            encode(&whole, InstructionSet::Portable, &windows, 1)?,
        );
        let hidden = unit.config().hidden;
        for (one, other) in expected.chunks_exact(hidden).zip(found.chunks_exact(hidden)) {
            let length = other.iter().map(|value| value * value).sum::<f32>().sqrt();
            assert!((length - 1.0).abs() > 1e-3);
            assert!(one.iter().zip(other).all(|(unit, value)| (unit * length - value).abs() < 1e-4));
        }
    }
    Ok(())
}

#[test]
fn with_floats_the_instruction_sets_agree_closely() -> Result<(), EncoderError> {
    for shape in SHAPES {
        let encoder = encoder(config(shape, Activation::Gelu, Pooling::Mean), false)?;
        let windows = windows(encoder.config());
        let expected = encode(&encoder, InstructionSet::Portable, &windows, 1)?;
        for set in InstructionSet::available() {
            for (found, value) in encode(&encoder, set, &windows, 1)?.iter().zip(&expected) {
                assert!((found - value).abs() < 2e-5, "{set:?} {shape:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_window_has_the_same_bits_alone_and_in_any_company_and_number_of_threads() -> Result<(), EncoderError> {
    for in_bytes in [true, false] {
        let encoder = encoder(config(SHAPES[1], Activation::Gelu, Pooling::Mean), in_bytes)?;
        let windows = windows(encoder.config());
        for set in InstructionSet::available() {
            let together = encode(&encoder, set, &windows, 1)?;
            for threads in [2, 3, 100] {
                assert_eq!(encode(&encoder, set, &windows, threads)?, together);
            }
            for (window, vector) in windows.iter().zip(together.chunks_exact(encoder.config().hidden)) {
                assert_eq!(encode(&encoder, set, std::slice::from_ref(window), 1)?, vector);
                let length: f32 = vector.iter().map(|value| value * value).sum();
                assert!((length - 1.0).abs() < 1e-5);
            }
        }
    }
    Ok(())
}

#[test]
fn bytes_stay_near_floats() -> Result<(), EncoderError> {
    let config = config(SHAPES[0], Activation::Gelu, Pooling::Mean);
    let (bytes, floats) = (encoder(config, true)?, encoder(config, false)?);
    let windows = windows(&config);
    let set = InstructionSet::detect();
    let (near, exact) = (encode(&bytes, set, &windows, 1)?, encode(&floats, set, &windows, 1)?);
    for (near, exact) in near.chunks_exact(config.hidden).zip(exact.chunks_exact(config.hidden)) {
        let cosine: f32 = near.iter().zip(exact).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.99, "{cosine}");
    }
    Ok(())
}

#[test]
fn no_windows_are_no_work() -> Result<(), EncoderError> {
    let encoder = encoder(config(SHAPES[0], Activation::Gelu, Pooling::Mean), true)?;
    assert_eq!(encode(&encoder, InstructionSet::detect(), &[], 4)?, Vec::<f32>::new());
    Ok(())
}

#[test]
fn windows_that_cannot_be_are_refused_by_what_is_wrong() -> Result<(), EncoderError> {
    let encoder = encoder(config(SHAPES[1], Activation::Gelu, Pooling::Mean), true)?;
    let tried = |ids: &[i64], lengths: &[usize], room: usize| {
        encoder.encode(InstructionSet::detect(), ids, lengths, 1, &mut vec![0.0; room])
    };
    assert_eq!(tried(&[], &[0], 48), Err(EncoderError::WindowSize { tokens: 0, most: 33 }));
    assert_eq!(tried(&[1; 34], &[34], 48), Err(EncoderError::WindowSize { tokens: 34, most: 33 }));
    assert_eq!(tried(&[50], &[1], 48), Err(EncoderError::UnknownToken { id: 50, vocabulary: 50 }));
    assert_eq!(tried(&[-1], &[1], 48), Err(EncoderError::UnknownToken { id: -1, vocabulary: 50 }));
    assert_eq!(tried(&[1, 2], &[1], 48), Err(EncoderError::Lengths));
    assert_eq!(tried(&[1], &[2], 48), Err(EncoderError::Lengths));
    assert_eq!(tried(&[1], &[1], 47), Err(EncoderError::Lengths));
    Ok(())
}

#[test]
fn a_model_that_is_not_whole_is_refused_by_the_tensor() {
    let config = config(SHAPES[2], Activation::Gelu, Pooling::Mean);
    for name in tensors(&config).keys() {
        let with = |change: &dyn Fn(&mut Vec<f32>)| {
            let mut tensors = tensors(&config);
            if let Some(tensor) = tensors.get_mut(name) {
                change(tensor);
            }
            let made = Encoder::new(config, true, |name| {
                tensors.get(name).filter(|tensor| !tensor.is_empty()).map(Vec::as_slice)
            });
            made.err()
        };
        assert_eq!(with(&|tensor| tensor.clear()), Some(EncoderError::Absent { name: name.clone() }));
        let found = with(&|tensor| tensor.push(0.0));
        assert!(matches!(found, Some(EncoderError::WrongSize { name: wrong, .. }) if &wrong == name));
        for bad in [f32::NAN, f32::INFINITY] {
            let found = with(&|tensor| tensor[0] = bad);
            assert_eq!(found, Some(EncoderError::NotFinite { name: name.clone() }));
        }
    }
    for shape in [(0, 1, 1, 1), (8, 3, 1, 1), (8, 0, 1, 1), (8, 2, 0, 1), (8, 2, 1, 0)] {
        let config = self::config(shape, Activation::Gelu, Pooling::Mean);
        assert_eq!(Encoder::new(config, true, |_| None).err(), Some(EncoderError::NoShape));
    }
}

#[test]
fn in_bytes_a_matrix_that_could_overflow_is_refused() {
    let config = config((8, 2, 66_312, 4), Activation::Gelu, Pooling::Mean);
    assert_eq!(Encoder::new(config, true, |_| None).err(), Some(EncoderError::TooWide { inputs: 66_312 }));
    let absent = Encoder::new(config, false, |_| None).err();
    assert!(matches!(absent, Some(EncoderError::Absent { .. })));
}

#[test]
fn what_overflows_on_the_way_gives_no_plausible_vector() -> Result<(), EncoderError> {
    let config = config(SHAPES[1], Activation::Gelu, Pooling::Mean);
    for part in ["attention.self.query", "attention.self.value", "intermediate.dense", "output.dense"] {
        for in_bytes in [true, false] {
            let mut tensors = tensors(&config);
            for (name, tensor) in &mut tensors {
                if name.contains(part) && name.ends_with("weight") {
                    tensor.iter_mut().for_each(|value| *value *= 3e38);
                }
            }
            let encoder = Encoder::new(config, in_bytes, |name| tensors.get(name).map(Vec::as_slice))?;
            for set in InstructionSet::available() {
                let vector = encode(&encoder, set, &[vec![1, 2, 3]], 1)?;
                assert!(vector.iter().any(|value| value.is_nan()), "{part} {set:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn every_window_is_in_one_pack_and_every_thread_has_as_many_of_about_as_many_tokens() {
    let ids = [0_i64; 128];
    for (count, threads) in [(0, 1), (1, 4), (3, 2), (14, 2), (40, 1), (40, 3), (200, 8)] {
        let windows: Vec<&[i64]> = (0..count).map(|number| &ids[..1 + number * 37 % 90]).collect();
        let tokens = |pack: &Vec<usize>| pack.iter().map(|window| windows[*window].len()).sum::<usize>();
        let packs = packs(&windows, threads);
        let mut held: Vec<usize> = packs.concat();
        held.sort_unstable();
        assert_eq!(held, (0..count).collect::<Vec<_>>());
        assert!(packs.iter().all(|pack| !pack.is_empty() && tokens(pack) <= PACK_TOKENS + 90));
        assert_eq!(packs.len() % threads.min(count.max(1)), 0, "{count} windows, {threads} threads");
        let sizes: Vec<usize> = packs.iter().map(tokens).collect();
        let spread = sizes.iter().max().unwrap_or(&0) - sizes.iter().min().unwrap_or(&0);
        assert!(spread <= 90, "{count} windows, {threads} threads: {sizes:?}");
    }
}
