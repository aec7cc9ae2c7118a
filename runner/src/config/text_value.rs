//! Values that are written as TOML strings.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Visitor};

/// A value that is written as a TOML string.
pub(super) trait Text: Sized {
    /// The expected value, for the message about a value that is not a string.
    const EXPECTED: &str;

    /// Checks the text; the error is the reason why it is invalid.
    fn parse(text: &str) -> Result<Self, String>;
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: Text> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(E::custom)
    }
}

/// Reads a value.
pub(super) fn deserialize<'de, T: Text, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(TextVisitor(PhantomData))
}

/// Implements serde's trait, which cannot be implemented for every [`Text`] at once.
macro_rules! deserialize_from_text {
    ($($type:ty),*) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::config::text_value::deserialize(deserializer)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let expected = <Self as $crate::config::text_value::Text>::EXPECTED;
                schemars::json_schema!({ "type": "string", "title": expected })
            }
        }
    )*};
}

pub(super) use deserialize_from_text;
