//! The kinds of memory behind a [`SliceMap`](super::SliceMap).

use std::sync::Arc;

use super::mapping::Mapping;
use super::sealed;
use crate::memory::buffer::Held;
use crate::memory::svm::Accessing;
use crate::memory::svm::memory::SvmMemory;

/// A kind of memory whose elements a [`SliceMap`](super::SliceMap) shows: [`BufferMapKind`],
/// [`SvmMapKind`] or [`SvmAccessKind`].
pub trait MapKind: sealed::Kind {}

/// A kind of memory that a queue maps and unmaps: [`BufferMapKind`] or [`SvmMapKind`].
pub trait MappedKind: MapKind + sealed::MappedKind {}

/// Buffers that are mapped: see [`BufferMap`](super::BufferMap).
pub enum BufferMapKind {}

impl MapKind for BufferMapKind {}
impl MappedKind for BufferMapKind {}

impl sealed::Kind for BufferMapKind {
    type Guard = Mapping<Held>;
}

impl sealed::MappedKind for BufferMapKind {
    type Memory = Held;
}

/// Shared virtual memory that is mapped: see [`SvmMap`](super::SvmMap).
pub enum SvmMapKind {}

impl MapKind for SvmMapKind {}
impl MappedKind for SvmMapKind {}

impl sealed::Kind for SvmMapKind {
    type Guard = Mapping<Arc<SvmMemory>>;
}

impl sealed::MappedKind for SvmMapKind {
    type Memory = Arc<SvmMemory>;
}

/// Fine-grain shared virtual memory that the host uses without a map: see
/// [`SvmAccess`](crate::memory::SvmAccess).
pub enum SvmAccessKind {}

impl MapKind for SvmAccessKind {}

impl sealed::Kind for SvmAccessKind {
    type Guard = Accessing;
}
