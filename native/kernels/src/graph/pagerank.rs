//! Personalised PageRank by forward push (Andersen, Chung, Lang 2006, FOCS): the nodes a random walk from some seeds
//! is at, without a look at those that it hardly reaches.

use super::adjacency::Graph;
use super::{weight, GraphError, LEAST_EPSILON};

/// A walk that goes on over a random edge, by weight, or ends; a node without edges it never leaves.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// How probably it goes on at each step, at least 0 and below 1.
    pub damping: f64,
    /// The largest error of a score, for each unit of a node's degree (the sum of its weights, a loop once); at least
    /// [`LEAST_EPSILON`].
    pub epsilon: f64,
}

impl Graph {
    /// Where a walk ends that starts at one of some seeds, by their weights; a seed named twice has both.
    ///
    /// Returns keys and probabilities, the most probable first, then the smaller key; nodes that are not there have 0.
    /// A probability is at most the exact one, and less by at most `epsilon` times the node's degree. The same graph
    /// gives the same digits in whatever order it was made.
    ///
    /// # Errors
    ///
    /// [`GraphError`]: the lengths differ, a seed is no node, or a number is not in its range.
    pub fn pagerank(&self, seeds: &[u64], weights: &[f64], walk: Walk) -> Result<(Vec<u64>, Vec<f64>), GraphError> {
        let Walk { damping, epsilon } = walk;
        if !(0.0..1.0).contains(&damping) {
            return Err(GraphError::BadDamping { damping });
        }
        if !(epsilon >= LEAST_EPSILON && epsilon.is_finite()) {
            return Err(GraphError::BadEpsilon { epsilon });
        }
        let starts = self.starts(seeds, weights)?;
        let (mut scores, mut residuals) = (vec![0.0; self.keys.len()], vec![0.0; self.keys.len()]);
        let mut waiting = vec![false; self.keys.len()];
        let (mut round, mut next, mut reached) = (Vec::new(), Vec::new(), Vec::new());
        for (slot, share) in starts {
            residuals[slot as usize] += share;
            if !std::mem::replace(&mut waiting[slot as usize], true) {
                round.push(slot);
            }
        }
        while !round.is_empty() {
            round.sort_unstable_by_key(|slot| self.keys[*slot as usize]);
            for slot in round.drain(..) {
                let at = slot as usize;
                waiting[at] = false;
                let degree = weight(self.degrees[at]);
                if residuals[at] <= epsilon * degree {
                    continue;
                }
                let residual = std::mem::replace(&mut residuals[at], 0.0);
                if scores[at] == 0.0 {
                    reached.push(slot);
                }
                scores[at] += if degree > 0.0 { (1.0 - damping) * residual } else { residual };
                let share = if degree > 0.0 { damping * residual / degree } else { 0.0 };
                residuals[at] += share * weight(self.loops[at]);
                for link in &self.links[at] {
                    let to = link.to as usize;
                    residuals[to] += share * weight(link.units);
                    if !waiting[to] && residuals[to] > epsilon * weight(self.degrees[to]) {
                        waiting[to] = true;
                        next.push(link.to);
                    }
                }
                if !waiting[at] && residuals[at] > epsilon * degree {
                    waiting[at] = true;
                    next.push(slot);
                }
            }
            std::mem::swap(&mut round, &mut next);
        }
        let score = |slot: &u32| (scores[*slot as usize], self.keys[*slot as usize]);
        reached.sort_unstable_by(|one, other| {
            let ((more, key), (less, later)) = (score(one), score(other));
            less.total_cmp(&more).then(key.cmp(&later))
        });
        Ok(reached.iter().map(|slot| (self.keys[*slot as usize], scores[*slot as usize])).unzip())
    }

    /// The slots of seeds and the share of each, ascending by key, so that their sum does not depend on their order.
    fn starts(&self, seeds: &[u64], weights: &[f64]) -> Result<Vec<(u32, f64)>, GraphError> {
        if seeds.len() != weights.len() {
            return Err(GraphError::LengthMismatch { found: weights.len(), expected: seeds.len() });
        }
        let mut starts = Vec::with_capacity(seeds.len());
        for (key, weight) in seeds.iter().zip(weights) {
            let slot = self.slot(*key)?;
            if !(*weight >= 0.0 && weight.is_finite()) {
                return Err(GraphError::BadSeedWeight { key: *key, weight: *weight });
            }
            starts.push((*key, slot as u32, *weight));
        }
        starts.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(one.2.total_cmp(&other.2)));
        let total: f64 = starts.iter().map(|start| start.2).sum();
        match starts.first() {
            Some((key, _, weight)) if !(total > 0.0 && total.is_finite()) => {
                Err(GraphError::BadSeedWeight { key: *key, weight: *weight })
            }
            _ => Ok(starts.into_iter().map(|(_, slot, weight)| (slot, weight / total)).collect()),
        }
    }
}
