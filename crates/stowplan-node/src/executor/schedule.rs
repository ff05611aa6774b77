//! Which entity an executor executes next: the rules of rclcpp without threads and DDS.
//!
//! One wait finds a set of ready entities. They are executed in the order of their class, within a class
//! in the order of registration, each at most once; then comes the next wait. An entity whose exclusive
//! callback group is at work is passed over and found again by a later wait.

use super::timer::{Release, TimerClock};

/// Kinds of entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A timer.
    Timer,
    /// A subscription over DDS.
    Subscription,
    /// A service server.
    Service,
    /// A service client.
    Client,
    /// A subscription inside the process, which rclcpp executes as a waitable.
    IntraProcess,
}

/// In which order classes are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Of the single- and multi-threaded executors: timers, subscriptions, services,
    /// clients, waitables (`Executor::get_next_ready_executable`).
    TimersFirst,
    /// Of the static executor: subscriptions before timers
    /// (`StaticSingleThreadedExecutor::execute_ready_executables`).
    SubscriptionsFirst,
}

impl Order {
    fn rank(self, class: Class) -> u8 {
        match (self, class) {
            (Self::TimersFirst, Class::Timer) | (Self::SubscriptionsFirst, Class::Subscription) => {
                0
            }
            (Self::TimersFirst, Class::Subscription) | (Self::SubscriptionsFirst, Class::Timer) => {
                1
            }
            (_, Class::Service) => 2,
            (_, Class::Client) => 3,
            (_, Class::IntraProcess) => 4,
        }
    }
}

#[derive(Debug)]
struct Slot {
    class: Class,
    group: usize,
    timer: Option<TimerClock>,
}

#[derive(Debug)]
struct Group {
    reentrant: bool,
    busy: bool,
}

/// Entities, their groups, and what the last wait found.
#[derive(Debug)]
pub struct Schedule {
    order: Order,
    slots: Vec<Slot>,
    groups: Vec<Group>,
    /// Ready entities in order of execution.
    ready: Vec<usize>,
}

/// What is to be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Number of the entity.
    pub entity: usize,
    /// The release, for a timer.
    pub release: Option<Release>,
}

impl Schedule {
    /// Nothing to execute.
    #[must_use]
    pub fn new(order: Order) -> Self {
        Self {
            order,
            slots: Vec::new(),
            groups: Vec::new(),
            ready: Vec::new(),
        }
    }

    /// Adds a callback group and returns its number.
    pub fn add_group(&mut self, reentrant: bool) -> usize {
        self.groups.push(Group {
            reentrant,
            busy: false,
        });
        self.groups.len() - 1
    }

    /// Adds an entity, with its clock if it is a timer, and returns its number.
    pub fn add(&mut self, class: Class, group: usize, timer: Option<TimerClock>) -> usize {
        self.slots.push(Slot {
            class,
            group,
            timer,
        });
        // Room for every entity, so that waiting allocates nothing.
        self.ready.reserve(self.slots.len());
        self.slots.len() - 1
    }

    /// Sets the phase of all timers.
    pub fn rebase(&mut self, t_arm_ns: u64) {
        for timer in self.slots.iter_mut().filter_map(|slot| slot.timer.as_mut()) {
            timer.rebase(t_arm_ns);
        }
    }

    /// Whether the entity's group lets it be executed now.
    #[must_use]
    pub fn is_free(&self, entity: usize) -> bool {
        !self.groups[self.slots[entity].group].busy
    }

    /// When the next timer that can be executed is due.
    #[must_use]
    pub fn next_timer_ns(&self) -> Option<u64> {
        self.slots
            .iter()
            .filter(|slot| !self.groups[slot.group].busy)
            .filter_map(|slot| slot.timer.as_ref().map(TimerClock::next_ns))
            .min()
    }

    /// Begins the result of a wait.
    pub fn clear_ready(&mut self) {
        self.ready.clear();
    }

    /// The wait found this entity ready.
    pub fn push_ready(&mut self, entity: usize) {
        self.ready.push(entity);
    }

    /// Ends the result of a wait: adds the timers that are due, and sorts.
    pub fn seal_ready(&mut self, now_ns: u64) {
        for (entity, slot) in self.slots.iter().enumerate() {
            let due = slot.timer.as_ref().is_some_and(|t| t.next_ns() <= now_ns);
            if due && !self.groups[slot.group].busy {
                self.ready.push(entity);
            }
        }
        let (order, slots) = (self.order, &self.slots);
        self.ready
            .sort_unstable_by_key(|&entity| (order.rank(slots[entity].class), entity));
    }

    /// Takes the first ready entity whose group is free, and marks an exclusive group as at work.
    pub fn next(&mut self, now_ns: u64) -> Option<Next> {
        let mut at = 0;
        while let Some(&entity) = self.ready.get(at) {
            let slot = &mut self.slots[entity];
            let group = &mut self.groups[slot.group];
            if group.busy {
                at += 1;
                continue;
            }
            self.ready.remove(at);
            let release = match &mut slot.timer {
                None => None,
                Some(timer) => match timer.call(now_ns) {
                    // Re-based between wait and execution.
                    None => continue,
                    release => release,
                },
            };
            group.busy = !group.reentrant;
            return Some(Next { entity, release });
        }
        None
    }

    /// The entity has been executed; true if that freed an exclusive group.
    pub fn finish(&mut self, entity: usize) -> bool {
        let group = &mut self.groups[self.slots[entity].group];
        std::mem::replace(&mut group.busy, false)
    }
}

#[cfg(test)]
mod tests {
    use stowplan_wire::service::DistributionPlan;

    use super::super::timer::TimerSpec;
    use super::*;

    fn timer(period_ns: u64) -> Option<TimerClock> {
        let spec = TimerSpec {
            period_ns,
            jitter_ns: DistributionPlan::Constant(0.0),
            rate_error: 0.0,
            phase_ns: None,
            seed: 0,
            callback: 0,
        };
        Some(TimerClock::new(&spec, 0))
    }

    /// One wait at `now` that finds these entities, executed to the end on one thread.
    fn turn(schedule: &mut Schedule, holding: &[usize], now: u64) -> Vec<usize> {
        schedule.clear_ready();
        holding
            .iter()
            .for_each(|&entity| schedule.push_ready(entity));
        schedule.seal_ready(now);
        let mut executed = Vec::new();
        while let Some(next) = schedule.next(now) {
            executed.push(next.entity);
            schedule.finish(next.entity);
        }
        executed
    }

    fn mixed(order: Order) -> Schedule {
        let mut schedule = Schedule::new(order);
        let group = schedule.add_group(false);
        schedule.add(Class::Service, group, None);
        schedule.add(Class::Subscription, group, None);
        schedule.add(Class::IntraProcess, group, None);
        schedule.add(Class::Timer, group, timer(100));
        schedule.add(Class::Subscription, group, None);
        schedule.add(Class::Timer, group, timer(50));
        schedule
    }

    #[test]
    fn timers_come_first_and_registration_decides_within_a_class() {
        let mut schedule = mixed(Order::TimersFirst);
        assert_eq!(schedule.next_timer_ns(), Some(50));
        assert_eq!(turn(&mut schedule, &[4, 2, 1, 0], 100), [3, 5, 1, 4, 0, 2]);
        // The second timer was due at 50 and at 100 and is executed once a wait.
        assert_eq!(turn(&mut schedule, &[], 100), [5]);
        assert_eq!(turn(&mut schedule, &[1], 120), [1]);
    }

    #[test]
    fn the_static_executor_takes_subscriptions_first() {
        let mut schedule = mixed(Order::SubscriptionsFirst);
        assert_eq!(turn(&mut schedule, &[0, 1, 2, 4], 60), [1, 4, 5, 0, 2]);
    }

    #[test]
    fn an_exclusive_group_works_on_one_thread_at_a_time() {
        let mut schedule = Schedule::new(Order::TimersFirst);
        let exclusive = schedule.add_group(false);
        let reentrant = schedule.add_group(true);
        for group in [exclusive, exclusive, reentrant] {
            schedule.add(Class::Subscription, group, None);
        }
        schedule.add(Class::Timer, exclusive, timer(10));
        (0..3).for_each(|entity| schedule.push_ready(entity));
        schedule.seal_ready(5);
        // Two threads: the second passes over entity 1.
        assert_eq!(schedule.next(5).unwrap().entity, 0);
        assert_eq!(schedule.next(5).unwrap().entity, 2);
        assert_eq!(schedule.next(5), None);
        assert!(!schedule.is_free(1));
        assert!(schedule.is_free(2));
        // While the group works its timer is neither waited for nor ready.
        assert_eq!(schedule.next_timer_ns(), None);
        schedule.clear_ready();
        schedule.push_ready(2);
        schedule.seal_ready(50);
        assert_eq!(schedule.next(50).unwrap().entity, 2);
        assert_eq!(schedule.next(50), None);
        assert!(schedule.finish(0));
        assert!(!schedule.finish(2));
        assert_eq!(schedule.next_timer_ns(), Some(10));
        assert_eq!(turn(&mut schedule, &[1], 50), [3, 1]);
    }

    #[test]
    fn a_timer_that_was_rebased_after_the_wait_is_not_executed() {
        let mut schedule = mixed(Order::TimersFirst);
        let spec = TimerSpec {
            period_ns: 10,
            jitter_ns: DistributionPlan::Constant(0.0),
            rate_error: 0.0,
            phase_ns: Some(3),
            seed: 0,
            callback: 0,
        };
        let group = schedule.add_group(false);
        let armed = schedule.add(Class::Timer, group, Some(TimerClock::new(&spec, 0)));
        schedule.clear_ready();
        schedule.seal_ready(10);
        schedule.rebase(1_000);
        assert_eq!(schedule.next(10), None);
        assert_eq!(turn(&mut schedule, &[], 1_002), [3, 5]);
        assert_eq!(turn(&mut schedule, &[], 1_003), [armed]);
    }
}
