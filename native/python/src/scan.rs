//! Scans over float32 vectors and over their codes; `mnemic/_native.pyi` documents what Python sees.

use mnemic_kernels::codes::{self, Coded};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::{chosen, refused, zeros};

/// Codes and scales, as `quantise` gives them.
type Quantised<'py> = (Bound<'py, PyArray2<i8>>, Bound<'py, PyArray1<f32>>);

/// Make each row's codes and scale, the GIL released.
#[pyfunction]
pub fn quantise<'py>(py: Python<'py>, vectors: PyReadonlyArray2<'py, f32>) -> PyResult<Quantised<'py>> {
    let set = chosen()?;
    let (rows, width) = (vectors.shape()[0], vectors.shape()[1]);
    let matrix = row_major(&vectors, "vectors")?;
    // NumPy's own memory: it asks for huge pages, without which a scan of it takes half as long again.
    let codes: Bound<'_, PyArray2<i8>> = zeros(py, [rows, width])?;
    let scales: Bound<'_, PyArray1<f32>> = zeros(py, [rows])?;
    {
        let (mut codes, mut scales) = (codes.readwrite(), scales.readwrite());
        let written = codes.as_slice_mut().map_err(refused)?;
        let factors = scales.as_slice_mut().map_err(refused)?;
        py.detach(|| codes::quantise(set, matrix, width, written, factors)).map_err(refused)?;
    }
    Ok((codes, scales))
}

/// Score each allowed row, the best exactly, the GIL released.
#[pyfunction]
#[pyo3(signature = (vectors, codes, scales, query, allowed, exact))]
pub fn score_vectors<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, f32>,
    codes: PyReadonlyArray2<'py, i8>,
    scales: PyReadonlyArray1<'py, f32>,
    query: PyReadonlyArray1<'py, f32>,
    allowed: Option<PyReadonlyArray1<'py, u64>>,
    exact: usize,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let set = chosen()?;
    let coded = coded(&vectors, &codes, &scales, query.len())?;
    let probe = query.as_slice().map_err(|_| PyValueError::new_err("the query is not contiguous"))?;
    let mask = words(allowed.as_ref())?;
    let scores: Bound<'_, PyArray1<f32>> = zeros(py, [coded.scales.len()])?;
    {
        let mut scores = scores.readwrite();
        let written = scores.as_slice_mut().map_err(refused)?;
        py.detach(|| codes::scores(set, coded, probe, mask, exact, written)).map_err(refused)?;
    }
    Ok(scores)
}

/// The three arrays as the kernels take them.
fn coded<'a>(
    vectors: &'a PyReadonlyArray2<'_, f32>,
    codes: &'a PyReadonlyArray2<'_, i8>,
    scales: &'a PyReadonlyArray1<'_, f32>,
    width: usize,
) -> PyResult<Coded<'a>> {
    if vectors.shape() != codes.shape() || scales.len() != vectors.shape()[0] {
        return Err(PyValueError::new_err(format!(
            "vectors {:?}, codes {:?} and scales {:?} are not of the same rows",
            vectors.shape(),
            codes.shape(),
            scales.shape()
        )));
    }
    same_width(vectors.shape()[1], width)?;
    Ok(Coded {
        vectors: row_major(vectors, "vectors")?,
        codes: row_major(codes, "codes")?,
        scales: scales.as_slice().map_err(|_| PyValueError::new_err("scales are not contiguous"))?,
    })
}

/// A matrix as it lies in memory, row by row; `as_slice` alone would give one that lies column by column, too.
pub fn row_major<'a, T: Element>(matrix: &'a PyReadonlyArray2<'_, T>, name: &str) -> PyResult<&'a [T]> {
    let values = if matrix.is_c_contiguous() { matrix.as_slice().ok() } else { None };
    values.ok_or_else(|| PyValueError::new_err(format!("{name} are not C-contiguous")))
}

fn same_width(width: usize, length: usize) -> PyResult<()> {
    if width == length {
        Ok(())
    } else {
        Err(PyValueError::new_err(format!("vectors have {width} columns and the query {length}")))
    }
}

fn words<'a>(allowed: Option<&'a PyReadonlyArray1<'_, u64>>) -> PyResult<Option<&'a [u64]>> {
    let mask = allowed.map(|mask| mask.as_slice()).transpose();
    mask.map_err(|_| PyValueError::new_err("the mask is not contiguous"))
}
