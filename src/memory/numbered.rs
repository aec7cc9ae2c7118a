//! Enumerations of OpenCL.

/// Defines an enumeration with OpenCL's numbers.
macro_rules! numbered {
    ($(#[$enum_doc:meta])* $enum:ident; $($(#[$doc:meta])* $variant:ident = $number:expr;)*) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum $enum {
            $($(#[$doc])* $variant = $number,)*
        }

        impl $enum {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns OpenCL's number.
            pub const fn as_raw(self) -> u32 {
                self as u32
            }

            /// Returns the value with the number `raw` in OpenCL; `None` for other numbers.
            pub fn from_raw(raw: u32) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_raw() == raw)
            }
        }
    };
}
