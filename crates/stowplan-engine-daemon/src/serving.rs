//! One thread that speaks to a daemon.

use std::future::Future;

use futures_util::stream::{self, StreamExt};
use stowplan_engine::EngineError;
use tokio::runtime::{Builder, Runtime};

/// The thread of this process as the executor of a connection: between calls nothing of it runs.
#[derive(Debug)]
pub struct Serving(Runtime);

impl Serving {
    /// Prepares it.
    ///
    /// # Errors
    /// When the kernel has no descriptors left.
    pub fn new() -> Result<Self, EngineError> {
        Builder::new_current_thread()
            .enable_all()
            .build()
            .map(Self)
            .map_err(|e| EngineError::new("cannot prepare to speak to a daemon").because(e))
    }

    /// Drives a future to its end.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.block_on(future)
    }

    /// Has a future go on whenever another one is driven, until it ends or this goes.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(future);
    }

    /// Drives one future for each item, at most `parallelism` at once (0 is no limit), to their ends; gives what came
    /// of each in the order of the items.
    pub fn each<I, T, F: Future<Output = T>>(
        &self,
        items: Vec<I>,
        parallelism: u32,
        begin: impl Fn(I) -> F,
    ) -> Vec<T> {
        let most = match parallelism {
            0 => items.len().max(1),
            limit => limit as usize,
        };
        let numbered = items.into_iter().enumerate().map(|(number, item)| {
            let future = begin(item);
            async move { (number, future.await) }
        });
        let mut ended: Vec<(usize, T)> =
            self.wait(stream::iter(numbered).buffer_unordered(most).collect());
        ended.sort_by_key(|(number, _)| *number);
        ended.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn at_most_so_many_are_begun_and_all_come_back_in_order() {
        let serving = Serving::new().unwrap();
        let (running, most) = (Cell::new(0), Cell::new(0));
        let came = serving.each((0..7).collect(), 3, |number| {
            let (running, most) = (&running, &most);
            async move {
                running.set(running.get() + 1);
                most.set(most.get().max(running.get()));
                tokio::task::yield_now().await;
                running.set(running.get() - 1);
                number * 2
            }
        });
        assert_eq!(came, [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!(most.get(), 3);
    }
}
