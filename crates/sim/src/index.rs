//! Index newtypes, so that an index of one kind cannot be used as another.

/// Declares index newtypes over `u32`.
macro_rules! index {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The index into a list.
            #[must_use]
            #[inline(always)]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

pub(crate) use index;
