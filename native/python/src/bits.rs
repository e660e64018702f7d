//! Hypervectors of packed bits; `mnemic/_native.pyi` documents what Python sees.

use mnemic_kernels::bits;
use numpy::ndarray::Dimension;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray,
    PyReadwriteArray1, PyReadwriteArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::{chosen, refused, zeros};

/// Distances, or rows and their distances.
type Found<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// The Hamming distance of each row from the query, the GIL released.
#[pyfunction]
pub fn hamming_distances<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, u64>,
    query: PyReadonlyArray1<'py, u64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let set = chosen()?;
    alike(vectors.shape()[1], query.len())?;
    let (rows, probe) = (values(&vectors, "vectors")?, values(&query, "query")?);
    let distances: Bound<'_, PyArray1<i64>> = zeros(py, [vectors.shape()[0]])?;
    {
        let mut distances = distances.readwrite();
        let written = values_mut(&mut distances, "distances")?;
        py.detach(|| bits::distances(set, rows, probe, written)).map_err(refused)?;
    }
    Ok(distances)
}

/// The Hamming distance of each row from each query, the GIL released.
#[pyfunction]
pub fn hamming_distances_of<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, u64>,
    queries: PyReadonlyArray2<'py, u64>,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let set = chosen()?;
    let words = vectors.shape()[1];
    alike(words, queries.shape()[1])?;
    let (rows, probes) = (values(&vectors, "vectors")?, values(&queries, "queries")?);
    let distances: Bound<'_, PyArray2<i32>> = zeros(py, [vectors.shape()[0], queries.shape()[0]])?;
    {
        let mut distances = distances.readwrite();
        let written = values_mut(&mut distances, "distances")?;
        py.detach(|| bits::distances_of(set, rows, probes, words, written)).map_err(refused)?;
    }
    Ok(distances)
}

/// The rows nearest to the query, and their distances, the GIL released.
#[pyfunction]
pub fn hamming_nearest<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, u64>,
    query: PyReadonlyArray1<'py, u64>,
    k: usize,
) -> PyResult<Found<'py>> {
    let set = chosen()?;
    alike(vectors.shape()[1], query.len())?;
    let (rows, probe) = (values(&vectors, "vectors")?, values(&query, "query")?);
    let found = py.detach(|| bits::nearest(set, rows, probe, k)).map_err(refused)?;
    let (distances, rows) = found.into_iter().unzip();
    Ok((PyArray1::from_vec(py, rows), PyArray1::from_vec(py, distances)))
}

/// Add to each counter in how many rows its bit is set, times the weight, the GIL released.
#[pyfunction]
pub fn count_bits<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, u64>,
    weight: i32,
    mut counters: PyReadwriteArray1<'py, i32>,
) -> PyResult<()> {
    let set = chosen()?;
    alike(vectors.shape()[1], counters.len() / 64)?;
    let rows = values(&vectors, "vectors")?;
    let sums = values_mut(&mut counters, "counters")?;
    py.detach(|| bits::count(set, rows, weight, sums)).map_err(refused)
}

/// What most of the counted have, the GIL released.
#[pyfunction]
pub fn majority_bits<'py>(
    py: Python<'py>,
    counters: PyReadonlyArray1<'py, i32>,
    total: i32,
    tie: PyReadonlyArray1<'py, u64>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let set = chosen()?;
    let (sums, tie) = (values(&counters, "counters")?, values(&tie, "tie")?);
    let mut bundled = vec![0; tie.len()];
    py.detach(|| bits::majority(set, sums, total, tie, &mut bundled)).map_err(refused)?;
    Ok(PyArray1::from_vec(py, bundled))
}

/// What most rows have, the GIL released.
#[pyfunction]
pub fn bundle_bits<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, u64>,
    tie: PyReadonlyArray1<'py, u64>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let set = chosen()?;
    alike(vectors.shape()[1], tie.len())?;
    let (rows, tie) = (values(&vectors, "vectors")?, values(&tie, "tie")?);
    let mut bundled = vec![0; tie.len()];
    py.detach(|| bits::bundle(set, rows, tie, &mut bundled)).map_err(refused)?;
    Ok(PyArray1::from_vec(py, bundled))
}

/// Each group bundled, the GIL released.
#[pyfunction]
#[pyo3(signature = (vectors, offsets, ties, rows=None))]
pub fn bundle_groups<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, u64>,
    offsets: PyReadonlyArray1<'py, i64>,
    ties: PyReadonlyArray2<'py, u64>,
    rows: Option<PyReadonlyArray1<'py, i64>>,
) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let set = chosen()?;
    let words = vectors.shape()[1];
    alike(ties.shape()[1], words)?;
    let members = rows.as_ref().map(|rows| values(rows, "rows")).transpose()?;
    let groups = bits::Groups { offsets: values(&offsets, "offsets")?, rows: members };
    let (all, each) = (values(&vectors, "vectors")?, values(&ties, "ties")?);
    let bundled: Bound<'_, PyArray2<u64>> = zeros(py, [ties.shape()[0], words])?;
    {
        let mut bundled = bundled.readwrite();
        let written = values_mut(&mut bundled, "bundled")?;
        py.detach(|| bits::bundle_groups(set, all, words, groups, each, written)).map_err(refused)?;
    }
    Ok(bundled)
}

/// Each group bound into one, the GIL released.
#[pyfunction]
#[pyo3(signature = (vectors, offsets, rows=None))]
pub fn bind_groups<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, u64>,
    offsets: PyReadonlyArray1<'py, i64>,
    rows: Option<PyReadonlyArray1<'py, i64>>,
) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let set = chosen()?;
    let words = vectors.shape()[1];
    alike(words, words)?;
    let members = rows.as_ref().map(|rows| values(rows, "rows")).transpose()?;
    let groups = bits::Groups { offsets: values(&offsets, "offsets")?, rows: members };
    let all = values(&vectors, "vectors")?;
    let bound: Bound<'_, PyArray2<u64>> = zeros(py, [offsets.len().saturating_sub(1), words])?;
    {
        let mut bound = bound.readwrite();
        let written = values_mut(&mut bound, "bound")?;
        py.detach(|| bits::bind_groups(set, all, words, groups, written)).map_err(refused)?;
    }
    Ok(bound)
}

/// Hyperplanes, laid out once.
#[pyclass(frozen, module = "mnemic._native")]
pub struct Planes(bits::Planes);

#[pymethods]
impl Planes {
    #[new]
    fn new(py: Python<'_>, normals: PyReadonlyArray2<'_, i8>) -> PyResult<Self> {
        let (width, each) = (normals.shape()[1], values(&normals, "normals")?);
        Ok(Self(py.detach(|| bits::Planes::new(each, width)).map_err(refused)?))
    }

    /// The sides on which each embedding lies, the GIL released.
    fn project<'py>(
        &self,
        py: Python<'py>,
        embeddings: PyReadonlyArray2<'py, i8>,
        tie: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray2<u64>>> {
        let set = chosen()?;
        if embeddings.shape()[1] != self.0.width() {
            let (given, expected) = (embeddings.shape()[1], self.0.width());
            return Err(PyValueError::new_err(format!("embeddings of {given} values, where {expected} are expected")));
        }
        let (each, tie) = (values(&embeddings, "embeddings")?, values(&tie, "tie")?);
        let sides: Bound<'_, PyArray2<u64>> = zeros(py, [embeddings.shape()[0], self.0.words()])?;
        {
            let mut sides = sides.readwrite();
            let written = values_mut(&mut sides, "sides")?;
            py.detach(|| self.0.project(set, each, tie, written)).map_err(refused)?;
        }
        Ok(sides)
    }
}

/// Write the rows rotated, the GIL released.
#[pyfunction]
pub fn rotate_bits<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, u64>,
    shift: i64,
    mut out: PyReadwriteArray2<'py, u64>,
) -> PyResult<()> {
    let set = chosen()?;
    let words = vectors.shape()[1];
    alike(out.shape()[1], words)?;
    let rows = values(&vectors, "vectors")?;
    let rotated = values_mut(&mut out, "out")?;
    py.detach(|| bits::rotate(set, rows, words, shift, rotated)).map_err(refused)
}

/// Write the rows bound with the others, or each with the one, the GIL released.
#[pyfunction]
pub fn bind_bits<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray2<'py, u64>,
    others: PyReadonlyArray2<'py, u64>,
    mut out: PyReadwriteArray2<'py, u64>,
) -> PyResult<()> {
    let set = chosen()?;
    let words = vectors.shape()[1];
    alike(others.shape()[1], words)?;
    alike(out.shape()[1], words)?;
    let (rows, others) = (values(&vectors, "vectors")?, values(&others, "others")?);
    let bound = values_mut(&mut out, "out")?;
    py.detach(|| bits::bind(set, rows, others, words, bound)).map_err(refused)
}

/// That rows have as many words as are expected, and any: without words any number of rows takes up nothing.
fn alike(given: usize, expected: usize) -> PyResult<()> {
    if given == 0 {
        Err(refused(bits::BitsError::NoWords))
    } else if given == expected {
        Ok(())
    } else {
        Err(PyValueError::new_err(format!("rows of {given} words, where {expected} are expected")))
    }
}

/// The values of an array as they lie, row by row.
fn values<'a, T: Element, D: Dimension>(array: &'a PyReadonlyArray<'_, T, D>, what: &str) -> PyResult<&'a [T]> {
    // `as_slice` alone would also give the columns of an array in Fortran's order.
    if !array.is_c_contiguous() {
        return Err(unfit(what));
    }
    array.as_slice().map_err(|_| unfit(what))
}

/// As [`values`], to be written.
fn values_mut<'a, T: Element, D: Dimension>(
    array: &'a mut PyReadwriteArray<'_, T, D>,
    what: &str,
) -> PyResult<&'a mut [T]> {
    if !array.is_c_contiguous() {
        return Err(unfit(what));
    }
    array.as_slice_mut().map_err(|_| unfit(what))
}

fn unfit(what: &str) -> PyErr {
    PyValueError::new_err(format!("{what}: not C-contiguous and aligned"))
}
