//! Leiden from nothing, and the climb over levels that it shares with the update.

use super::adjacency::Graph;
use super::level::{Level, Network, Sums};
use super::moves::{move_nodes, Communities};
use super::refine::{refine, split};
use super::{rank, GraphError, Resolution};

impl Graph {
    /// Find communities by Leiden (Traag, Waltman and Van Eck 2019, Scientific Reports 9:5233), from single nodes.
    ///
    /// Runs until a whole pass changes nothing, or `iterations` passes are done. Returns the label of each row: from 0,
    /// by the smallest key of each community. Every community is connected. The resolution is rounded to a multiple of
    /// 2^-48.
    ///
    /// # Errors
    ///
    /// [`GraphError::BadResolution`].
    pub fn detect(&self, resolution: f64, seed: u64, iterations: usize) -> Result<Vec<i64>, GraphError> {
        let resolution = Resolution::new(resolution)?;
        let mut slots: Vec<u32> = self.rows().map(|slot| slot as u32).collect();
        slots.sort_by_cached_key(|slot| rank(seed, self.keys[*slot as usize]));
        let (level, _) = Level::around(self, &slots, &[], &[]);
        let mut communities = Communities::new((0..slots.len() as u32).collect(), vec![1; slots.len()]);
        let mut sums = Sums::new(slots.len() + 1);
        for _ in 0..iterations {
            let before = communities.of.clone();
            move_nodes(&level, &mut communities, &mut sums, resolution, level.movable());
            climb(&level, &mut communities, &mut sums, resolution);
            if communities.of == before {
                break;
            }
        }
        let mut of = vec![u32::MAX; self.keys.len()];
        for (slot, community) in slots.iter().zip(&communities.of) {
            of[*slot as usize] = *community;
        }
        communities.of = of;
        Ok(self.labels(&communities))
    }
}

/// Move ever larger blocks of a level whose nodes have been moved, until each community is one block and so connected.
pub(super) fn climb(level: &Level, communities: &mut Communities, sums: &mut Sums, resolution: Resolution) {
    let mut block_of: Vec<u32> = (0..level.nodes() as u32).collect();
    let mut above: Option<Level> = None;
    loop {
        let here = above.as_ref().unwrap_or(level);
        let blocks = refine(here, communities, sums, resolution);
        if blocks.count == here.nodes() {
            break;
        }
        let next = here.aggregated(&blocks, sums);
        let mut of = vec![0; blocks.count];
        for (block, community) in blocks.of.iter().zip(&communities.of) {
            of[*block as usize] = *community;
        }
        communities.of = of;
        for block in &mut block_of {
            *block = blocks.of[*block as usize];
        }
        move_nodes(&next, communities, sums, resolution, next.movable());
        above = Some(next);
    }
    let here = above.as_ref().unwrap_or(level);
    let alone = |node: u32| communities.sizes[communities.of[node as usize] as usize] == here.size(node);
    let done = (0..here.nodes() as u32).all(alone);
    communities.of = block_of.iter().map(|block| communities.of[*block as usize]).collect();
    if !done {
        split(level, communities);
    }
}
