//! An embedding model and vectors of it, as JavaScript passes them.

use napi::bindgen_prelude::Float32Array;
use napi_derive::napi;

use crate::vectors::set_file;

/// An embedding model, as the index knows it.
#[napi(object)]
pub struct VectorModel {
    /// Identifies everything that determines a vector, 1 to 480 bytes without line breaks.
    pub fingerprint: String,
    /// Number of components of a vector, 1 to 4,096.
    pub dimensions: u32,
}

/// Vectors of one model, `[chunks, dimensions]`.
#[napi(object)]
pub struct VectorsOfModel {
    /// Fingerprint of the model.
    pub fingerprint: String,
    /// One unit vector per chunk.
    pub vectors: Float32Array,
}

impl VectorModel {
    pub(super) fn to_core(&self) -> set_file::VectorModel {
        set_file::VectorModel { fingerprint: self.fingerprint.clone(), dimensions: self.dimensions as usize }
    }

    pub(super) fn of_core(model: set_file::VectorModel) -> VectorModel {
        VectorModel { fingerprint: model.fingerprint, dimensions: model.dimensions as u32 }
    }
}
