//! The kernels as the Python module `mnemic._native`.
//!
//! Thin: checks what the kernels need, releases the GIL around the work, and turns their typed errors into Python's.
//! `mnemic/_native.pyi` documents what Python sees.

#![deny(missing_docs)]

use std::fmt::Display;

use mnemic_kernels::instructions::InstructionSet;
use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

mod bits;
mod encoder;
mod graph;
mod inverted;
mod neighbours;
mod scan;

/// The native extension of Mnemic.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::bits::{
        bind_bits, bind_groups, bundle_bits, bundle_groups, count_bits, hamming_distances, hamming_distances_of,
        hamming_nearest, majority_bits, rotate_bits, Planes,
    };
    #[pymodule_export]
    use super::encoder::Encoder;
    #[pymodule_export]
    use super::graph::Graph;
    #[pymodule_export]
    use super::instruction_set;
    #[pymodule_export]
    use super::inverted::InvertedIndex;
    #[pymodule_export]
    use super::neighbours::code_neighbours;
    #[pymodule_export]
    use super::scan::{quantise, score_vectors};
}

/// Name the code path chosen on this machine.
#[pyfunction]
fn instruction_set() -> PyResult<&'static str> {
    Ok(chosen()?.name())
}

/// The instruction set in force; a ValueError where the environment names one that cannot be.
fn chosen() -> PyResult<InstructionSet> {
    InstructionSet::chosen().map_err(refused)
}

/// Zeros in NumPy's own memory; a MemoryError where there is not enough, at which Rust's would abort.
fn zeros<'py, T: Element, D: Dimension, const N: usize>(
    py: Python<'py>,
    shape: [usize; N],
) -> PyResult<Bound<'py, PyArray<T, D>>> {
    let made = py.import("numpy")?.call_method1("zeros", (shape, T::get_dtype(py)))?;
    Ok(made.cast_into()?)
}

/// A kernel's typed error as Python's.
fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What a one-dimensional array holds; a ValueError where it is not contiguous.
fn slice<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>, name: &str) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| PyValueError::new_err(format!("{name} are not contiguous")))
}
