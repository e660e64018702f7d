//! A graph, its communities and personalised PageRank as Python sees them.

use mnemic_kernels::graph::{Graph as Kernel, Walk};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::{refused, slice};

/// An undirected graph with weights, whose nodes are known by keys.
#[pyclass(module = "mnemic._native")]
pub struct Graph {
    graph: Kernel,
}

/// Keys and scores.
type Scored<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Graph {
    #[new]
    fn new(
        py: Python<'_>,
        keys: PyReadonlyArray1<'_, u64>,
        sources: PyReadonlyArray1<'_, i64>,
        targets: PyReadonlyArray1<'_, i64>,
        weights: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        let (keys, weights) = (slice(&keys, "keys")?, slice(&weights, "weights")?);
        let (sources, targets) = (slice(&sources, "sources")?, slice(&targets, "targets")?);
        let graph = py.detach(|| Kernel::new(keys, sources, targets, weights)).map_err(refused)?;
        Ok(Self { graph })
    }

    /// How many nodes there are.
    #[getter]
    fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    /// How many edges there are, loops included.
    #[getter]
    fn edges(&self) -> usize {
        self.graph.edges()
    }

    /// The keys of all nodes, row by row.
    fn keys<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_vec(py, py.detach(|| self.graph.keys()))
    }

    /// Add nodes, the GIL released.
    fn add_nodes(&mut self, py: Python<'_>, keys: PyReadonlyArray1<'_, u64>) -> PyResult<()> {
        let keys = slice(&keys, "keys")?;
        py.detach(|| self.graph.add_nodes(keys)).map_err(refused)
    }

    /// Remove nodes, the GIL released; the keys of their neighbours.
    fn remove_nodes<'py>(
        &mut self,
        py: Python<'py>,
        keys: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let keys = slice(&keys, "keys")?;
        let touched = py.detach(|| self.graph.remove_nodes(keys)).map_err(refused)?;
        Ok(PyArray1::from_vec(py, touched))
    }

    /// Set the weights of edges, the GIL released; the keys of the ends of those that changed.
    fn set_edges<'py>(
        &mut self,
        py: Python<'py>,
        sources: PyReadonlyArray1<'py, u64>,
        targets: PyReadonlyArray1<'py, u64>,
        weights: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let (sources, targets) = (slice(&sources, "sources")?, slice(&targets, "targets")?);
        let weights = slice(&weights, "weights")?;
        let touched = py.detach(|| self.graph.set_edges(sources, targets, weights)).map_err(refused)?;
        Ok(PyArray1::from_vec(py, touched))
    }

    /// Find communities, the GIL released.
    fn detect<'py>(
        &self,
        py: Python<'py>,
        resolution: f64,
        seed: u64,
        iterations: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let labels = py.detach(|| self.graph.detect(resolution, seed, iterations)).map_err(refused)?;
        Ok(PyArray1::from_vec(py, labels))
    }

    /// Bring communities up to date, the GIL released.
    fn update<'py>(
        &self,
        py: Python<'py>,
        previous: PyReadonlyArray1<'py, i64>,
        changed: PyReadonlyArray1<'py, u64>,
        resolution: f64,
        seed: u64,
        iterations: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (previous, changed) = (slice(&previous, "labels")?, slice(&changed, "keys")?);
        let updated = py.detach(|| self.graph.update(previous, changed, resolution, seed, iterations));
        Ok(PyArray1::from_vec(py, updated.map_err(refused)?))
    }

    /// The quality of labels, the GIL released.
    fn quality(&self, py: Python<'_>, labels: PyReadonlyArray1<'_, i64>, resolution: f64) -> PyResult<f64> {
        let labels = slice(&labels, "labels")?;
        py.detach(|| self.graph.quality(labels, resolution)).map_err(refused)
    }

    /// Personalised PageRank, the GIL released.
    fn pagerank<'py>(
        &self,
        py: Python<'py>,
        seeds: PyReadonlyArray1<'py, u64>,
        weights: PyReadonlyArray1<'py, f64>,
        damping: f64,
        epsilon: f64,
    ) -> PyResult<Scored<'py>> {
        let (seeds, weights) = (slice(&seeds, "seeds")?, slice(&weights, "weights")?);
        let ranked = py.detach(|| self.graph.pagerank(seeds, weights, Walk { damping, epsilon }));
        let (keys, scores) = ranked.map_err(refused)?;
        Ok((PyArray1::from_vec(py, keys), PyArray1::from_vec(py, scores)))
    }
}
