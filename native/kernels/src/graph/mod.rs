//! An undirected graph with weights, its communities (Leiden on the constant Potts model), and personalised PageRank.
//!
//! A node is known by a 64-bit key. Weights are kept as whole multiples of 2^-32 and resolutions of 2^-48, so that sums
//! do not depend on their order and a gain is exact; nodes are worked through in an order that a seed and their keys
//! give. So a result follows from the graph and the seed alone: not from the order in which nodes and edges were given,
//! nor from the machine.
//!
//! The quality of a partition is the sum over its communities of `e - resolution * n (n - 1) / 2`, `e` the weight
//! inside, loops included, and `n` the number of nodes (Traag, Van Dooren, Nesterov 2011, Physical Review E 84:016114).

mod adjacency;
mod error;
mod leiden;
mod level;
mod moves;
mod pagerank;
mod partition;
mod refine;
#[cfg(test)]
mod tests;
mod update;

pub use adjacency::Graph;
pub use error::GraphError;
pub use pagerank::Walk;

/// Binary digits of a weight behind the point.
const WEIGHT_BITS: u32 = 32;
/// Binary digits of a resolution behind the point.
const RESOLUTION_BITS: u32 = 48;
/// What all weights of a graph may add up to.
pub const MOST_WEIGHT: f64 = (1_u64 << 29) as f64;
/// The largest resolution.
pub const MOST_RESOLUTION: f64 = (1_u64 << 14) as f64;
/// The smallest bound of residuals: far below it they would no longer shrink.
pub const LEAST_EPSILON: f64 = 1e-12;

/// A weight as a multiple of 2^-32, at least one where it is not 0; `None` for one that cannot be.
fn units(weight: f64) -> Option<i64> {
    let possible = (0.0..=MOST_WEIGHT).contains(&weight);
    let rounded = (weight * (1_u64 << WEIGHT_BITS) as f64).round_ties_even() as i64;
    possible.then(|| rounded.max(i64::from(weight > 0.0)))
}

/// The weight of so many units.
fn weight(units: i64) -> f64 {
    units as f64 / (1_u64 << WEIGHT_BITS) as f64
}

/// A place in an order that differs from seed to seed: one to one with the key.
fn rank(seed: u64, key: u64) -> u64 {
    scatter(key ^ scatter(seed))
}

/// A permutation of the 64-bit numbers: shifts and odd factors, each of which can be taken back.
fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x6a09_e667_f3bc_c909);
    for factor in [0xd6e8_feb8_6659_fd93, 0xa076_1d64_78bd_642f] {
        mixed = (mixed ^ (mixed >> 32)).wrapping_mul(factor);
    }
    mixed ^ (mixed >> 32)
}

/// How much two parts of one community gain by being together.
#[derive(Clone, Copy)]
struct Resolution(i64);

impl Resolution {
    fn new(resolution: f64) -> Result<Self, GraphError> {
        if !(0.0..=MOST_RESOLUTION).contains(&resolution) {
            return Err(GraphError::BadResolution { resolution });
        }
        Ok(Self((resolution * (1_u64 << RESOLUTION_BITS) as f64).round_ties_even() as i64))
    }

    /// The weight between two parts, less the resolution times the pairs of their nodes; in units of 2^-48, exact.
    #[inline]
    fn gain(self, units: i64, nodes: u64, others: u64) -> i128 {
        self.less_pairs(i128::from(units), u128::from(nodes * others))
    }

    /// Weight less the resolution times so many pairs, in units of 2^-48.
    #[inline]
    fn less_pairs(self, units: i128, pairs: u128) -> i128 {
        (units << (RESOLUTION_BITS - WEIGHT_BITS)) - i128::from(self.0) * pairs as i128
    }
}
