//! Known communities, the laws of all of them, what changes, where walks end, and what is refused.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Graph, GraphError, Walk, MOST_WEIGHT};

/// Edges by positions.
type Edges = Vec<(usize, usize, f64)>;

fn made(keys: &[u64], edges: &[(usize, usize, f64)]) -> Result<Graph, GraphError> {
    let ends = |end: fn(&(usize, usize, f64)) -> usize| edges.iter().map(|edge| end(edge) as i64).collect::<Vec<i64>>();
    let weights: Vec<f64> = edges.iter().map(|edge| edge.2).collect();
    Graph::new(keys, &ends(|edge| edge.0), &ends(|edge| edge.1), &weights)
}

/// A graph whose keys are 100, 99, and so on.
fn graph(nodes: usize, edges: &[(usize, usize, f64)]) -> Result<Graph, GraphError> {
    let keys: Vec<u64> = (0..nodes as u64).map(|node| 100 - node).collect();
    made(&keys, edges)
}

/// Cliques of some size in a ring, each joined to the next by one edge.
fn ring(cliques: usize, size: usize) -> Edges {
    let mut edges = Vec::new();
    for clique in 0..cliques {
        let first = clique * size;
        edges.extend((0..size).flat_map(|a| (0..a).map(move |b| (first + a, first + b, 1.0))));
        edges.push((first, (first + size) % (cliques * size) + 1, 1.0));
    }
    edges
}

/// Whether all nodes of each community reach each other within it.
fn connected(nodes: usize, edges: &[(usize, usize, f64)], labels: &[i64]) -> bool {
    let mut part: Vec<usize> = (0..nodes).collect();
    for _ in 0..nodes {
        for (one, other, _) in edges.iter().filter(|edge| edge.2 > 0.0 && labels[edge.0] == labels[edge.1]) {
            let least = part[*one].min(part[*other]);
            (part[*one], part[*other]) = (least, least);
        }
    }
    (0..nodes).all(|a| (0..nodes).all(|b| labels[a] != labels[b] || part[a] == part[b]))
}

/// The number of nodes, and edges among them, some parallel, some loops, some of weight 0.
fn graphs() -> impl Strategy<Value = (usize, Edges)> {
    (0_usize..24).prop_flat_map(|nodes| {
        let end = 0..nodes.max(1);
        let edge = (end.clone(), end, prop_oneof![3 => 0.01_f64..2.0, 1 => Just(0.0), 1 => Just(1.0)]);
        (Just(nodes), vec(edge, if nodes == 0 { 0..1 } else { 0..60 }))
    })
}

#[test]
fn each_clique_of_a_ring_is_a_community_and_without_resolution_the_ring_is() -> Result<(), GraphError> {
    let ring = graph(60, &ring(12, 5))?;
    let cliques: Vec<i64> = (0..60).map(|node| 11 - node / 5).collect();
    for seed in 0..5 {
        assert_eq!(ring.detect(0.5, seed, 10), Ok(cliques.clone()));
        assert_eq!(ring.detect(0.0, seed, 10), Ok(vec![0; 60]));
        assert_eq!(ring.detect(1.5, seed, 10), Ok((0..60).rev().collect()));
    }
    assert_eq!(ring.quality(&cliques, 0.5), Ok(60.0));
    assert_eq!(ring.quality(&[-1; 60], 0.5), Ok(0.0));
    Ok(())
}

#[test]
fn parallel_edges_add_up_loops_count_inside_and_no_weight_is_no_edge() -> Result<(), GraphError> {
    let graph = graph(4, &[(0, 1, 0.25), (1, 0, 0.5), (2, 2, 1.5), (2, 2, 0.5), (1, 2, 0.0)])?;
    assert_eq!((graph.nodes(), graph.edges()), (4, 2));
    assert_eq!(graph.quality(&[7, 7, 3, 3], 0.5), Ok(0.75 + 2.0 - 1.0));
    assert_eq!(graph.detect(0.5, 1, 10), Ok(vec![2, 2, 1, 0]));
    assert_eq!(graph.detect(0.76, 1, 10), Ok(vec![3, 2, 1, 0]));
    Ok(())
}

#[test]
fn a_community_that_falls_apart_is_split_and_communities_that_grow_together_merge() -> Result<(), GraphError> {
    let mut graph = graph(10, &ring(2, 5))?;
    let whole = graph.detect(0.04, 1, 10)?;
    assert_eq!(whole, [0; 10]);
    let changed = graph.set_edges(&[100, 95], &[94, 99], &[0.0; 2])?;
    assert_eq!(changed, [94, 95, 99, 100]);
    let parts = graph.update(&whole, &changed, 0.04, 1, 1)?;
    assert_eq!(parts, [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
    let changed = graph.set_edges(&[97], &[92], &[1.5])?;
    assert_eq!(graph.update(&parts, &changed, 0.04, 1, 1), Ok(whole));
    Ok(())
}

#[test]
fn rows_stay_in_their_order_when_gaps_close() -> Result<(), GraphError> {
    let mut graph = graph(10, &ring(2, 5))?;
    let keys = graph.keys();
    graph.remove_nodes(&[keys[0], keys[0], keys[3], keys[5], keys[6]])?;
    graph.remove_nodes(&[keys[1], keys[8]])?;
    graph.add_nodes(&[7, keys[0]])?;
    assert_eq!(graph.keys(), [keys[2], keys[4], keys[7], keys[9], 7, keys[0]]);
    assert_eq!(graph.edges(), 2);
    assert_eq!(graph.set_edges(&[7, keys[2]], &[keys[0], keys[4]], &[1.0, 1.0]), Ok(vec![7, keys[0]]));
    assert_eq!(graph.detect(0.5, 3, 10), Ok(vec![2, 2, 1, 1, 0, 0]));
    Ok(())
}

#[test]
fn a_walk_on_two_nodes_ends_where_arithmetic_says() -> Result<(), GraphError> {
    let graph = graph(3, &[(0, 1, 2.0)])?;
    let walk = Walk { damping: 0.5, epsilon: 1e-12 };
    let (keys, scores) = graph.pagerank(&[98, 100, 98], &[1.0, 6.0, 1.0], walk)?;
    assert_eq!(keys, [100, 98, 99]);
    for (score, exact) in scores.iter().zip([0.5, 0.25, 0.25]) {
        assert!((score - exact).abs() <= 2e-12, "{score} {exact}");
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() -> Result<(), GraphError> {
    let edge = |source, target, weight| Graph::new(&[5, 6], &[0, source], &[1, target], &[1.0, weight]).map(|_| ());
    for (source, target) in [(0, 2), (-1, 1)] {
        assert_eq!(edge(source, target, 1.0), Err(GraphError::NoSuchEnd { edge: 1, source, target }));
    }
    for weight in [-1.0, f64::INFINITY, 2.0 * MOST_WEIGHT] {
        assert_eq!(edge(0, 1, weight), Err(GraphError::BadWeight { edge: 1, source: 0, target: 1, weight }));
    }
    assert!(matches!(edge(0, 1, f64::NAN), Err(GraphError::BadWeight { edge: 1, .. })));
    assert_eq!(edge(1, 1, MOST_WEIGHT), Err(GraphError::TooHeavy { edge: 1, source: 1, target: 1 }));
    assert_eq!(Graph::new(&[5, 5], &[], &[], &[]).map(|_| ()), Err(GraphError::RepeatedNode { key: 5 }));
    let mismatch = GraphError::LengthMismatch { found: 0, expected: 1 };
    assert_eq!(Graph::new(&[5, 6], &[0], &[1], &[]).map(|_| ()), Err(mismatch));

    let mut graph = graph(3, &[(0, 1, 1.0), (1, 2, 1.0)])?;
    assert_eq!(graph.add_nodes(&[7, 99]), Err(GraphError::RepeatedNode { key: 99 }));
    assert_eq!(graph.remove_nodes(&[99, 7]), Err(GraphError::UnknownNode { key: 7 }));
    let unknown = GraphError::UnknownEnd { edge: 1, source: 98, target: 7 };
    assert_eq!(graph.set_edges(&[100, 98], &[98, 7], &[1.0; 2]), Err(unknown));
    let heavy = GraphError::TooHeavy { edge: 1, source: 98, target: 98 };
    assert_eq!(graph.set_edges(&[100, 98], &[98, 98], &[1.0, MOST_WEIGHT]), Err(heavy));
    assert_eq!((graph.keys(), graph.edges()), (vec![100, 99, 98], 2));
    assert_eq!(graph.set_edges(&[98], &[98], &[MOST_WEIGHT - 2.0]), Ok(vec![98]));

    for resolution in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(graph.detect(resolution, 0, 1), Err(GraphError::BadResolution { .. })));
    }
    assert_eq!(graph.quality(&[0], 1.0), Err(GraphError::LengthMismatch { found: 1, expected: 3 }));
    let walk = Walk { damping: 0.5, epsilon: 0.1 };
    assert_eq!(graph.pagerank(&[7], &[1.0], walk), Err(GraphError::UnknownNode { key: 7 }));
    assert_eq!(graph.pagerank(&[99], &[0.0], walk), Err(GraphError::BadSeedWeight { key: 99, weight: 0.0 }));
    assert_eq!(graph.pagerank(&[99], &[-1.0], walk), Err(GraphError::BadSeedWeight { key: 99, weight: -1.0 }));
    assert_eq!(
        graph.pagerank(&[99], &[1.0], Walk { damping: 1.0, ..walk }),
        Err(GraphError::BadDamping { damping: 1.0 })
    );
    assert_eq!(
        graph.pagerank(&[99], &[1.0], Walk { epsilon: 0.0, ..walk }),
        Err(GraphError::BadEpsilon { epsilon: 0.0 })
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn communities_are_connected_locally_best_and_the_same_in_any_order(
        (nodes, edges) in graphs(), resolution in prop_oneof![Just(0.0), 0.01_f64..1.5], seed: u64, turn in 0_usize..24,
    ) {
        let graph = graph(nodes, &edges)?;
        let labels = graph.detect(resolution, seed, 1000)?;
        prop_assert!(connected(nodes, &edges, &labels));
        let quality = graph.quality(&labels, resolution)?;
        let fresh = nodes as i64;
        for node in 0..nodes {
            for to in labels.iter().copied().chain([fresh]) {
                let mut moved = labels.clone();
                moved[node] = to;
                prop_assert!(graph.quality(&moved, resolution)? <= quality + 1e-9);
                let merged: Vec<i64> = labels.iter().map(|own| if *own == labels[node] { to } else { *own }).collect();
                prop_assert!(graph.quality(&merged, resolution)? <= quality + 1e-9);
            }
        }
        let turned = |at: usize| (at + turn) % nodes.max(1);
        let mut keys = vec![0; nodes];
        for (at, key) in graph.keys().into_iter().enumerate() {
            keys[turned(at)] = key;
        }
        let other: Edges = edges.iter().rev().map(|(a, b, weight)| (turned(*b), turned(*a), *weight)).collect();
        let again = made(&keys, &other)?.detect(resolution, seed, 1000)?;
        prop_assert!((0..nodes).all(|at| labels[at] == again[turned(at)]));
    }

    #[test]
    fn an_update_leaves_communities_connected_and_no_worse(
        (nodes, edges) in graphs(), (_, more) in graphs(), resolution in prop_oneof![Just(0.0), 0.01_f64..1.5], seed: u64,
        gone in vec(0_usize..24, 0..4), new in 0_u64..4, iterations in 1_usize..5,
    ) {
        let mut graph = graph(nodes, &edges)?;
        let old: Vec<(u64, i64)> = graph.keys().into_iter().zip(graph.detect(resolution, seed, 10)?).collect();
        let keys: Vec<u64> = gone.iter().filter_map(|at| old.get(*at)).map(|(key, _)| *key).collect();
        let mut changed = graph.remove_nodes(&keys)?;
        graph.add_nodes(&(200..200 + new).collect::<Vec<u64>>())?;
        let all = graph.keys();
        let kept = more.iter().filter(|edge| edge.0.max(edge.1) < all.len());
        let ends: Vec<(u64, u64, f64)> = kept.map(|(a, b, weight)| (all[*a], all[*b], *weight)).collect();
        let (sources, targets): (Vec<u64>, Vec<u64>) = ends.iter().map(|(a, b, _)| (*a, *b)).unzip();
        let weights: Vec<f64> = ends.iter().map(|edge| edge.2).collect();
        changed.extend(graph.set_edges(&sources, &targets, &weights)?);
        let label = |key: &u64| old.iter().find(|(known, _)| known == key).map_or(-1, |(_, label)| *label);
        let previous: Vec<i64> = all.iter().map(label).collect();
        let labels = graph.update(&previous, &changed, resolution, seed, iterations)?;
        prop_assert!(graph.quality(&labels, resolution)? >= graph.quality(&previous, resolution)?);
        let row = |slot: u32| graph.rows().take_while(|own| *own < slot as usize).count();
        let now: Edges = graph
            .rows()
            .enumerate()
            .flat_map(|(at, slot)| graph.links[slot].iter().map(move |link| (at, row(link.to), 1.0)))
            .collect();
        for slot in 0..graph.keys.len() {
            let sum: i64 = graph.links[slot].iter().map(|link| link.units).sum();
            prop_assert_eq!(sum + graph.loops[slot], graph.degrees[slot]);
        }
        prop_assert_eq!(now.len() / 2 + graph.loops.iter().filter(|units| **units > 0).count(), graph.edges());
        prop_assert!(connected(all.len(), &now, &labels));
        let renamed: Vec<i64> = previous.iter().map(|label| if *label < 0 { *label } else { 1 << 40 | (99 - label) }).collect();
        changed.reverse();
        prop_assert_eq!(graph.update(&renamed, &changed, resolution, seed, iterations)?, labels);
    }
}
