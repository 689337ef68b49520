//! Fields of a part that others read, and that only the part changes.

/// Defines a method for each field, of its name and type.
macro_rules! read {
    ($($field:ident: $type:ty),+ $(,)?) => {
        $(
            #[inline(always)]
            pub fn $field(&self) -> $type {
                self.$field
            }
        )+
    };
}

pub(super) use read;
