// The shape of the data of a trace's page; written by ../../../src/trace/data.rs.

import type { Distribution, Samples } from "../data";

export interface Callback {
  node: string | null;
  kind: "timer" | "subscription" | "service" | null;
  topic: string | null;
  period_ns: number | null;
  symbol: string | null;
  ordinal: number;
  /** Index among the processes of the start-up. */
  process: number;
  threads: number;
  count: number;
  unfinished: number;
  invalid: number;
  mean: number | null;
  min: number | null;
  q50: number | null;
  p99: number | null;
  max: number | null;
  busy: number | null;
  ns: number[];
}

export interface Measured {
  label: string;
  path: string[];
  instances: number;
  invalid: number;
  left_out: number;
  inputs: {
    all: number;
    used: number;
    /** Those that gave no output: number of the last callback that they reached, why they went no further, how many. */
    stopped: [after: number, why: string, inputs: number][];
    outputs_without: number;
  };
  least_sure_link: string | null;
  parts: Record<string, Samples>;
  reasons: Record<string, string>;
  over_time: OverTime;
  timeline: Timeline | null;
}

/** Latency of instances in order of time; of many, the fastest and slowest of each stretch. */
export interface OverTime {
  of: number;
  /** ns since the first event of the trace, each less the one before. */
  at: number[];
  start: number[];
  publication: (number | null)[];
}

/** Calls of a chain's callbacks around its slowest instance. All times ns. */
export interface Timeline {
  /** Beginning since the first event of the trace. */
  from: number;
  length: number;
  whole: boolean;
  lane: number[];
  /** Starts since the beginning, each less the one before. */
  start: number[];
  ns: (number | null)[];
  messages: [from: number, to: number, sent: number][];
  flows: [calls: number[], e2e: number][];
  slowest: number | null;
}

export interface StartedProcess {
  name: string;
  start: number | null;
  first_event: number;
  rcl_init: number | null;
  matched: number | null;
}

export interface StartedNode {
  name: string;
  process: number;
  module: string;
  load_begin: number | null;
  init: number | null;
  loaded: number | null;
  publication: number | null;
  callback: number | null;
  transitions: [string, number][];
}

export interface Topic {
  name: string;
  publishers: number;
  subscriptions: number;
  publications: number;
  takes: number;
  linked: number;
}

export interface TracePage {
  schema: string;
  name: string;
  version: string;
  facts: {
    events: number;
    duration_ns: number;
    discarded: number;
    distribution: string;
    tracetools: string;
    hosts: number;
    processes: number;
    nodes: number;
    publishers: number;
    subscriptions: number;
    timers: number;
    services: number;
    clients: number;
  };
  missing: string[];
  shares: number[];
  callbacks: Callback[];
  parts: [string, string][];
  chains: Measured[];
  startup: { traced_modules: boolean; processes: StartedProcess[]; nodes: StartedNode[] };
  links: { takes: number; unlinked: number; methods: [string, number][]; confidences: [string, number][] };
  topics: Topic[];
  graphs: { label: string; svg: string }[];
}

/** Durations of a callback: all of them where they are few, else at the shares of the page. */
export function durations(page: TracePage, callback: Callback): Distribution {
  const n = callback.count - callback.unfinished - callback.invalid;
  const last = callback.ns.length - 1;
  const all = n === callback.ns.length && n !== page.shares.length;
  const share = Float64Array.from(callback.ns, (_, i) => (all ? (last > 0 ? i / last : 0.5) : page.shares[i]!));
  return { n, share, ns: Float64Array.from(callback.ns) };
}

/** A callback in words. */
export function startedBy(callback: Callback, time: (ns: number) => string): string {
  if (callback.period_ns !== null) return `timer ${time(callback.period_ns)}`;
  return callback.topic ?? "not in the trace";
}
