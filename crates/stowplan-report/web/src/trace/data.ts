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
  least_sure_link: string | null;
  parts: Record<string, Samples>;
  reasons: Record<string, string>;
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
