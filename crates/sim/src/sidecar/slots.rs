//! Numbered values that packets share.

/// Values by number, each with the count of packets that share it. Numbers begin at 1, so that 0 means none, and are
/// reused.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    slots: Vec<(T, u32)>,
    free: Vec<u32>,
    held: u64,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), held: 0 }
    }
}

impl<T: Clone + Default> Slots<T> {
    /// Stores a value for one packet. Returns the value's number.
    pub fn put(&mut self, value: T) -> u32 {
        self.held += 1;
        if let Some(id) = self.free.pop() {
            self.slots[id as usize - 1] = (value, 1);
            return id;
        }
        self.slots.push((value, 1));
        self.slots.len() as u32
    }

    /// The value with a number, if there is one.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        let place = id.checked_sub(1)?;
        self.slots.get_mut(place as usize).map(|slot| &mut slot.0)
    }

    /// Takes the value of a packet that has arrived or is lost; the value stays for other packets that share it.
    pub fn take(&mut self, id: u32) -> Option<T> {
        let (value, holders) = self.slots.get_mut(id.checked_sub(1)? as usize)?;
        self.held -= 1;
        *holders -= 1;
        if *holders > 0 {
            return Some(value.clone());
        }
        self.free.push(id);
        Some(std::mem::take(value))
    }

    /// Adds a packet that shares the value.
    pub fn share(&mut self, id: u32) {
        if let Some((_, holders)) = id.checked_sub(1).and_then(|place| self.slots.get_mut(place as usize)) {
            self.held += 1;
            *holders += 1;
        }
    }

    /// Number of packets with a value.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_changed_shared_and_given_back() {
        let mut slots = Slots::default();
        let ids: Vec<u32> = [10, 20, 30].map(|value| slots.put(value)).into();
        assert_eq!(ids, [1, 2, 3]);
        *slots.get_mut(2).expect("it is there") = 25;
        slots.share(2);
        assert_eq!(slots.held(), 4);
        for _ in 0..2 {
            assert_eq!(slots.take(2), Some(25));
        }
        assert_eq!((slots.put(40), slots.held()), (2, 3));
        assert!(slots.take(0).is_none() && slots.take(9).is_none());
    }
}
