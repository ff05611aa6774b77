//! Whose a callback is: joins what the events of subscriptions, timers and services say, whatever
//! their order.

use super::Registry;
use crate::event::{Address, Body};
use crate::graph::{CreationEvent, Owner};
use crate::ids::{CallbackId, ProcessId};

impl Registry {
    /// Takes an event that says which entity a callback, a node or an object is of.
    pub(super) fn join(&mut self, process: ProcessId, body: &Body<'_>) {
        match *body {
            Body::RclcppSubscriptionInit {
                subscription,
                object,
            } => {
                let pieces = self.objects.entry((process, object)).or_default();
                pieces.make(subscription);
                self.bind_subscription(process, object);
            }
            Body::SubscriptionCallbackAdded { object, callback } => {
                self.subscription_callback(process, object, callback);
            }
            Body::ServiceCallbackAdded { service, callback } => {
                let callback = self.added(process, callback, CreationEvent::RclServiceInit);
                let pieces = self.services.entry((process, service)).or_default();
                pieces.call(callback);
                self.bind_service(process, service);
            }
            Body::TimerCallbackAdded { timer, callback } => {
                let callback = self.added(process, callback, CreationEvent::RclTimerInit);
                let pieces = self.timers.entry((process, timer)).or_default();
                pieces.call(callback);
                self.bind_timer(process, timer);
            }
            Body::TimerLinkNode { timer, node } => {
                let node = self.node(process, node);
                let pieces = self.timers.entry((process, timer)).or_default();
                pieces.belong(node);
                self.bind_timer(process, timer);
            }
            _ => {}
        }
    }

    /// With intra-process communication rclcpp copies the callback, and there is an object for each
    /// copy: two addresses, one callback.
    fn subscription_callback(&mut self, process: ProcessId, object: Address, address: Address) {
        let pieces = self.objects.entry((process, object)).or_default();
        let handle = pieces.made.filter(|_| pieces.callback.is_none());
        let subscription = handle.and_then(|handle| self.subscriptions.get(&(process, handle)));
        let first = subscription.and_then(|&id| self.graph.subscriptions[id].callback);
        let callback = match first {
            Some(first) => {
                self.callbacks.insert((process, address), first);
                first
            }
            None => self.added(process, address, CreationEvent::RclcppSubscriptionInit),
        };
        let pieces = self.objects.entry((process, object)).or_default();
        pieces.call(callback);
        self.bind_subscription(process, object);
    }

    /// The callback that is added at an address. One that was added there before is gone.
    fn added(&mut self, process: ProcessId, address: Address, next: CreationEvent) -> CallbackId {
        let mut id = self.callback(process, address);
        if self.graph.callbacks[id].missing != Some(CreationEvent::CallbackAdded) {
            self.callbacks.remove(&(process, address));
            id = self.callback(process, address);
        }
        self.graph.callbacks[id].missing = Some(next);
        id
    }

    fn own(&mut self, callback: CallbackId, owner: Owner) {
        let callback = &mut self.graph.callbacks[callback];
        callback.owner = owner;
        callback.missing = None;
    }

    /// Gives the callback of an object to its subscription, if the trace has named both.
    pub(super) fn bind_subscription(&mut self, process: ProcessId, object: Address) {
        let pieces = self.objects.get(&(process, object));
        let Some((Some(handle), callback)) = pieces.map(|pieces| (pieces.made, pieces.callback))
        else {
            return;
        };
        let Some(&id) = self.subscriptions.get(&(process, handle)) else {
            if let Some(callback) = callback {
                self.graph.callbacks[callback].missing = Some(CreationEvent::RclSubscriptionInit);
            }
            let waiting = self.waiting_objects.entry((process, handle)).or_default();
            if !waiting.contains(&object) {
                waiting.push(object);
            }
            return;
        };
        let Some(callback) = callback else { return };
        self.own(callback, Owner::Subscription(id));
        self.graph.subscriptions[id]
            .callback
            .get_or_insert(callback);
    }

    /// Gives the callback at a service's address to the service, if the trace has named both.
    pub(super) fn bind_service(&mut self, process: ProcessId, service: Address) {
        let pieces = self.services.get(&(process, service));
        if let Some((Some(id), Some(callback))) =
            pieces.map(|pieces| (pieces.made, pieces.callback))
        {
            self.own(callback, Owner::Service(id));
        }
    }

    /// Gives a timer its node and its callback, if the trace has named them.
    pub(super) fn bind_timer(&mut self, process: ProcessId, timer: Address) {
        let Some(&pieces) = self.timers.get(&(process, timer)) else {
            return;
        };
        let Some(id) = pieces.made else { return };
        self.graph.timers[id].node = pieces.node.or(self.graph.timers[id].node);
        if let Some(callback) = pieces.callback {
            self.own(callback, Owner::Timer(id));
            self.graph.timers[id].callback = Some(callback);
        }
    }
}
