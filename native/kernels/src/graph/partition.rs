//! Labels, as callers know communities by: one for each row, numbered by the smallest key of each community.

use std::collections::HashMap;

use super::adjacency::Graph;
use super::moves::Communities;
use super::{GraphError, Resolution, RESOLUTION_BITS};

/// The community of an empty slot: none.
const NOWHERE: u32 = u32::MAX;

impl Graph {
    /// The quality of a partition: of each row its label, where each negative one is a community of its own.
    ///
    /// The resolution is rounded to a multiple of 2^-48.
    ///
    /// # Errors
    ///
    /// [`GraphError`]: there are other numbers of labels and nodes, or the resolution is none.
    pub fn quality(&self, labels: &[i64], resolution: f64) -> Result<f64, GraphError> {
        let (resolution, communities) = (Resolution::new(resolution)?, self.communities(labels)?);
        let mut twice = 0_i128;
        for slot in self.rows() {
            let own = communities.of[slot];
            let inside = self.links[slot].iter().filter(|link| communities.of[link.to as usize] == own);
            twice += 2 * i128::from(self.loops[slot]) + inside.map(|link| i128::from(link.units)).sum::<i128>();
        }
        let pairs = communities.sizes.iter().map(|size| u128::from(size * (size - 1) / 2)).sum();
        Ok(resolution.less_pairs(twice / 2, pairs) as f64 / (1_u64 << RESOLUTION_BITS) as f64)
    }

    /// Communities by labels, numbered by the smallest key of each; a negative label is a community of its own.
    pub(super) fn communities(&self, labels: &[i64]) -> Result<Communities, GraphError> {
        if labels.len() != self.nodes() {
            return Err(GraphError::LengthMismatch { found: labels.len(), expected: self.nodes() });
        }
        let mut known = HashMap::new();
        let (mut of, mut sizes) = (vec![NOWHERE; self.keys.len()], Vec::new());
        for (slot, label) in self.rows().zip(labels) {
            let new = sizes.len() as u32;
            let number = if *label < 0 { new } else { *known.entry(*label).or_insert(new) };
            if number == new {
                sizes.push(0);
            }
            of[slot] = number;
            sizes[number as usize] += 1;
        }
        let numbers = self.by_smallest_key(&of, sizes.len());
        let mut ordered = vec![0; sizes.len()];
        for (size, number) in sizes.iter().zip(&numbers) {
            ordered[*number as usize] = *size;
        }
        for number in of.iter_mut().filter(|number| **number != NOWHERE) {
            *number = numbers[*number as usize];
        }
        Ok(Communities::new(of, ordered))
    }

    /// The labels of all rows.
    pub(super) fn labels(&self, communities: &Communities) -> Vec<i64> {
        let numbers = self.by_smallest_key(&communities.of, communities.sizes.len());
        self.rows().map(|slot| i64::from(numbers[communities.of[slot] as usize])).collect()
    }

    /// Of each of so many communities its place among all that have nodes, by the smallest key in it.
    fn by_smallest_key(&self, of: &[u32], count: usize) -> Vec<u32> {
        let mut smallest = vec![None; count];
        for slot in self.rows() {
            let least = &mut smallest[of[slot] as usize];
            let key = self.keys[slot];
            *least = Some(least.map_or(key, |known: u64| known.min(key)));
        }
        let mut order: Vec<(u64, usize)> =
            smallest.iter().enumerate().filter_map(|(number, key)| key.map(|key| (key, number))).collect();
        order.sort_unstable();
        let mut places = vec![NOWHERE; count];
        for (place, (_, number)) in order.iter().enumerate() {
            places[*number] = place as u32;
        }
        places
    }
}
