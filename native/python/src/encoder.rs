//! The encoder; `mnemic/_native.pyi` documents what Python sees.

use std::collections::HashMap;

use mnemic_kernels::encoder::{self, Activation, Config, Pooling};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::{chosen, refused};

/// A BERT-family model, ready to encode; see `mnemic.algorithms.text.bert`.
#[pyclass(frozen, module = "mnemic._native")]
pub struct Encoder {
    encoder: encoder::Encoder,
}

#[pymethods]
impl Encoder {
    /// Lay out a model's weights, the GIL released.
    #[new]
    #[pyo3(signature = (
        tensors, *, vocabulary, hidden, layers, heads, intermediate, positions, epsilon, activation, pooling, int8
    ))]
    #[allow(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        tensors: HashMap<String, PyReadonlyArrayDyn<'_, f32>>,
        vocabulary: usize,
        hidden: usize,
        layers: usize,
        heads: usize,
        intermediate: usize,
        positions: usize,
        epsilon: f32,
        activation: &str,
        pooling: &str,
        int8: bool,
    ) -> PyResult<Self> {
        let activation = match activation {
            "gelu" => Activation::Gelu,
            "relu" => Activation::Relu,
            _ => return Err(PyValueError::new_err(format!("the activation {activation:?} is not known"))),
        };
        let pooling = match pooling {
            "mean" => Pooling::Mean,
            "cls" => Pooling::Cls,
            "unscaled" => Pooling::Unscaled,
            _ => return Err(PyValueError::new_err(format!("the pooling {pooling:?} is not known"))),
        };
        let config =
            Config { vocabulary, hidden, layers, heads, intermediate, positions, epsilon, activation, pooling };
        let mut slices = HashMap::with_capacity(tensors.len());
        for (name, tensor) in &tensors {
            // `as_slice` alone takes Fortran's order too, and reads it as C's.
            let values = tensor.as_slice().ok().filter(|_| tensor.is_c_contiguous());
            let refusal = || PyValueError::new_err(format!("the tensor {name} is not C-contiguous"));
            slices.insert(name.as_str(), values.ok_or_else(refusal)?);
        }
        let encoder = py.detach(|| encoder::Encoder::new(config, int8, |name| slices.get(name).copied()));
        Ok(Self { encoder: encoder.map_err(refused)? })
    }

    /// Embed windows, the GIL released.
    #[pyo3(signature = (ids, lengths, threads))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        ids: PyReadonlyArray1<'py, i64>,
        lengths: PyReadonlyArray1<'py, i64>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let set = chosen()?;
        let ids = ids.as_slice().map_err(|_| PyValueError::new_err("the token ids are not contiguous"))?;
        let lengths = lengths.as_slice().map_err(|_| PyValueError::new_err("the lengths are not contiguous"))?;
        let lengths: Vec<usize> = lengths.iter().map(|length| usize::try_from(*length).unwrap_or(0)).collect();
        let hidden = self.encoder.config().hidden;
        let mut vectors = vec![0.0; lengths.len() * hidden];
        py.detach(|| self.encoder.encode(set, ids, &lengths, threads, &mut vectors)).map_err(refused)?;
        PyArray1::from_vec(py, vectors).reshape([lengths.len(), hidden])
    }
}
