//! From ros2_tracing events to node graph, links, chains and latencies.
//!
//! Events go through a [`Builder`] one at a time, in order of time. It keeps
//! what each address means in each process at that point (`registry`), follows
//! every thread (`tracker`), and at the end links messages to their publications
//! (`links`). The [`Analysis`] then answers questions: chains, start-up, losses,
//! checks against the payload, summaries.
//!
//! Where the time of a chain goes, as the papers define it and as it is split here,
//! is said at [`Parts`], [`ChainInstance`] and [`ChainInput`].

mod actions;
mod analysis;
mod blocks;
mod callback_cpu;
mod chain;
mod check;
mod clocks;
#[cfg(test)]
mod clocks_tests;
mod contents;
mod created;
mod ctf_classes;
mod ctf_table;
mod digest;
mod distribution;
mod distributions;
mod durations;
mod event;
mod from_ctf;
mod graph;
mod guess;
mod holes;
mod ids;
mod inventory;
mod keep;
mod lasting;
mod links;
mod losses;
#[cfg(test)]
mod lost_tests;
mod marks;
mod matching;
mod new_recorder;
#[cfg(test)]
mod other_tracers_tests;
mod overview;
mod processes;
mod record;
mod registry;
mod repeats;
mod ros2_latency_analysis;
mod scheduling;
#[cfg(test)]
mod scripted;
mod sent;
mod services;
#[cfg(test)]
mod services_tests;
mod settle;
mod startup;
mod summarise;
mod summary;
mod tracker;
mod unnamed;
mod window;

pub use actions::{ActionSummary, action_of};
pub use analysis::{Analysis, Builder};
pub use blocks::{CallbackBlocks, TimeBlocks, block_means};
pub use callback_cpu::CallbackCpu;
pub use chain::{
    BreakReason, Broken, CallbackBy, CallbackSelector, Chain, ChainError, ChainInput,
    ChainInstance, ChainResult, ChainSpec, Endpoint, Fate, FoundChain, FoundChains, Hop, Invalid,
    NodeChain, NodeStep, Parts, Reference, Step, StepHop, StopCause, StoppedInputs,
};
pub use check::{Mismatch, PayloadCheck};
pub use clocks::ClockDifference;
pub use contents::Contents;
pub use distribution::Distribution;
pub use event::{Address, Body, Discard, DiscardScope, ProcessKey, Switch, TraceEvent};
pub use from_ctf::{Linking, Reading, TraceError};
pub use graph::{
    Callback, CallbackIdentity, Client, CreationEvent, EventKinds, Graph, MessageLink, Node, Owner,
    Process, Publisher, Service, Subscription, Thread, Timer, Trigger, is_infrastructure,
};
pub use ids::{
    CallbackId, ClientId, Id, InstanceId, NodeId, ProcessId, PublicationId, PublisherId, ServiceId,
    SubscriptionId, Table, TakeId, ThreadId, TimerId, TopicId,
};
pub use inventory::Inventory;
pub use lasting::{is_shortened, lasting_name};
pub use losses::{EdgeLosses, Losses, Transport};
pub use marks::Marks;
pub use matching::{MatchedBy, Matching, Undecided};
pub use overview::{EdgeSummary, OutsideSummary, Overview};
pub use record::{
    Arrival, Confidence, Instance, Link, LinkMethod, MaybeNs, Payload, Publication, Take,
};
pub use repeats::{FolderOverlap, Repeats};
pub use scheduling::Scheduled;
pub use services::ServiceCalls;
pub use settle::Pair;
pub use startup::{ModuleStartUp, NodeStartUp, ProcessStartUp, StartUp};
pub use summary::{
    CallbackSummary, ChainSummary, LinkSummary, TopicSummary, UnlinkedBecause, UnlinkedTopic,
};
pub use tracker::{Gaps, Records};
pub use unnamed::Unnamed;
pub use window::Window;
