//! The nearest others of rows of codes; `mnemic/_native.pyi` documents what Python sees.

use mnemic_kernels::neighbours::{self, Grouped};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::scan::row_major;
use crate::{chosen, refused, slice, zeros};

/// Neighbours and cosines of each row asked for, then query, row and cosine of each hit.
type Found<'py> = (
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f32>>,
);

/// Find the nearest others of some rows, each within its group, the GIL released.
#[pyfunction]
#[pyo3(signature = (codes, scales, groups, rows, k, bounds, threads))]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub fn code_neighbours<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray2<'py, i8>,
    scales: PyReadonlyArray1<'py, f32>,
    groups: PyReadonlyArray1<'py, i32>,
    rows: PyReadonlyArray1<'py, i64>,
    k: usize,
    bounds: Option<PyReadonlyArray1<'py, f32>>,
    threads: usize,
) -> PyResult<Found<'py>> {
    let set = chosen()?;
    let among = Grouped {
        codes: row_major(&codes, "codes")?,
        dimensions: codes.shape()[1],
        scales: slice(&scales, "scales")?,
        groups: slice(&groups, "groups")?,
        bounds: bounds.as_ref().map(|bounds| slice(bounds, "bounds")).transpose()?,
    };
    let asked = slice(&rows, "rows")?;
    let neighbours: Bound<'_, PyArray2<i64>> = zeros(py, [asked.len(), k])?;
    let cosines: Bound<'_, PyArray2<f32>> = zeros(py, [asked.len(), k])?;
    let hits = {
        let (mut neighbours, mut cosines) = (neighbours.readwrite(), cosines.readwrite());
        let written = neighbours.as_slice_mut().map_err(refused)?;
        let beside = cosines.as_slice_mut().map_err(refused)?;
        py.detach(|| neighbours::nearest(set, among, asked, threads, written, beside)).map_err(refused)?
    };
    let queries = PyArray1::from_iter(py, hits.iter().map(|hit| hit.query as i64));
    let hit_rows = PyArray1::from_iter(py, hits.iter().map(|hit| hit.row as i64));
    let hit_cosines = PyArray1::from_iter(py, hits.iter().map(|hit| hit.cosine));
    Ok((neighbours, cosines, queries, hit_rows, hit_cosines))
}
