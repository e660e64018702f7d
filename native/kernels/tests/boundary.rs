//! Whatever is handed in, of any lengths and values: no kernel panics, and all instruction sets say the same.

use std::fmt::Debug;

use mnemic_kernels::bits;
use mnemic_kernels::codes::{self, Coded};
use mnemic_kernels::encoder::{Activation, Config, Encoder, Pooling};
use mnemic_kernels::graph::{Graph, Walk};
use mnemic_kernels::instructions::InstructionSet;
use mnemic_kernels::inverted::{Groups, InvertedIndex, Search};
use mnemic_kernels::scan;
use proptest::collection::vec;
use proptest::prelude::*;

/// Lengths around those that fill registers, tiles and words.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![0_usize..6, 14_usize..18, 62_usize..67]
}

/// Any float, most of them ordinary.
fn float() -> impl Strategy<Value = f32> {
    prop_oneof![8 => -2.0_f32..2.0, 1 => any::<f32>(), 1 => Just(0.0)]
}

/// Windows that can be: none empty, none too long, as many tokens as they have.
fn whole(ids: &[i64], lengths: &[usize]) -> (Vec<i64>, Vec<usize>) {
    let lengths: Vec<usize> = lengths.iter().map(|length| length.clamp(&1, &7)).copied().collect();
    let known = ids.iter().map(|id| id.rem_euclid(10)).chain(std::iter::repeat(3));
    (known.take(lengths.iter().sum()).collect(), lengths)
}

/// What each set makes of it, held against plain Rust.
fn alike<T: PartialEq + Debug>(compute: impl Fn(InstructionSet) -> T) -> Result<(), TestCaseError> {
    let expected = compute(InstructionSet::Portable);
    for set in InstructionSet::available() {
        prop_assert_eq!(&compute(set), &expected, "{:?}", set);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn inner_products_take_anything(vectors in vec(float(), 0..300), query in vec(float(), 0..40), rows in length()) {
        for set in InstructionSet::available() {
            let done = |set| scan::inner_products(set, &vectors, &query, &mut vec![0.0; rows]).is_ok();
            prop_assert_eq!(done(set), done(InstructionSet::Portable));
        }
    }

    #[test]
    fn an_inverted_index_takes_anything(
        rows in vec(any::<i64>(), 0..5), ends in vec(-3_i64..40, 0..5), codes in vec(0_u8..3, 0..40), fitting: bool,
        words in vec(vec(0_u64..4, 0..3), 0..3), positions in vec(any::<i64>(), 0..4),
        visible in vec(any::<bool>(), 0..5), of in vec(-1_i64..4, 0..5), count in 0_usize..4,
    ) {
        let mut ends: Vec<i64> = ends.iter().map(|end| if fitting { end.clamp(&0, &39) } else { end }).copied().collect();
        if fitting {
            ends.resize(rows.len(), 39);
            ends.sort_unstable();
            ends.last_mut().into_iter().for_each(|last| *last = codes.len() as i64);
            ends.iter_mut().for_each(|end| *end = (*end).min(codes.len() as i64));
        }
        let mut index = InvertedIndex::default();
        for _ in 0..2 {
            let before = index.documents();
            let done = index.append(&rows, &ends, &codes);
            prop_assert_eq!(index.documents() - before, if done.is_ok() { rows.len() } else { 0 });
        }
        let documents = index.documents();
        let fit = |given: &[bool]| given.iter().copied().cycle().take(documents).collect::<Vec<_>>();
        let visible = if fitting && !visible.is_empty() { fit(&visible) } else { visible };
        let lengths = vec![1; of.len()];
        let groups = (!fitting).then_some(Groups { of: &of, lengths: &lengths, count });
        let mut scores = vec![0.0; documents];
        if let Ok(found) = index.search(&words, &Search { visible: &visible, k1: 1.2, groups }, &mut scores) {
            prop_assert_eq!(found.holding.len(), words.len());
            prop_assert!(scores.iter().all(|score| score.is_finite() && *score >= 0.0));
        }
        prop_assert_eq!(index.counts_at(&words, &positions).len(), words.len() * positions.len());
        for word in &words {
            prop_assert!(index.postings(word).is_sorted());
        }
    }

    #[test]
    fn a_graph_takes_anything(
        keys in vec(0_u64..40, 0..6), ends in vec((-1_i64..6, -1_i64..6), 0..8), weights in vec(any::<f64>(), 0..8),
        fitting: bool, named in vec(0_u64..40, 0..4), labels in vec(any::<i64>(), 0..6), numbers: [f64; 3], seed: u64,
    ) {
        let mut keys = keys;
        let (mut sources, targets): (Vec<i64>, Vec<i64>) = ends.into_iter().unzip();
        let mut weights = weights;
        if fitting {
            keys.sort_unstable();
            keys.dedup();
            let inside = sources.iter().zip(&targets).all(|ends| *ends.0.min(ends.1) >= 0);
            sources.truncate(if inside { sources.len() } else { 0 });
            weights = weights.iter().map(|weight| weight.abs().min(1e6)).chain([1.0; 8]).take(sources.len()).collect();
        }
        let Ok(mut graph) = Graph::new(&keys, &sources, &targets[..sources.len()], &weights) else { return Ok(()) };
        let [resolution, damping, epsilon] = numbers;
        let _ = graph.pagerank(&named, &vec![epsilon; named.len()], Walk { damping, epsilon });
        let walk = Walk { damping: 0.5, epsilon: 0.01 };
        prop_assert!(graph.pagerank(&keys, &vec![1.0; keys.len()], walk).is_ok());
        let before = graph.nodes();
        let added = graph.add_nodes(&named).is_ok();
        prop_assert_eq!(graph.nodes() - before, if added { named.len() } else { 0 });
        let set = graph.set_edges(&named, &named, &vec![damping; named.len()]);
        let removed = graph.remove_nodes(&named[..named.len() / 2]);
        let changed = [set.unwrap_or_default(), removed.unwrap_or_default()].concat();
        for resolution in [resolution, 0.5] {
            let fresh = graph.detect(resolution, seed, 3);
            prop_assert_eq!(fresh.is_ok(), (0.0..=16384.0).contains(&resolution));
            let updated = graph.update(&labels, &changed, resolution, seed, 3);
            prop_assert_eq!(updated.is_ok(), fresh.is_ok() && labels.len() == graph.nodes());
            prop_assert_eq!(graph.quality(&labels, resolution).is_ok(), updated.is_ok());
        }
    }

    #[test]
    fn codes_take_anything(
        vectors in vec(float(), 0..400), dimensions in length(), rows in length(), fitting: bool,
        query in vec(-1.0_f32..1.0, 0..70), allowed in proptest::option::of(vec(any::<u64>(), 0..3)),
        rescore in length(),
    ) {
        let rows = if fitting && dimensions > 0 { vectors.len() / dimensions } else { rows };
        let vectors = if fitting { &vectors[..rows * dimensions] } else { &vectors[..] };
        let query: Vec<f32> = if fitting { query.iter().copied().cycle().take(dimensions).collect() } else { query };
        alike(|set| {
            let (mut codes, mut scales) = (vec![0; vectors.len()], vec![0.0; rows]);
            let made = codes::quantise(set, vectors, dimensions, &mut codes, &mut scales);
            let coded = Coded { vectors, codes: &codes, scales: &scales };
            let mut scores = vec![0.0; rows];
            let exact = codes::scores(set, coded, &query, allowed.as_deref(), rescore, &mut scores);
            let scored = codes::scores(set, coded, &query, allowed.as_deref(), 0, &mut scores);
            let bits: Vec<u32> = scores.iter().map(|score| score.to_bits()).collect();
            (made, codes.clone(), exact, scored.map(|()| bits))
        })?;
    }

    #[test]
    fn bits_take_anything(
        vectors in vec(any::<u64>(), 0..120), others in vec(any::<u64>(), 0..120), words in length(), fitting: bool,
        shift: i64, weight: i32, counters in vec(any::<i32>(), 0..200), total: i32, k in length(),
    ) {
        let rows = vectors.len().checked_div(words).unwrap_or(0);
        let vectors = if fitting { &vectors[..rows * words] } else { &vectors[..] };
        let query = &others[..words.min(others.len())];
        alike(|set| {
            let (mut bound, mut rotated) = (vec![0; vectors.len()], vec![0; vectors.len()]);
            let (mut bundled, mut voted) = (vec![0; query.len()], vec![0; query.len()]);
            let (mut distances, mut counted) = (vec![0; rows], counters.clone());
            let done = (
                bits::bind(set, vectors, query, words, &mut bound).is_ok(),
                bits::rotate(set, vectors, words, shift, &mut rotated).is_ok(),
                bits::bundle(set, vectors, query, &mut bundled).is_ok(),
                bits::count(set, vectors, weight, &mut counted).is_ok(),
                bits::majority(set, &counters, total, query, &mut voted).is_ok(),
                bits::distances(set, vectors, query, &mut distances).is_ok(),
                bits::nearest(set, vectors, query, k),
            );
            (done, bound, rotated, bundled, counted, voted, distances)
        })?;
    }

    #[test]
    fn groups_of_bits_take_anything(
        vectors in vec(any::<u64>(), 0..120), others in vec(any::<u64>(), 0..120), words in length(),
        offsets in vec(-1_i64..12, 0..6), rows in proptest::option::of(vec(-1_i64..12, 0..12)), fitting: bool,
    ) {
        let number = vectors.len().checked_div(words).unwrap_or(0);
        let vectors = if fitting { &vectors[..number * words] } else { &vectors[..] };
        let mut offsets = offsets;
        let mut rows = rows;
        if fitting {
            let members = rows.as_ref().map_or(number, Vec::len);
            rows.iter_mut().flatten().for_each(|row| *row = row.rem_euclid(number.max(1) as i64));
            offsets.iter_mut().for_each(|offset| *offset = offset.rem_euclid(members as i64 + 1));
            offsets.sort_unstable();
            offsets.insert(0, 0);
            offsets.push(members as i64);
        }
        let groups = bits::Groups { offsets: &offsets, rows: rows.as_deref() };
        let size = offsets.len().saturating_sub(1) * words;
        let ties: Vec<u64> = others.iter().copied().chain(0..).take(size).collect();
        let several = &others[..others.len().checked_div(words).unwrap_or(0) * words];
        alike(|set| {
            let (mut bundled, mut bound) = (vec![0; size], vec![0; size]);
            let mut distances = vec![0; number * several.len().checked_div(words).unwrap_or(0)];
            let done = (
                bits::bundle_groups(set, vectors, words, groups, &ties, &mut bundled),
                bits::bind_groups(set, vectors, words, groups, &mut bound),
                bits::distances_of(set, vectors, several, words, &mut distances),
            );
            (done, bundled, bound, distances)
        })?;
    }

    #[test]
    fn planes_take_any_embeddings(
        embeddings in vec(any::<i8>(), 0..300), signs in vec(any::<bool>(), 1..70), words in 0_usize..3,
        tie in vec(any::<u64>(), 2), odd in -1_i8..=1, fitting: bool,
    ) {
        let width = signs.len();
        let values = signs.iter().cycle().zip(0..64 * words * width);
        let mut normals: Vec<i8> = values.map(|(sign, at)| if *sign == (at % 5 < 3) { 1 } else { -1 }).collect();
        if let (Some(last), false) = (normals.last_mut(), fitting) {
            *last = odd;
        }
        let rows = embeddings.len() / width;
        let embeddings = if fitting { &embeddings[..rows * width] } else { &embeddings[..] };
        match bits::Planes::new(&normals, width) {
            Ok(planes) => alike(|set| {
                let mut sides = vec![0; rows * words];
                (planes.project(set, embeddings, &tie[..words], &mut sides), sides)
            })?,
            Err(_) => prop_assert!(words == 0 || odd == 0 && !fitting),
        }
    }

    #[test]
    fn an_encoder_takes_any_windows(
        ids in vec(-2_i64..12, 0..60), lengths in vec(0_usize..9, 0..12), fitting: bool, room in 0_usize..100,
        threads: usize,
    ) {
        let config = Config {
            vocabulary: 10, hidden: 6, layers: 1, heads: 2, intermediate: 5, positions: 7, epsilon: 1e-12,
            activation: Activation::Gelu, pooling: Pooling::Mean,
        };
        let values: Vec<f32> = (0..60).map(|step| ((step * 37) % 19) as f32 / 19.0 - 0.4).collect();
        let size = |name: &str| match name {
            "embeddings.word_embeddings.weight" => 60,
            "embeddings.position_embeddings.weight" => 42,
            "embeddings.token_type_embeddings.weight" => 12,
            name if name.ends_with("LayerNorm.weight") || name.ends_with("LayerNorm.bias") => 6,
            name if name.ends_with("intermediate.dense.weight") => 30,
            name if name.ends_with("intermediate.dense.bias") => 5,
            name if name.ends_with("layer.0.output.dense.weight") => 30,
            name if name.ends_with(".bias") => 6,
            _ => 36,
        };
        let encoder = Encoder::new(config, true, |name| values.get(..size(name)));
        prop_assert!(encoder.is_ok());
        let room = if fitting { lengths.len() * 6 } else { room };
        let (ids, lengths) = if fitting { whole(&ids, &lengths) } else { (ids, lengths) };
        if let Ok(encoder) = encoder {
            alike(|set| {
                let mut vectors = vec![0.0; room];
                let done = encoder.encode(set, &ids, &lengths, threads, &mut vectors);
                (done, vectors.iter().map(|value| value.to_bits()).collect::<Vec<_>>())
            })?;
        }
    }
}
