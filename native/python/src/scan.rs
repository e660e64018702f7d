//! Scans over float32 vectors; `mnemic/_native.pyi` documents what Python sees.

use mnemic_kernels::scan;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::{chosen, refused};

/// Take the inner product of each row with the query, the GIL released.
#[pyfunction]
pub fn inner_products<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, f32>,
    query: PyReadonlyArray1<'py, f32>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let set = chosen()?;
    let (rows, width) = (vectors.shape()[0], vectors.shape()[1]);
    let matrix = vectors.as_slice().map_err(|_| PyValueError::new_err("vectors are not C-contiguous"))?;
    let probe = query.as_slice().map_err(|_| PyValueError::new_err("the query is not contiguous"))?;
    if width != probe.len() {
        let length = probe.len();
        return Err(PyValueError::new_err(format!("vectors have {width} columns and the query {length}")));
    }
    let mut products = vec![0.0; rows];
    py.detach(|| scan::inner_products(set, matrix, probe, &mut products)).map_err(refused)?;
    Ok(PyArray1::from_vec(py, products))
}
