//! The kernels as the Python module `mnemic._native`.
//!
//! Thin: checks what the kernels need, releases the GIL around the work, and turns their typed errors into Python's.
//! `mnemic/_native.pyi` documents what Python sees.

#![deny(missing_docs)]

use mnemic_kernels::scan::{self, InstructionSet};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The native extension of Mnemic.
#[pymodule]
mod _native {
    use super::*;

    /// Take the inner product of each row with the query, the GIL released.
    #[pyfunction]
    fn inner_products<'py>(
        py: Python<'py>,
        vectors: PyReadonlyArray2<'py, f32>,
        query: PyReadonlyArray1<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let (rows, width) = (vectors.shape()[0], vectors.shape()[1]);
        let matrix = vectors.as_slice().map_err(|_| PyValueError::new_err("vectors are not C-contiguous"))?;
        let probe = query.as_slice().map_err(|_| PyValueError::new_err("the query is not contiguous"))?;
        if width != probe.len() {
            let length = probe.len();
            return Err(PyValueError::new_err(format!("vectors have {width} columns and the query {length}")));
        }
        let mut products = vec![0.0; rows];
        py.detach(|| scan::inner_products(matrix, probe, &mut products))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyArray1::from_vec(py, products))
    }

    /// Name the code path chosen on this machine.
    #[pyfunction]
    fn instruction_set() -> &'static str {
        InstructionSet::detect().name()
    }
}
