//! The numeric kernels of Mnemic.
//!
//! This crate knows no Python: `mnemic-python` stands above it and hands it slices. Each kernel has a portable path and
//! faster ones chosen at run time ([`instructions`]), and a NumPy twin in `tests/oracle.py`.

#![deny(missing_docs)]

pub mod bits;
pub mod codes;
pub mod encoder;
pub mod graph;
pub mod instructions;
pub mod inverted;
pub mod neighbours;
pub mod scan;
