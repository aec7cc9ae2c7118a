//! Methods of builders.

/// Implements methods that set one field each.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident |$given:ident: $type:ty| $value:expr;)*) => {$(
        $(#[$doc])*
        pub fn $field(mut self, $given: $type) -> Self {
            self.$field = $value;
            self
        }
    )*};
}

pub(crate) use setters;
