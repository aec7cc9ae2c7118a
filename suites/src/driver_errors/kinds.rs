//! The commands of the memory chapter, by the operands that they need.

use super::buffer::{Copy, Direction, Transfer};
use super::command::Command;
use super::fill::Fill;
use super::images::Images;
use super::map::{Map, Unmap};
use super::migrate::Migrate;
use super::objects::Objects;
use super::rect::{CopyRect, TransferRect};
use super::svm::Svm;
use super::{image_commands, svm};

/// Commands on buffers.
#[derive(Clone, Copy, Debug)]
pub enum OnBuffers {
    Read,
    Write,
    Copy,
    ReadRect,
    WriteRect,
    CopyRect,
    Fill,
    Map,
    Unmap,
    Migrate,
}

impl OnBuffers {
    pub fn valid(self, objects: &Objects) -> Box<dyn Command> {
        match self {
            Self::Read => Box::new(Transfer::valid(objects, Direction::Read)),
            Self::Write => Box::new(Transfer::valid(objects, Direction::Write)),
            Self::Copy => Box::new(Copy::valid(objects)),
            Self::ReadRect => Box::new(TransferRect::valid(objects, Direction::Read)),
            Self::WriteRect => Box::new(TransferRect::valid(objects, Direction::Write)),
            Self::CopyRect => Box::new(CopyRect::valid(objects)),
            Self::Fill => Box::new(Fill::valid(objects)),
            Self::Map => Box::new(Map::valid(objects)),
            Self::Unmap => Box::new(Unmap::valid(objects)),
            Self::Migrate => Box::new(Migrate::valid(objects)),
        }
    }
}

/// Commands on images.
#[derive(Clone, Copy, Debug)]
pub enum OnImages {
    Read,
    Write,
    Copy,
    CopyToBuffer,
    CopyFromBuffer,
    Fill,
    Map,
}

impl OnImages {
    pub fn valid(self, images: &Images) -> Box<dyn Command + '_> {
        use image_commands::{BufferCopy, Copy, Fill, Map, Transfer};
        match self {
            Self::Read => Box::new(Transfer::valid(images, Direction::Read)),
            Self::Write => Box::new(Transfer::valid(images, Direction::Write)),
            Self::Copy => Box::new(Copy::valid(images)),
            Self::CopyToBuffer => Box::new(BufferCopy::valid(images, Direction::Read)),
            Self::CopyFromBuffer => Box::new(BufferCopy::valid(images, Direction::Write)),
            Self::Fill => Box::new(Fill::valid(images)),
            Self::Map => Box::new(Map::valid(images)),
        }
    }
}

/// Commands on shared virtual memory.
#[derive(Clone, Copy, Debug)]
pub enum OnSvm {
    Copy,
    Fill,
    Map,
}

impl OnSvm {
    pub fn valid(self, memory: &Svm) -> Box<dyn Command> {
        match self {
            Self::Copy => Box::new(svm::Copy::valid(memory)),
            Self::Fill => Box::new(svm::Fill::valid(memory)),
            Self::Map => Box::new(svm::Map::valid(memory)),
        }
    }
}
