//! What the events of one entity have said of it so far, in whatever order they came.
//!
//! rclcpp emits `rcl_subscription_init`, `rclcpp_subscription_init`,
//! `rclcpp_subscription_callback_added` for most subscriptions. For the part of a subscription
//! that gets messages inside the process it emits `rclcpp_ipb_to_subscription`,
//! `rclcpp_subscription_callback_added` and `rclcpp_callback_register` before
//! `rclcpp_subscription_init` (constructor of `SubscriptionIntraProcess`). CARET emits all
//! events of one kind before those of the next.

use crate::ids::CallbackId;

/// The pieces of an entity at an address: what made it, its callback, its node.
///
/// Each comes once in the life of an entity. One that comes again is of another entity,
/// which has the address of the first after it is gone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces<M, N = ()> {
    pub made: Option<M>,
    pub callback: Option<CallbackId>,
    pub node: Option<N>,
}

impl<M, N> Default for Pieces<M, N> {
    fn default() -> Self {
        Self {
            made: None,
            callback: None,
            node: None,
        }
    }
}

impl<M, N> Pieces<M, N> {
    /// The event that made the entity.
    pub fn make(&mut self, made: M) -> &Self {
        if self.made.is_some() {
            *self = Self::default();
        }
        self.made = Some(made);
        self
    }

    /// The event that gives it a callback.
    pub fn call(&mut self, callback: CallbackId) -> &Self {
        if self.callback.is_some() {
            *self = Self::default();
        }
        self.callback = Some(callback);
        self
    }

    /// The event that gives it a node.
    pub fn belong(&mut self, node: N) -> &Self {
        if self.node.is_some() {
            *self = Self::default();
        }
        self.node = Some(node);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn pieces_come_together_in_any_order() {
        let first = CallbackId::new(1);
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            let mut pieces: Pieces<u64, u64> = Pieces::default();
            for piece in order {
                match piece {
                    0 => pieces.make(7),
                    1 => pieces.call(first),
                    _ => pieces.belong(9),
                };
            }
            assert_eq!(pieces.made, Some(7));
            assert_eq!(pieces.callback, Some(first));
            assert_eq!(pieces.node, Some(9));
        }
    }

    #[test]
    fn a_piece_that_comes_again_is_of_another_entity() {
        let (first, second) = (CallbackId::new(1), CallbackId::new(2));
        let mut pieces: Pieces<u64> = Pieces::default();
        pieces.make(7);
        pieces.call(first);
        assert_eq!(pieces.call(second).made, None);
        assert_eq!(pieces.make(8).callback, Some(second));
        assert_eq!(pieces.make(9).callback, None);
    }
}
