//! Bounds on one template run: steps, bytes and time.

use std::time::{Duration, Instant};

use crate::error::{Outcome, TemplateError};

/// Work is charged in steps; this many bytes of text or list made cost one.
const BYTES_PER_STEP: usize = 64;

/// The clock is read once per this many charges, as reading it costs more than a step.
const CHARGES_PER_CLOCK_READ: u32 = 256;

/// What one template run may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Steps: statements, expressions, items visited by filters, and 64-byte pieces of text made.
    pub fuel: u64,
    /// Bytes of the output, and of any one text or list made on the way.
    pub output_bytes: usize,
    /// Wall-clock time.
    pub time: Duration,
}

impl Default for Budget {
    /// Far beyond what a real conversation needs (a thousand turns take about 200,000 steps), and still
    /// over in under a second.
    fn default() -> Self {
        Self { fuel: 5_000_000, output_bytes: 16 << 20, time: Duration::from_secs(1) }
    }
}

/// Keeps count of what is left of a [`Budget`].
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Budget,
    left: u64,
    deadline: Option<Instant>,
    charges: u32,
}

impl Meter {
    /// Starts the clock.
    pub fn new(limits: &Budget) -> Self {
        // A time so long that it cannot be added to the clock is no limit.
        let deadline = Instant::now().checked_add(limits.time);
        Self { limits: *limits, left: limits.fuel, deadline, charges: 0 }
    }

    /// Charges `steps`.
    pub fn spend(&mut self, steps: usize) -> Outcome<()> {
        let steps = steps as u64;
        if steps > self.left {
            self.left = 0;
            return Err(TemplateError::TooManySteps { limit: self.limits.fuel });
        }
        self.left -= steps;
        self.charges += 1;
        if self.charges >= CHARGES_PER_CLOCK_READ {
            self.charges = 0;
            if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(TemplateError::TooSlow { limit: self.limits.time });
            }
        }
        Ok(())
    }

    /// Charges for a text or list of `bytes` that is about to be made, before it is made.
    pub fn allocate(&mut self, bytes: usize) -> Outcome<()> {
        if bytes > self.limits.output_bytes {
            return Err(TemplateError::OutputTooLarge { bytes, limit: self.limits.output_bytes });
        }
        if bytes >= BYTES_PER_STEP { self.spend(bytes / BYTES_PER_STEP) } else { Ok(()) }
    }

    /// The most bytes that a text may have.
    pub fn output_bytes(&self) -> usize {
        self.limits.output_bytes
    }

    /// Charges for a list of `length` values that is about to be made.
    pub fn allocate_items(&mut self, length: usize) -> Outcome<()> {
        self.allocate(length.saturating_mul(size_of::<crate::value::Value>()))
    }
}
