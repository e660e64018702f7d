//! The inverted index; `mnemic/_native.pyi` documents what Python sees.

use mnemic_kernels::inverted::{self, Groups, Search};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::{refused, slice, zeros};

/// Positions, or groups, and how often a word occurs there.
type Counted<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f32>>);
/// Scores, of each word how many documents hold it, and its groups; of each group its length and whether it is seen.
type Matched<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Vec<Counted<'py>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
);

/// In which documents each term occurs.
#[pyclass(module = "mnemic._native")]
#[derive(Default)]
pub struct InvertedIndex {
    index: inverted::InvertedIndex,
}

#[pymethods]
impl InvertedIndex {
    /// An empty one.
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// How many documents were appended.
    #[getter]
    fn documents(&self) -> usize {
        self.index.documents()
    }

    /// What tells these documents from others.
    #[getter]
    fn checksum(&self) -> u64 {
        self.index.checksum()
    }

    /// Append documents, the GIL released.
    fn append(
        &mut self,
        py: Python<'_>,
        rows: PyReadonlyArray1<'_, i64>,
        ends: PyReadonlyArray1<'_, i64>,
        codes: &[u8],
    ) -> PyResult<()> {
        let (rows, ends) = (slice(&rows, "rows")?, slice(&ends, "ends")?);
        py.detach(|| self.index.append(rows, ends, codes)).map_err(refused)
    }

    /// Where any of some terms occurs, the GIL released.
    fn postings<'py>(&self, py: Python<'py>, terms: Vec<u64>) -> Counted<'py> {
        let (positions, counts) = py.detach(|| {
            let found = self.index.postings(&terms);
            found.into_iter().map(|(position, count)| (i64::from(position), count as f32)).unzip()
        });
        (PyArray1::from_vec(py, positions), PyArray1::from_vec(py, counts))
    }

    /// How often words occur in some documents, the GIL released.
    fn counts_at<'py>(
        &self,
        py: Python<'py>,
        words: Vec<Vec<u64>>,
        positions: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let wanted = slice(&positions, "positions")?;
        let counts = py.detach(|| self.index.counts_at(&words, wanted));
        PyArray1::from_vec(py, counts).reshape([words.len(), wanted.len()])
    }

    /// Find the words of a question, the GIL released.
    #[pyo3(signature = (words, visible, k1, lengths, groups, group_count))]
    #[allow(clippy::too_many_arguments, reason = "Python names them")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        words: Vec<Vec<u64>>,
        visible: PyReadonlyArray1<'py, bool>,
        k1: f64,
        lengths: PyReadonlyArray1<'py, i64>,
        groups: Option<PyReadonlyArray1<'py, i64>>,
        group_count: usize,
    ) -> PyResult<Matched<'py>> {
        let lengths = slice(&lengths, "lengths")?;
        let of = groups.as_ref().map(|groups| slice(groups, "groups")).transpose()?;
        let groups = of.map(|of| Groups { of, lengths, count: group_count });
        let search = Search { visible: slice(&visible, "visible")?, k1, groups };
        let scores: Bound<'_, PyArray1<f64>> = zeros(py, [search.visible.len()])?;
        let found = {
            let mut scores = scores.readwrite();
            let written = scores.as_slice_mut().map_err(refused)?;
            py.detach(|| self.index.search(&words, &search, written)).map_err(refused)?
        };
        let arrays = |(groups, counts)| (PyArray1::from_vec(py, groups), PyArray1::from_vec(py, counts));
        let grouped = found.grouped.into_iter().map(arrays).collect();
        let (holding, lengths) = (PyArray1::from_vec(py, found.holding), PyArray1::from_vec(py, found.lengths));
        Ok((scores, holding, grouped, lengths, PyArray1::from_vec(py, found.visible)))
    }
}
