//! The commands of the memory chapter, by the operands that they need.

use super::buffer::{Copy, Transfer};
use super::fill::Fill;
use super::map::{Map, Unmap};
use super::migrate::Migrate;
use super::prelude::*;
use super::rect::{CopyRect, TransferRect};
use super::{image_commands, svm};

/// Declares commands by their operands, each with the command that is valid.
macro_rules! kinds {
    ($($(#[$attribute:meta])* $Kind:ident($on:ident: &$On:ident) {
        $($kind:ident => $valid:expr,)*
    })*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        pub enum $Kind {
            $($kind,)*
        }

        impl $Kind {
            pub fn valid(self, $on: &$On) -> Box<dyn Command> {
                match self {
                    $(Self::$kind => Box::new($valid),)*
                }
            }
        }
    )*};
}

kinds! {
    /// Commands on buffers.
    OnBuffers(objects: &Objects) {
        Read => Transfer::valid(objects, Direction::Read),
        Write => Transfer::valid(objects, Direction::Write),
        Copy => Copy::valid(objects),
        ReadRect => TransferRect::valid(objects, Direction::Read),
        WriteRect => TransferRect::valid(objects, Direction::Write),
        CopyRect => CopyRect::valid(objects),
        Fill => Fill::valid(objects),
        Map => Map::valid(objects),
        Unmap => Unmap::valid(objects),
        Migrate => Migrate::valid(objects),
    }
    /// Commands on images.
    OnImages(images: &Images) {
        Read => image_commands::Transfer::valid(images, Direction::Read),
        Write => image_commands::Transfer::valid(images, Direction::Write),
        Copy => image_commands::Copy::valid(images),
        CopyToBuffer => image_commands::BufferCopy::valid(images, Direction::Read),
        CopyFromBuffer => image_commands::BufferCopy::valid(images, Direction::Write),
        Fill => image_commands::Fill::valid(images),
        Map => image_commands::Map::valid(images),
    }
    /// Commands on shared virtual memory.
    OnSvm(memory: &Svm) {
        Copy => svm::Copy::valid(memory),
        Fill => svm::Fill::valid(memory),
        Map => svm::Map::valid(memory),
    }
}
