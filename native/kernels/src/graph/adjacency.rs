//! The graph itself: nodes by key, and of each node its edges; both can be added and removed.
//!
//! A node has a slot, and slots are in the order in which nodes were added; the slot of a removed node stays empty until
//! more than half of all are, when the rest move together. Callers see rows: the nodes there are, in that order.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use super::{units, GraphError, MOST_WEIGHT};

/// An edge as one of its ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The slot of the other end.
    pub to: u32,
    /// The weight, in units.
    pub units: i64,
}

/// An undirected graph with weights, whose nodes are known by keys.
///
/// At most [`MOST_WEIGHT`] may all weights be together. Parallel edges are one with the sum of their weights, a loop is
/// a node's own weight, and an edge of weight 0 is none; a smaller weight than 2^-32 counts as 2^-32.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The key of each slot.
    pub(super) keys: Vec<u64>,
    /// Whether there is a node in each slot.
    pub(super) alive: Vec<bool>,
    /// The edges of each slot, ascending by the other end; no loops.
    pub(super) links: Vec<Vec<Link>>,
    /// The loop of each slot, in units.
    pub(super) loops: Vec<i64>,
    /// The weights of all edges of each slot, a loop's once, in units.
    pub(super) degrees: Vec<i64>,
    slots: HashMap<u64, u32>,
    total: i64,
    edges: usize,
}

impl Graph {
    /// Make a graph: of each node its key, of each edge the positions of its ends in `keys`, and its weight.
    ///
    /// # Errors
    ///
    /// [`GraphError`]: keys are not distinct, lengths differ, or an end or a weight is none.
    pub fn new(keys: &[u64], sources: &[i64], targets: &[i64], weights: &[f64]) -> Result<Self, GraphError> {
        let mut graph = Self::default();
        graph.add_nodes(keys)?;
        same_lengths(sources.len(), targets.len(), weights.len())?;
        let ends = sources.iter().zip(targets);
        let position = |end: i64| usize::try_from(end).ok().filter(|at| *at < keys.len());
        let mut edges = Vec::with_capacity(weights.len());
        let mut counts = vec![0_usize; keys.len()];
        for (edge, ((source, target), weight)) in ends.zip(weights).enumerate() {
            let (Some(one), Some(other)) = (position(*source), position(*target)) else {
                return Err(GraphError::NoSuchEnd { edge, source: *source, target: *target });
            };
            let units = weigh(&mut graph.total, edge, *source as u64, *target as u64, *weight)?;
            graph.degrees[one] += units;
            if one == other {
                graph.loops[one] += units;
            } else if units > 0 {
                graph.degrees[other] += units;
                counts[one] += 1;
                counts[other] += 1;
                edges.push((one as u32, other as u32, units));
            }
        }
        for (links, count) in graph.links.iter_mut().zip(counts) {
            links.reserve_exact(count);
        }
        for (one, other, units) in edges {
            graph.links[one as usize].push(Link { to: other, units });
            graph.links[other as usize].push(Link { to: one, units });
        }
        for links in &mut graph.links {
            links.sort_unstable_by_key(|link| link.to);
            links.dedup_by(|later, kept| {
                let parallel = later.to == kept.to;
                kept.units += if parallel { later.units } else { 0 };
                parallel
            });
        }
        let ends: usize = graph.links.iter().map(Vec::len).sum();
        graph.edges = ends / 2 + graph.loops.iter().filter(|units| **units > 0).count();
        Ok(graph)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.slots.len()
    }

    /// How many edges there are, loops included.
    pub fn edges(&self) -> usize {
        self.edges
    }

    /// The keys of all nodes, in the order in which they were added.
    pub fn keys(&self) -> Vec<u64> {
        self.rows().map(|slot| self.keys[slot]).collect()
    }

    /// Add nodes, which have no edges yet.
    ///
    /// # Errors
    ///
    /// [`GraphError`], before anything is added: a key is a node already, or there twice.
    pub fn add_nodes(&mut self, keys: &[u64]) -> Result<(), GraphError> {
        let first = self.keys.len();
        if first + keys.len() >= u32::MAX as usize {
            return Err(GraphError::TooManyNodes);
        }
        self.slots.reserve(keys.len());
        for (added, key) in keys.iter().enumerate() {
            match self.slots.entry(*key) {
                Entry::Vacant(free) => free.insert((first + added) as u32),
                Entry::Occupied(_) => {
                    for key in &keys[..added] {
                        self.slots.remove(key);
                    }
                    return Err(GraphError::RepeatedNode { key: *key });
                }
            };
        }
        self.keys.extend_from_slice(keys);
        self.alive.resize(self.keys.len(), true);
        self.links.resize(self.keys.len(), Vec::new());
        self.loops.resize(self.keys.len(), 0);
        self.degrees.resize(self.keys.len(), 0);
        Ok(())
    }

    /// Remove nodes with their edges; a key named twice is meant once. Returns the keys of the nodes left that had an
    /// edge to one of them, ascending.
    ///
    /// # Errors
    ///
    /// [`GraphError::UnknownNode`], before anything is removed.
    pub fn remove_nodes(&mut self, keys: &[u64]) -> Result<Vec<u64>, GraphError> {
        let gone = keys.iter().map(|key| self.slot(*key)).collect::<Result<Vec<usize>, GraphError>>()?;
        let mut touched = Vec::new();
        for slot in gone {
            for link in std::mem::take(&mut self.links[slot]) {
                let links = &mut self.links[link.to as usize];
                if let Ok(at) = links.binary_search_by_key(&(slot as u32), |back| back.to) {
                    links.remove(at);
                }
                self.degrees[link.to as usize] -= link.units;
                self.total -= link.units;
                self.edges -= 1;
                touched.push(link.to as usize);
            }
            let own = std::mem::take(&mut self.loops[slot]);
            self.total -= own;
            self.edges -= usize::from(own > 0);
            self.degrees[slot] = 0;
            self.alive[slot] = false;
            self.slots.remove(&self.keys[slot]);
        }
        let left = touched.into_iter().filter(|slot| self.alive[*slot]).map(|slot| self.keys[slot]).collect();
        if self.keys.len() > 2 * self.nodes() {
            self.close_gaps();
        }
        Ok(ascending(left))
    }

    /// Set the weights of edges, known by the keys of their ends; 0 removes one, and of an edge set twice the last
    /// counts. Returns the keys of the ends of those that changed, ascending.
    ///
    /// # Errors
    ///
    /// [`GraphError`], before anything is set: lengths differ, an end is no node, a weight is none, or the new weights
    /// and those there were are too much together.
    pub fn set_edges(&mut self, sources: &[u64], targets: &[u64], weights: &[f64]) -> Result<Vec<u64>, GraphError> {
        same_lengths(sources.len(), targets.len(), weights.len())?;
        let (mut edges, mut total) = (Vec::with_capacity(weights.len()), self.total);
        for (edge, ((source, target), weight)) in sources.iter().zip(targets).zip(weights).enumerate() {
            let (Ok(one), Ok(other)) = (self.slot(*source), self.slot(*target)) else {
                return Err(GraphError::UnknownEnd { edge, source: *source, target: *target });
            };
            edges.push((one, other, weigh(&mut total, edge, *source, *target, *weight)?));
        }
        let mut touched = Vec::new();
        for (one, other, units) in edges {
            let old = if one == other {
                std::mem::replace(&mut self.loops[one], units)
            } else {
                let old = set_link(&mut self.links[other], one, units);
                self.degrees[other] += units - old;
                set_link(&mut self.links[one], other, units)
            };
            if old != units {
                self.degrees[one] += units - old;
                self.total += units - old;
                self.edges = self.edges + usize::from(units > 0) - usize::from(old > 0);
                touched.extend([self.keys[one], self.keys[other]]);
            }
        }
        Ok(ascending(touched))
    }

    /// The slots that hold a node, ascending: the i-th is that of row i.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.alive.iter().enumerate().filter(|(_, alive)| **alive).map(|(slot, _)| slot)
    }

    /// The slot of a key.
    pub(super) fn slot(&self, key: u64) -> Result<usize, GraphError> {
        self.slots.get(&key).map(|slot| *slot as usize).ok_or(GraphError::UnknownNode { key })
    }

    fn close_gaps(&mut self) {
        let kept: Vec<usize> = self.rows().collect();
        let mut moved_to = vec![u32::MAX; self.keys.len()];
        for (at, slot) in kept.iter().enumerate() {
            moved_to[*slot] = at as u32;
        }
        self.keys = kept.iter().map(|slot| self.keys[*slot]).collect();
        self.loops = kept.iter().map(|slot| self.loops[*slot]).collect();
        self.degrees = kept.iter().map(|slot| self.degrees[*slot]).collect();
        self.links = kept.iter().map(|slot| std::mem::take(&mut self.links[*slot])).collect();
        for link in self.links.iter_mut().flatten() {
            link.to = moved_to[link.to as usize];
        }
        self.alive = vec![true; kept.len()];
        self.slots = self.keys.iter().enumerate().map(|(slot, key)| (*key, slot as u32)).collect();
    }
}

/// An edge's weight in units, which are added to a total.
fn weigh(total: &mut i64, edge: usize, source: u64, target: u64, weight: f64) -> Result<i64, GraphError> {
    let units = units(weight).ok_or(GraphError::BadWeight { edge, source, target, weight })?;
    if super::weight(*total) + weight > MOST_WEIGHT {
        return Err(GraphError::TooHeavy { edge, source, target });
    }
    *total += units;
    Ok(units)
}

/// Set or remove a link and return what its weight was.
fn set_link(links: &mut Vec<Link>, to: usize, units: i64) -> i64 {
    let to = to as u32;
    match links.binary_search_by_key(&to, |link| link.to) {
        Ok(at) if units > 0 => std::mem::replace(&mut links[at].units, units),
        Ok(at) => links.remove(at).units,
        Err(at) => {
            if units > 0 {
                links.insert(at, Link { to, units });
            }
            0
        }
    }
}

fn ascending(mut keys: Vec<u64>) -> Vec<u64> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn same_lengths(expected: usize, targets: usize, weights: usize) -> Result<(), GraphError> {
    match [targets, weights].into_iter().find(|found| *found != expected) {
        Some(found) => Err(GraphError::LengthMismatch { found, expected }),
        None => Ok(()),
    }
}
