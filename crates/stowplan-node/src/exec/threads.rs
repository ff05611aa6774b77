//! The threads of a process: which executors there are, and what loads the nodes.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use rustix::event::{EventfdFlags, eventfd};
use stowplan_wire::announce::Announcement;
use stowplan_wire::service::{ExecutorPlan, ProfilePlan};

use super::background::Background;
use crate::error::NodeError;
use crate::executor::Executor;
use crate::executor::schedule::Class;
use crate::graph::{Loader, Process, Runnable, container_node, load_node, record_node};
use crate::link::{Link, UP};
use crate::record;

/// Everything that runs in the process.
#[derive(Debug)]
pub struct Threads {
    /// What the nodes share.
    pub process: Arc<Process>,
    /// The connection to the launcher.
    pub link: Option<Link>,
    /// What keeps CPUs busy.
    pub background: Arc<Background>,
    loader: Mutex<Option<Arc<Loader>>>,
    executors: Mutex<Vec<Arc<Executor>>>,
    handles: Mutex<Vec<(String, JoinHandle<()>)>>,
    loaded: Mutex<HashSet<usize>>,
    /// Nothing is loaded or started any more.
    ending: AtomicBool,
    failure: Mutex<Option<NodeError>>,
    failed: OwnedFd,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Threads {
    /// Starts the threads of a process. A component container waits to be asked for its nodes, another
    /// process loads them by itself before it spins.
    ///
    /// # Errors
    /// When a thread or an executor cannot be had.
    pub fn start(process: Arc<Process>, link: Option<Link>) -> Result<Arc<Self>, NodeError> {
        let failed = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(NodeError::system("watch for failures"))?;
        let threads = Arc::new(Self {
            process,
            link,
            background: Arc::new(Background::new()),
            loader: Mutex::default(),
            executors: Mutex::default(),
            handles: Mutex::default(),
            loaded: Mutex::default(),
            ending: AtomicBool::new(false),
            failure: Mutex::default(),
            failed,
        });
        threads.start_background()?;
        let asked = threads.process.own().component_container && threads.link.is_some();
        if asked {
            threads.start_container()?;
        } else {
            let own = Arc::clone(&threads);
            threads.spawn("main", move || {
                if let Err(error) = own.load_and_spin() {
                    own.fail(error);
                }
            })?;
        }
        Ok(threads)
    }

    /// Readable when a thread has failed.
    pub fn failed(&self) -> BorrowedFd<'_> {
        self.failed.as_fd()
    }

    /// Why a thread has failed.
    pub fn take_failure(&self) -> Option<NodeError> {
        lock(&self.failure).take()
    }

    fn fail(&self, error: NodeError) {
        lock(&self.failure).get_or_insert(error);
        // One write is enough, more do no harm.
        let _written = rustix::io::write(&self.failed, &1_u64.to_ne_bytes());
    }

    /// Asks the container's executor to load a node.
    pub fn load(&self, node: usize) {
        if let Some(loader) = &*lock(&self.loader) {
            loader.ask(node);
        }
    }

    /// Sets the phase of all timers.
    pub fn rebase(&self, t_arm_ns: u64) {
        for executor in &*lock(&self.executors) {
            executor.rebase(t_arm_ns);
        }
    }

    fn spawn(
        self: &Arc<Self>,
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), NodeError> {
        let handle = Builder::new()
            .name(name.to_owned())
            .spawn(body)
            .map_err(NodeError::system("start a thread"))?;
        lock(&self.handles).push((name.to_owned(), handle));
        Ok(())
    }

    fn new_executor(&self, plan: ExecutorPlan) -> Result<Arc<Executor>, NodeError> {
        let cost = self.process.own().executor_cost;
        let executor = Arc::new(Executor::new(&self.process.participant, plan, cost)?);
        lock(&self.executors).push(Arc::clone(&executor));
        // Either `finish` sees the executor or this sees that it has begun.
        if self.ending.load(Ordering::SeqCst) {
            executor.stop();
        }
        Ok(executor)
    }

    /// Lets `count` more threads spin.
    fn spawn_spinning(
        self: &Arc<Self>,
        name: &str,
        executor: &Arc<Executor>,
        count: u32,
    ) -> Result<(), NodeError> {
        for _ in 0..count {
            let (process, executor) = (Arc::clone(&self.process), Arc::clone(executor));
            self.spawn(name, move || executor.spin(&mut process.thread_context()))?;
        }
        Ok(())
    }

    /// Starts the threads that keep CPUs busy, while the rest of the process is still to load: their neighbours' start-up
    /// competes with them, too.
    fn start_background(self: &Arc<Self>) -> Result<(), NodeError> {
        let nodes = self.process.own().nodes.iter();
        for _ in 0..nodes.map(|node| node.background_threads).sum() {
            let background = Arc::clone(&self.background);
            self.spawn("background", move || background.run())?;
        }
        Ok(())
    }

    fn start_container(self: &Arc<Self>) -> Result<(), NodeError> {
        let plan = self.process.own();
        let executor = self.new_executor(plan.executor)?;
        let group = executor.add_group(false);
        let (own, on) = (Arc::downgrade(self), Arc::downgrade(&executor));
        let loader = Arc::new(Loader::new(&self.process, move |node| {
            let (Some(own), Some(on)) = (own.upgrade(), on.upgrade()) else {
                return;
            };
            if let Err(error) = own.load_one(node, &on) {
                own.fail(error);
            }
        })?);
        let condition = loader.condition();
        let runnable = Runnable::Loader(Arc::clone(&loader));
        executor.add(Class::Service, group, runnable, Some(condition), None)?;
        *lock(&self.loader) = Some(loader);
        if let Some(node) = plan.own_node() {
            self.load_one(node, &executor)?;
        } else if plan.profile != ProfilePlan::Minimal {
            container_node(&self.process, &executor, group, record_node(&plan.name))?;
        }
        self.spawn_spinning("executor", &executor, thread_count(plan.executor))?;
        self.say(UP)?;
        if plan.nodes.is_empty() {
            self.process.matching.seal();
        }
        Ok(())
    }

    fn say(&self, number: u32) -> Result<(), NodeError> {
        self.link.as_ref().map_or(Ok(()), |link| link.say(number))
    }

    /// What the main function of a process that is no container does.
    fn load_and_spin(self: &Arc<Self>) -> Result<(), NodeError> {
        self.say(UP)?;
        let plan = self.process.own();
        let executor = self.new_executor(plan.executor)?;
        for node in 0..plan.nodes.len() {
            self.load_one(node, &executor)?;
        }
        if plan.nodes.is_empty() {
            self.process.matching.seal();
        }
        self.spawn_spinning("executor", &executor, thread_count(plan.executor) - 1)?;
        executor.spin(&mut self.process.thread_context());
        Ok(())
    }

    /// Loads a node on the executor that the process's plan gives it.
    fn load_one(self: &Arc<Self>, node: usize, executor: &Arc<Executor>) -> Result<(), NodeError> {
        let plan = self.process.own();
        let Some(node_plan) = plan.nodes.get(node) else {
            return Ok(());
        };
        if self.ending.load(Ordering::SeqCst) {
            return Ok(());
        }
        if plan.executor == ExecutorPlan::Isolated {
            let executor = self.new_executor(ExecutorPlan::Single)?;
            load_node(&self.process, node_plan, &executor)?;
            self.spawn_spinning(&node_plan.name, &executor, 1)?;
        } else {
            load_node(&self.process, node_plan, executor)?;
        }
        let count = {
            let mut loaded = lock(&self.loaded);
            loaded.insert(node);
            loaded.len()
        };
        if count == plan.nodes.len() {
            self.process.matching.seal();
        }
        self.say(u32::try_from(node).unwrap_or(UP))
    }

    /// Ends everything in order: executors, then DDS with its threads, so that no event comes after
    /// the counters, then tells the agent what was counted.
    ///
    /// # Errors
    /// When a thread has panicked or the agent is gone.
    pub fn finish(&self) -> Result<(), NodeError> {
        self.ending.store(true, Ordering::SeqCst);
        self.background.end();
        for executor in &*lock(&self.executors) {
            executor.stop();
        }
        // A thread can start others until it has ended.
        loop {
            let last = lock(&self.handles).pop();
            let Some((thread, handle)) = last else {
                break;
            };
            handle.join().map_err(|_| NodeError::Thread { thread })?;
        }
        let counts = self.process.message_counts();
        self.process.leave();
        let (recorded, discarded) = record::close();
        if counts.refused > 0 {
            eprintln!("{} messages could not be sent", counts.refused);
        }
        let agent = &self.process.agent;
        agent.say(&Announcement::Counters {
            process: self.process.own().name.clone(),
            recorded,
            discarded,
            published: counts.published,
            taken: counts.taken,
            lost: counts.lost,
            ages: counts.ages,
            tags: counts.tags,
        })?;
        agent.drain();
        Ok(())
    }
}

fn thread_count(plan: ExecutorPlan) -> u32 {
    match plan {
        ExecutorPlan::Multi { threads } => threads.max(1),
        ExecutorPlan::Single | ExecutorPlan::Static | ExecutorPlan::Isolated => 1,
    }
}
