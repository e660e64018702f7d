//! Why a graph could not be made or changed, or a question about it not be answered.

use std::fmt;

/// Why a graph could not be made or changed, or a question about it not be answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GraphError {
    /// Arrays that belong together have different lengths.
    LengthMismatch {
        /// How many values there are.
        found: usize,
        /// How many there were to be.
        expected: usize,
    },
    /// There would be more nodes than 32 bits can count.
    TooManyNodes,
    /// A key that is a node already, or given twice.
    RepeatedNode {
        /// The key.
        key: u64,
    },
    /// A key that is no node.
    UnknownNode {
        /// The key.
        key: u64,
    },
    /// An end of an edge is no position of a node.
    NoSuchEnd {
        /// Which edge, from 0.
        edge: usize,
        /// One end.
        source: i64,
        /// The other.
        target: i64,
    },
    /// An end of an edge is not the key of a node.
    UnknownEnd {
        /// Which edge, from 0.
        edge: usize,
        /// One end's key.
        source: u64,
        /// The other's.
        target: u64,
    },
    /// A weight is negative, not finite, or more than [`super::MOST_WEIGHT`].
    BadWeight {
        /// Which edge, from 0.
        edge: usize,
        /// One end, as it was given.
        source: u64,
        /// The other.
        target: u64,
        /// The weight.
        weight: f64,
    },
    /// With this edge all weights add up to more than [`super::MOST_WEIGHT`].
    TooHeavy {
        /// Which edge, from 0.
        edge: usize,
        /// One end, as it was given.
        source: u64,
        /// The other.
        target: u64,
    },
    /// A resolution is negative, not finite, or more than [`super::MOST_RESOLUTION`].
    BadResolution {
        /// The resolution.
        resolution: f64,
    },
    /// The weight of a seed is negative or not finite, or all weights of seeds are 0 or their sum is not finite.
    BadSeedWeight {
        /// The seed's key.
        key: u64,
        /// Its weight.
        weight: f64,
    },
    /// A damping is not at least 0 and below 1.
    BadDamping {
        /// The damping.
        damping: f64,
    },
    /// A bound of residuals is less than [`super::LEAST_EPSILON`], or not finite.
    BadEpsilon {
        /// The bound.
        epsilon: f64,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (weight_limit, resolution_limit) = (super::MOST_WEIGHT, super::MOST_RESOLUTION);
        match self {
            Self::LengthMismatch { found, expected } => write!(out, "{found} values were to be {expected}"),
            Self::TooManyNodes => write!(out, "there are more nodes than 32 bits can count"),
            Self::RepeatedNode { key } => write!(out, "node {key} is there twice"),
            Self::UnknownNode { key } => write!(out, "there is no node {key}"),
            Self::NoSuchEnd { edge, source, target } => {
                write!(out, "edge {edge} ({source}, {target}) has an end that is no position of a node")
            }
            Self::UnknownEnd { edge, source, target } => {
                write!(out, "edge {edge} ({source}, {target}) has an end that is no node")
            }
            Self::BadWeight { edge, source, target, weight } => {
                write!(out, "edge {edge} ({source}, {target}) has weight {weight}, not one from 0 to {weight_limit}")
            }
            Self::TooHeavy { edge, source, target } => {
                write!(out, "with edge {edge} ({source}, {target}) the weights add up to more than {weight_limit}")
            }
            Self::BadResolution { resolution } => {
                write!(out, "the resolution is {resolution}, not one from 0 to {resolution_limit}")
            }
            Self::BadSeedWeight { key, weight } => {
                write!(out, "seed {key} has weight {weight}: weights are 0 or more, with a finite sum above 0")
            }
            Self::BadDamping { damping } => write!(out, "the damping is {damping}, not at least 0 and below 1"),
            Self::BadEpsilon { epsilon } => {
                write!(out, "epsilon is {epsilon}, not at least {} and finite", super::LEAST_EPSILON)
            }
        }
    }
}

impl std::error::Error for GraphError {}
