//! The rows of the Parquet tables. Their documentation is the one in `docs/results.md`.

use crate::Label;
use crate::cell::words;
use crate::table::table;

words! {
    /// How a run ended.
    RunStatus {
        /// It was measured and all its checks held.
        Finished = "finished",
        /// It was started and broke, or a check failed.
        Failed = "failed",
        /// It was not started.
        Skipped = "skipped",
    }
}

words! {
    /// In which state the page cache was (docs/measuring.md §4: cold, re-run).
    StartKind {
        /// Page cache dropped, and proven cold.
        Cold = "cold",
        /// Third start in a row of the same deployment.
        Rerun = "rerun",
        /// Neither: the state that earlier runs left.
        Warm = "warm",
    }
}

words! {
    /// Whether a cold start was cold.
    ColdState {
        /// At most 1 % of the pages were resident.
        Proven = "proven",
        /// More were, or something that services read could not be shown, so the run does not count as cold.
        Failed = "failed",
    }
}

words! {
    /// What a start-up row is about.
    SubjectKind {
        /// The whole deployment.
        Total = "total",
        /// One service.
        Service = "service",
        /// One module.
        Module = "module",
        /// One node.
        Node = "node",
        /// One chain: until its first complete output.
        Chain = "chain",
    }
}

words! {
    /// Why a message did not reach a callback.
    LossCause {
        /// Published before publisher and subscription had found each other.
        NotMatched = "not-matched",
        /// Dropped by the receiving socket.
        SocketBuffer = "socket-buffer",
        /// A fragment was missing when the message was put together.
        Reassembly = "reassembly",
        /// The reader's cache refused it: DDS reported it as lost.
        SampleLost = "sample-lost",
        /// A newer message took its place in the reader's cache.
        Overwritten = "overwritten",
        /// It never reached the reader's cache, by one of several causes that leave no trace.
        NotToldApart = "not-told-apart",
    }
}

table! {
    /// One row per run.
    RunRow in "runs" {
        /// Number of the run in the experiment, from 1.
        run: u32,
        /// Block, from 1: one run of every deployment.
        block: u32,
        /// Place in the order of the block, from 1.
        order: u32,
        /// Id of the deployment in `experiment.json`.
        deployment: Label,
        /// State of the page cache that was asked for.
        start: StartKind,
        /// How the run ended.
        status: RunStatus,
        /// Why it failed or was skipped; null if it finished.
        reason: Option<Label>,
        /// CLOCK_REALTIME when the run began, ns since 1970.
        start_unix_ns: i64,
        /// Seed of the run: timer phases and work are drawn from it.
        seed: u64,
        /// Length of the measured window, ns; null where nothing was armed.
        window_ns: Option<i64>,
        /// Calibration of the work kernel in this block, ns per iteration over up to 16 KiB; `experiment.json` has those
        /// of larger working sets.
        calibration_ns: Option<f64>,
        /// Share of all CPUs' time that the hypervisor took in the window, or while services started, 0 to 1.
        steal: Option<f64>,
        /// What of its processes' environment is not as in the deployment's first run, and of the machine's settings not as when the experiment began (`machine.…`); null if nothing is, or the run failed.
        changed: Option<Label>,
        /// Whether the machine was quiet before the run.
        quiet: Option<bool>,
        /// What the engine needed before t0, ns: images, which are loaded once for an experiment, groups and networks.
        prepare_ns: Option<i64>,
        /// Whether a cold start was proven cold; null if it was not to be cold.
        cold: Option<ColdState>,
        /// Why a cold start does not count as one; null if it does, or if it was not to be cold.
        cold_reason: Option<Label>,
        /// Share of the pages that were still resident, 0 to 1.
        cold_resident: Option<f64>,
        /// Read from block devices from that proof until everything was ready, by whomever, bytes; null if it was not to be cold.
        cold_read_bytes: Option<u64>,
        /// Trace events recorded.
        events: Option<u64>,
        /// Trace events that found no room.
        discarded: Option<u64>,
        /// Messages published in the window.
        published: Option<u64>,
        /// Messages taken by a callback in the window.
        taken: Option<u64>,
        /// Messages lost, all causes.
        lost: Option<u64>,
        /// AprilTags in the images that callbacks got, all of them found at their place; null where there are no images.
        tags: Option<u64>,
        /// Context switches of Stowplan's own processes while armed.
        own_switches: Option<u64>,
        /// CPU time of Stowplan's own processes while armed, ns.
        own_cpu_ns: Option<u64>,
        /// How far the clock of another host may be off against the first one's at most, ns; null where there is one host.
        clock_uncertainty_ns: Option<u64>,
        /// SHA-256 of the node program that the processes really executed.
        program_sha256: Option<Label>,
        /// What a reader of the figures has to know.
        warnings: Vec<String>,
    }
}

table! {
    /// One row per run and subject: when it started up. Instants are ns since t0, which is read before `create`, images present.
    StartupRow in "startup" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Host; null in results of before hosts were recorded, and of what is not of one host.
        host: Option<Label>,
        /// State of the page cache.
        start: StartKind,
        /// What the row is about.
        subject_kind: SubjectKind,
        /// Name of the service, module, node or chain; `total` for the whole deployment.
        subject: Label,
        /// The subject's own begin: a module's and a node's first load begins; 0 for the total; ns since t0.
        begin_ns: Option<i64>,
        /// The subject is up: last node loaded, for a chain its first complete output; ns since t0.
        end_ns: Option<i64>,
        /// The service is created, before its start; null where an engine cannot separate the two.
        create_done_ns: Option<i64>,
        /// An orchestrator has chosen where the service runs, as its API told it; of the last service for the total.
        scheduled_ns: Option<i64>,
        /// What the containers of the service share is there (a pod's sandbox); of the last service for the total.
        sandbox_ns: Option<i64>,
        /// The engine has made the container, or the process, of the service; of the last service for the total.
        container_created_ns: Option<i64>,
        /// The engine has started it; of the last service for the total, which is the launch time of an orchestrator.
        container_started_ns: Option<i64>,
        /// First instruction inside the partition.
        first_instruction_ns: Option<i64>,
        /// The launcher has evaluated everything, and starts the first process next.
        launch_ready_ns: Option<i64>,
        /// First node loaded.
        first_node_loaded_ns: Option<i64>,
        /// Last node loaded.
        last_node_loaded_ns: Option<i64>,
        /// All declared endpoints have found each other.
        matched_ns: Option<i64>,
        /// First complete output of a chain; of the last chain for the total; first publication of a node, and of any node of a service.
        first_output_ns: Option<i64>,
        /// Why instants that the subject should have are null.
        reason: Option<Label>,
    }
}

table! {
    /// One row per input of a chain. Durations that are null have their reason beside them.
    LatencyRow in "latency" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Chain.
        chain: Label,
        /// Number of the input within run and chain, from 0.
        instance: u64,
        /// Release of the input by the sensor, ns since arm.
        origin_ns: i64,
        /// First output of the chain that rests on this input, ns since arm; the parts below are those of the way to it. `outputs` has all of them.
        output_ns: Option<i64>,
        /// Start of callback 0 → last publication (the papers' end-to-end latency).
        e2e_paper_ns: Option<i64>,
        /// Release by the sensor → last publication.
        e2e_full_ns: Option<i64>,
        /// Sum over the chain of callback start → publication, or → callback end where the next link is idle.
        computation_ns: Option<i64>,
        /// Of the computation, how long its threads were off the CPU without having given it up ([Preemption](#preemption)); null where that was not recorded.
        preempted_ns: Option<i64>,
        /// Sum of publication → sample handed to the transport.
        send_ns: Option<i64>,
        /// Sum of transport → sample in the reader's cache.
        transport_ns: Option<i64>,
        /// Sum of reader's cache → start of the callback that takes it.
        wait_ns: Option<i64>,
        /// Sum of callback end → start of the timer callback of the same node that uses the data.
        idle_ns: Option<i64>,
        /// send + transport + wait, also where these are not known apart.
        communication_ns: Option<i64>,
        /// Release → first output that is based on this input or on a later one.
        reaction_ns: Option<i64>,
        /// Age of the oldest origin in this first output, at its publication.
        data_age_ns: Option<i64>,
        /// Mean over all outputs that are based on this input (the papers' figure per input).
        mean_over_outputs_ns: Option<i64>,
        /// A newer message took the place of this one before it was used.
        overwritten: bool,
        /// Whether the row counts: released in the window, and early enough to have an output.
        valid: bool,
        /// Why it does not count, or why durations are null.
        reason: Option<Label>,
    }
}

table! {
    /// One row per output of a chain that rests on an input which counts: several where an input is used more than once.
    OutputRow in "outputs" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Chain.
        chain: Label,
        /// Number of the input within run and chain, as in `latency`.
        instance: u64,
        /// Publication of the output, ns since arm.
        output_ns: i64,
        /// Age of the oldest origin in the output, at its publication, ns.
        data_age_ns: i64,
        /// Age of the same data when the next output replaces it, ns; null for the last output, and where events between the two may have been discarded.
        age_until_next_ns: Option<i64>,
    }
}

table! {
    /// One row per sample of a service, of the machine (`machine`), of Stowplan itself (`stowplan`), or of what the hypervisor took of all CPUs (`other: hypervisor`). The engine's own processes have rows from just before t0 (`engine`, and `engine: PROGRAM` for each of their programs; of an orchestrator `engine: orchestrator PART`). They also have rows of a second earlier and without services (`engine idle`, `engine idle: PROGRAM`). Each program that used most of the rest has two rows, just before and after the window (`other: PROGRAM`).
    UsageRow in "usage" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Host; null in results of before hosts were recorded.
        host: Option<Label>,
        /// Service, `engine`, `engine: PROGRAM`, `engine idle`, `engine idle: PROGRAM`, `machine`, `stowplan`, `other: hypervisor` or `other: PROGRAM`.
        subject: Label,
        /// When, ns since arm; negative before.
        t_ns: i64,
        /// CPU time since sampling began, ns; of a service all that it has used ([When sampling begins](#when-sampling-begins)).
        cpu_ns: Option<u64>,
        /// Memory charged, bytes.
        memory_bytes: Option<u64>,
        /// Anonymous part of it, bytes.
        anon_bytes: Option<u64>,
        /// File part of it, bytes.
        file_bytes: Option<u64>,
        /// Read from block devices since sampling began, bytes.
        read_bytes: Option<u64>,
        /// Written to block devices since sampling began, bytes.
        write_bytes: Option<u64>,
        /// Periods in which a quota of its cgroup or of one above it throttled it, since sampling began.
        throttled: Option<u64>,
        /// Why figures are null.
        reason: Option<Label>,
    }
}

words! {
    /// What a process of a service is.
    ProcessKind {
        /// A process of the stack.
        Nodes = "nodes",
        /// What starts the processes of the service.
        Launcher = "launcher",
        /// Any other program.
        Program = "program",
    }
}

table! {
    /// One row per sample of a process of a service, from when it was first seen until it was gone.
    ProcessRow in "processes" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Host; null in results of before hosts were recorded.
        host: Option<Label>,
        /// Service.
        service: Label,
        /// What the process is.
        kind: ProcessKind,
        /// Process, as the stack names it; `launch` of a launcher; of another program the name that the kernel has for it.
        process: Label,
        /// Module of its nodes in this service ([Usage by module](#usage-by-module)), `A + B` where they are of several; null of what has no nodes of the stack.
        module: Option<Label>,
        /// Process id on the host.
        pid: u32,
        /// When, ns since arm, negative before: one instant for all processes of a sample.
        t_ns: i64,
        /// CPU time since the process began, ns.
        cpu_ns: u64,
        /// Resident memory, what is shared in full for each process, bytes.
        resident_bytes: u64,
    }
}

table! {
    /// One row per run, edge and cause of loss.
    LossRow in "losses" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Topic.
        topic: Label,
        /// Publishing node; null where any of several.
        publisher: Option<Label>,
        /// Subscribing node.
        subscriber: Label,
        /// How messages travelled, as the trace has it: `intra_process` (by pointer), `same_process` (through DDS), `loopback`,
        /// `other_namespace`; null inside a process where nothing that was taken tells.
        edge_class: Option<Label>,
        /// Cause.
        cause: LossCause,
        /// Messages published on the edge in the window.
        published: Option<u64>,
        /// Messages lost by this cause; null where it cannot be known.
        lost: Option<u64>,
        /// Why the figure is null.
        reason: Option<Label>,
    }
}

words! {
    /// When memory was read.
    MemoryAt {
        /// Before the run had services.
        Idle = "idle",
        /// Just before the window.
        Arm = "arm",
        /// Just after the window.
        Disarm = "disarm",
    }
}

table! {
    /// Two rows per run with a window and service, and per engine with processes of its own. An engine has one more row, of before the run had services. They have the memory of its processes, with what several processes of the machine share divided between them (`smaps_rollup` of proc_pid_smaps(5)).
    MemoryRow in "memory" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Host; null in results of before hosts were recorded.
        host: Option<Label>,
        /// Service, `engine`, or `engine: PROGRAM`.
        subject: Label,
        /// When.
        at: MemoryAt,
        /// Processes that were read.
        processes: u32,
        /// Resident memory, what is shared in full for each process, bytes.
        rss_bytes: u64,
        /// Resident memory, what is shared by its share (PSS), bytes.
        pss_bytes: u64,
        /// Of PSS, anonymous memory, bytes.
        pss_anon_bytes: u64,
        /// Of PSS, pages of files, bytes.
        pss_file_bytes: u64,
        /// Of PSS, shared memory and tmpfs, where the trace buffers of the node programs are, bytes.
        pss_shmem_bytes: u64,
        /// Resident memory that no other process maps, bytes.
        private_bytes: u64,
    }
}

table! {
    /// One row per run and callback that was called in the window: what a call took.
    CallbackRow in "callbacks" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Node, as the stack names it; null where the trace does not have it.
        node: Option<Label>,
        /// Callback, as the stack names it; of a real program its symbol.
        callback: Label,
        /// Of a timer: when its first release in the window was due, counted from the arming instant, ns; null where its first period in the window had none.
        phase_ns: Option<i64>,
        /// Of a timer: median over its calls of how long after it was due a call began, ns; it waits for a CPU, and for its executor where that is at work.
        late_median_ns: Option<f64>,
        /// Of a timer: the least of the same, ns: `phase_ns` and this is the phase that was observed.
        late_min_ns: Option<i64>,
        /// Of a timer: its period, as the stack has it, ns.
        period_ns: Option<i64>,
        /// Calls that began in the window and ended.
        calls: u64,
        /// Mean wall duration of a call, ns.
        wall_mean_ns: f64,
        /// Median wall duration, ns.
        wall_median_ns: f64,
        /// Longest wall duration, ns.
        wall_max_ns: i64,
        /// Mean over the calls of how long the thread was off the CPU without having given it up ([Preemption](#preemption)), ns; null where that was not recorded.
        preempted_mean_ns: Option<f64>,
        /// Mean CPU time of these calls, ns.
        cpu_mean_ns: Option<f64>,
        /// Median CPU time of a call, ns.
        cpu_median_ns: Option<f64>,
        /// Mean iterations of the work kernel in a call.
        iterations_mean: Option<f64>,
        /// Median over the calls of CPU time per iteration, ns; null where no call had any.
        cpu_iteration_median_ns: Option<f64>,
        /// The same as the calibration of the block gives it for the callback's working set, ns per iteration.
        calibrated_iteration_ns: Option<f64>,
        /// Why CPU time and iterations are null.
        reason: Option<Label>,
    }
}

impl CallbackRow {
    /// A row without figures.
    #[must_use]
    pub fn new(run: (u32, u32, Label), callback: Label) -> Self {
        let (run, block, deployment) = run;
        Self {
            run,
            block,
            deployment,
            node: None,
            callback,
            phase_ns: None,
            late_median_ns: None,
            late_min_ns: None,
            period_ns: None,
            calls: 0,
            wall_mean_ns: 0.0,
            wall_median_ns: 0.0,
            wall_max_ns: 0,
            preempted_mean_ns: None,
            cpu_mean_ns: None,
            cpu_median_ns: None,
            iterations_mean: None,
            cpu_iteration_median_ns: None,
            calibrated_iteration_ns: None,
            reason: None,
        }
    }
}

impl LatencyRow {
    /// A row without figures: the runner fills in what the trace gives.
    #[must_use]
    pub fn new(run: (u32, u32, Label), chain: Label, instance: u64, origin_ns: i64) -> Self {
        let (run, block, deployment) = run;
        Self {
            run,
            block,
            deployment,
            chain,
            instance,
            origin_ns,
            output_ns: None,
            e2e_paper_ns: None,
            e2e_full_ns: None,
            computation_ns: None,
            preempted_ns: None,
            send_ns: None,
            transport_ns: None,
            wait_ns: None,
            idle_ns: None,
            communication_ns: None,
            reaction_ns: None,
            data_age_ns: None,
            mean_over_outputs_ns: None,
            overwritten: false,
            valid: true,
            reason: None,
        }
    }
}
