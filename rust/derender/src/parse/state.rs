//! Parser states behind one type, so that parsers with different states fit into one list.

use std::any::Any;

/// The state of some parser; only that parser can look into it.
pub struct AnyState(pub(crate) Box<dyn Any + Send>);

impl AnyState {
    pub(crate) fn new<S: super::State>(state: S) -> Self {
        Self(Box::new(state))
    }

    /// The state, where it is of the parser that asks. Another's state is replaced with `fresh`.
    pub(crate) fn get<S: super::State>(&mut self, fresh: impl FnOnce() -> S) -> &mut S {
        if !self.0.is::<S>() {
            self.0 = Box::new(fresh());
        }
        match self.0.downcast_mut() {
            Some(state) => state,
            None => unreachable!("the type was checked above"),
        }
    }

    pub(crate) fn save<S: super::State>(&self) -> Vec<u8> {
        self.0.downcast_ref::<S>().and_then(|state| postcard::to_allocvec(state).ok()).unwrap_or_default()
    }

    pub(crate) fn load<S: super::State>(bytes: &[u8]) -> Option<Self> {
        let (state, rest) = postcard::take_from_bytes::<S>(bytes).ok()?;
        (rest.is_empty() && state.is_valid()).then(|| Self::new(state))
    }
}
