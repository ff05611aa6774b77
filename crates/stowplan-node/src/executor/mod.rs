//! Executors as in rclcpp: threads that wait for entities and execute them.

pub mod recording;
pub mod schedule;
pub mod timer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stowplan_ctf::events::ros2::{
    RclcppExecutorExecute, RclcppExecutorGetNextReady, RclcppExecutorWaitForWork,
};
use stowplan_ctf::schema::Handle;
use stowplan_wire::service::{ExecutorCostPlan, ExecutorPlan};

use crate::dds::{Condition, DdsError, Guard, Participant, WaitSet};
use crate::graph::{Runnable, ThreadContext};
use crate::record;
use crate::work::Waiting;
use schedule::{Class, Order, Schedule};
use timer::{Release, TimerClock};

/// An executor and the entities that it executes.
#[derive(Debug)]
pub struct Executor {
    waitset: WaitSet,
    interrupt: Guard,
    /// Held by the thread that looks for work, as rclcpp's `wait_mutex`; has room for one wait's result.
    waiting: Mutex<Vec<isize>>,
    core: Mutex<Core>,
    /// What a wait costs beside, done by the one thread that looks for work; `None` where that is nothing.
    cost: Option<Waiting>,
    several_threads: bool,
    stop: AtomicBool,
}

#[derive(Debug)]
struct Core {
    schedule: Schedule,
    entities: Vec<Entity>,
    /// Entities that are not in the waitset because their group is at work.
    parked: Vec<usize>,
}

#[derive(Debug)]
struct Entity {
    runnable: Runnable,
    condition: Option<Condition>,
}

/// What one thread got to execute.
struct Work {
    entity: usize,
    runnable: Runnable,
    release: Option<Release>,
    now_ns: u64,
}

/// Number of the interrupt condition in the waitset; entity n has number n + 1.
const INTERRUPT: usize = 0;

impl Executor {
    /// An executor without entities.
    ///
    /// # Errors
    /// When CycloneDDS refuses its waitset.
    pub fn new(
        participant: &Participant,
        plan: ExecutorPlan,
        cost: ExecutorCostPlan,
    ) -> Result<Self, DdsError> {
        let waitset = WaitSet::new(participant)?;
        let interrupt = Guard::new(participant)?;
        waitset.attach(interrupt.condition(), INTERRUPT)?;
        let order = match plan {
            ExecutorPlan::Static => Order::SubscriptionsFirst,
            ExecutorPlan::Single | ExecutorPlan::Multi { .. } | ExecutorPlan::Isolated => {
                Order::TimersFirst
            }
        };
        Ok(Self {
            waitset,
            interrupt,
            waiting: Mutex::new(vec![0]),
            core: Mutex::new(Core {
                schedule: Schedule::new(order),
                entities: Vec::new(),
                parked: Vec::new(),
            }),
            cost: Waiting::of(cost),
            several_threads: matches!(plan, ExecutorPlan::Multi { .. }),
            stop: AtomicBool::new(false),
        })
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a callback group.
    pub fn add_group(&self, reentrant: bool) -> usize {
        self.core().schedule.add_group(reentrant)
    }

    /// Adds an entity at the end of the order of registration.
    ///
    /// # Errors
    /// When CycloneDDS refuses its condition.
    pub fn add(
        &self,
        class: Class,
        group: usize,
        runnable: Runnable,
        condition: Option<Condition>,
        clock: Option<TimerClock>,
    ) -> Result<(), DdsError> {
        let mut core = self.core();
        let entity = core.schedule.add(class, group, clock);
        core.entities.push(Entity {
            runnable,
            condition,
        });
        let room = core.entities.len();
        core.parked.reserve(room);
        if let Some(condition) = condition {
            self.waitset.attach(condition, entity + 1)?;
        }
        drop(core);
        self.interrupt.trigger();
        Ok(())
    }

    /// Sets the phase of all timers.
    pub fn rebase(&self, t_arm_ns: u64) {
        self.core().schedule.rebase(t_arm_ns);
        self.interrupt.trigger();
    }

    /// Makes every thread of the executor return after what it executes now.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.interrupt.trigger();
    }

    /// Executes until stopped. Called by each thread of the executor.
    pub fn spin(&self, context: &mut ThreadContext) {
        while let Some(work) = self.find() {
            if let Some(work) = work {
                record::event(&RclcppExecutorExecute {
                    handle: Handle(work.runnable.handle()),
                });
                work.runnable.execute(context, work.now_ns, work.release);
                let freed = self.core().schedule.finish(work.entity);
                // What was passed over because of the group can be waited for again.
                if freed && self.several_threads {
                    self.interrupt.trigger();
                }
            }
        }
        // The next thread is woken too.
        self.interrupt.trigger();
    }

    /// Work, or `Some(None)` if a wait found none, or `None` when stopped.
    fn find(&self) -> Option<Option<Work>> {
        let mut numbers = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stop.load(Ordering::Acquire) {
            return None;
        }
        record::event(&RclcppExecutorGetNextReady {});
        if let Some(work) = self.take_ready() {
            return Some(Some(work));
        }
        self.wait(&mut numbers);
        record::event(&RclcppExecutorGetNextReady {});
        Some(self.take_ready())
    }

    fn take_ready(&self) -> Option<Work> {
        let mut core = self.core();
        let now_ns = record::now();
        let next = core.schedule.next(now_ns)?;
        Some(Work {
            now_ns,
            entity: next.entity,
            runnable: core.entities[next.entity].runnable.clone(),
            release: next.release,
        })
    }

    /// How many entities the next wait is for.
    fn waited_for(&self) -> usize {
        let core = self.core();
        core.entities.len() - core.parked.len()
    }

    fn wait(&self, numbers: &mut Vec<isize>) {
        // Before it is known how long the wait may last, and without the lock of those that add and finish.
        if let Some(cost) = &self.cost {
            cost.run(self.waited_for());
        }
        let timeout_ns = self.prepare_wait(numbers);
        record::event(&RclcppExecutorWaitForWork { timeout: -1 });
        let held = self.waitset.wait(numbers, timeout_ns);
        let mut core = self.core();
        let core = &mut *core;
        core.schedule.clear_ready();
        for &number in held {
            let Some(entity) = number.cast_unsigned().checked_sub(1) else {
                self.interrupt.reset();
                continue;
            };
            let Entity {
                runnable,
                condition: Some(condition),
            } = &core.entities[entity]
            else {
                continue;
            };
            if !core.schedule.is_free(entity) {
                // It would end every wait at once until its group is free.
                self.waitset.detach(*condition);
                core.parked.push(entity);
            } else if runnable.is_ready() {
                core.schedule.push_ready(entity);
            }
        }
        core.schedule.seal_ready(record::now());
    }

    /// Puts entities of free groups back into the waitset, makes room for the result, and says how
    /// long the wait may last.
    fn prepare_wait(&self, numbers: &mut Vec<isize>) -> i64 {
        let mut core = self.core();
        let core = &mut *core;
        let (schedule, entities) = (&core.schedule, &core.entities);
        core.parked.retain(|&entity| {
            let free = schedule.is_free(entity);
            if free && let Some(condition) = entities[entity].condition {
                // It was attached before: it can be attached again.
                let _attached = self.waitset.attach(condition, entity + 1);
            }
            !free
        });
        numbers.resize(entities.len() + 1, 0);
        match schedule.next_timer_ns() {
            None => i64::MAX,
            Some(due) => due.saturating_sub(record::now()).cast_signed(),
        }
    }
}
