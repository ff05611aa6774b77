// The shape of the page's data; written by ../../src/page.rs.

export interface Edges {
  edges: number;
  bytes_per_s: number;
}

export interface Deployment {
  id: string;
  label: string;
  place: string;
  partition: string;
  services: number;
  processes: number;
  participants: number;
  edges: Record<string, Edges>;
  runs: number;
  finished: number;
  refused: string | null;
  /** There for the steps of an ablation alone. */
  step: boolean;
  /** Against which deployment, setting, its value there, its value here. */
  differences: [string, string, string, string][];
}

export type Quartiles = [number, number, number] | null;

export interface Startup {
  deployment: string;
  start: string;
  /** An orchestrator starts its services. */
  orchestrated: boolean;
  runs: { run: number; block: number; ns: Record<string, number> }[];
  modules: { module: string; begin: Quartiles; end: Quartiles; took: Quartiles }[];
  services: ServiceTimes[];
}

/** Medians, ns since t0; null is what neither the engine nor the program of a service tells. */
export interface ServiceTimes {
  service: string;
  scheduled: number | null;
  sandbox: number | null;
  container_created: number | null;
  first_instruction: number | null;
  launch_ready: number | null;
  first_load: number | null;
  last_loaded: number | null;
  matched: number | null;
  /** Its first publication; results of before it was recorded have none. */
  first_output: number | null;
}

/** An edge as messages travelled on it in the window. */
export interface PartitionEdge {
  topic: string;
  from: string | null;
  to: string;
  from_service: string | null;
  to_service: string | null;
  class: string | null;
  hz: number | null;
  /** Share of the messages, as far as known. */
  lost: number | null;
  chain: boolean;
}

export interface Partition {
  partition: string;
  deployment: string;
  services: number;
  nodes: number;
  pictures: { label: string; svg: string }[];
  edges: PartitionEdge[];
}

/** Means over the blocks of what a message takes from publication to the start of its callback, by deployment. */
export interface EdgeLatency {
  topic: string;
  from: string | null;
  to: string;
  chain: boolean;
  by: Record<string, { mean_ns: number | null; p99_ns: number | null }>;
}

/** Means over the blocks of what a call takes, by deployment. */
export interface CallbackTimes {
  callback: string;
  chains: string[];
  by: Record<string, { calls: number; wall_ns: number | null; cpu_ns: number | null; preempted_ns: number | null }>;
}

export interface Summary {
  n: number;
  mean: number | null;
  std: number | null;
  skewness: number | null;
  kurtosis: number | null;
  min: number | null;
  q25: number | null;
  q50: number | null;
  q75: number | null;
  p99: number | null;
  p999: number | null;
  max: number | null;
}

export interface Samples {
  summary: Summary;
  /** Mean over the blocks, ns: what comparisons have; nothing in a trace, which has no blocks. */
  block_mean?: number | null;
  rank_error: number;
  index: number[];
  ns: number[];
}

export interface ChainDeployment {
  deployment: string;
  inputs: number;
  overwritten: number;
  without_output: number;
  left_out: number;
  parts: Record<string, Samples>;
}

export interface Chain {
  chain: string;
  deadline_ns: number | null;
  deployments: ChainDeployment[];
}

export interface TimeSeries {
  subject: string;
  from_s: number;
  step_s: number;
  cpus: (number | null)[];
  mib: (number | null)[];
}

export interface Usage {
  deployment: string;
  cpus: Record<string, number>;
  memory: Record<string, number>;
  series: TimeSeries[];
}

export interface Loss {
  deployment: string;
  causes: Record<string, number | null>;
  worst: [string, string, string, number, number | null][];
}

export type Verdict = "better" | "worse" | "equivalent" | "inconclusive" | "no-control" | "lost-inputs-differ";

/** What one question comes to. */
export interface Question {
  question: string;
  metric: string;
  label: string;
  subject: string | null;
  unit: string;
  /** Whether it answers the question of the experiment; all else is exploratory. */
  primary: boolean;
  relative: boolean;
  /** May be the reference. */
  best: string;
  reference: string;
  /** Whose difference from the reference is given: the best, or the next best where that is the reference. */
  candidate: string;
  best_value: number | null;
  reference_value: number | null;
  difference: number | null;
  low: number | null;
  high: number | null;
  verdict: Verdict;
  verdict_reason: string;
}

/** What each deployment came to: its id, and a cell for each column. */
export interface Overview {
  columns: { name: string; metric: string; unit: string; relative: boolean }[];
  rows: [id: string, cells: { value: number | null; difference: number | null; verdict: Verdict | null }[]][];
  main: number;
  chain: string | null;
  other_chains: number;
}

/** What the result says in short. */
export interface Conclusion {
  answer: string;
  /** Which deployment to use, or that there is nothing to choose by. */
  advice: string;
  questions: Question[];
  overview: Overview;
  why: string[];
  /** What would settle an inconclusive answer. */
  settle: string | null;
  /** Each once, with the number of deployments that it is of. */
  warnings: { text: string; count: number }[];
}

export interface Comparison {
  metric: string;
  label: string;
  unit: string;
  subject: string | null;
  effect: "total" | "splitting" | "group-scheduling" | "isolation" | "resources";
  primary: boolean;
  reference: string;
  candidate: string;
  reference_value: number | null;
  candidate_value: number | null;
  relative: boolean;
  difference: number | null;
  low: number | null;
  high: number | null;
  delta: number;
  p_sign_flip: number | null;
  p_t: number | null;
  blocks: number;
  verdict: Verdict;
  verdict_reason: string;
  blocks_needed: number | null;
}

/** How a duration changed, ns. */
export interface Growth {
  before_ns: number;
  after_ns: number;
  difference_ns: number;
  low_ns: number | null;
  high_ns: number | null;
  blocks: number;
}

/** Where a chain got slower. */
export interface Slower {
  chain: string;
  metrics: string[];
  reference: string;
  candidate: string;
  parts: { part: string; growth: Growth }[];
  callbacks: { callback: string; service: string | null; wall: Growth; cpu: Growth | null }[];
}

/** Verdicts against an earlier result. */
export interface Against {
  against: { result: string; created_unix_s: number; measured_again: boolean };
  comparisons: Comparison[];
  slower: Slower[];
}

export interface AblationStep {
  adds: string;
  label: string;
  addend: number;
  comparison: Comparison;
  isolation_found: Record<string, boolean>;
}

export interface Ablation {
  steps: AblationStep[];
  whole: Comparison;
}

export interface RankedPair {
  first: string;
  second: string;
  survived: number;
  decided: boolean;
}

export interface Ranking {
  metric: string;
  label: string;
  subject: string | null;
  place: string;
  order: string[];
  blocks: number;
  survived: number;
  decided: boolean;
  pairs: RankedPair[];
}

export interface Experiment {
  name: string;
  created_unix_s: number;
  stowplan_version: string;
  stack: { name: string; nodes: number; topics: number; modules: string[] };
  blocks_planned: number;
  window_s: number;
  machine: {
    host: string;
    cpus: number;
    cpu_model: string;
    memory_bytes: number;
    kernel: string;
    settings: Record<string, string>;
  };
  [name: string]: unknown;
}

/** Places at which one partition ran; percentages are of `flat` and of each one's `control`, found among the comparisons. */
export interface AtPartition {
  partition: string;
  resources: string | null;
  variant: string | null;
  flat: string | null;
  places: { deployment: string; place: string; control: string | null }[];
  measures: { metric: string; subject: string | null; name: string; unit: string; flat_value: number | null }[];
}

/** A table of texts; the first `keys` columns name the row. */
export interface TextTable {
  title: string;
  note: string;
  keys: number;
  headers: string[];
  rows: string[][];
}

/** Memory by share just after the window: what is counted, and its mean bytes. */
export interface SharedMemory {
  deployment: string;
  bytes: [string, number | null][];
}

/** First releases of a timer in the window, ns, by deployment and block. */
export interface TimerPhases {
  timer: string;
  period_ns: number;
  by: Record<string, Record<string, number>>;
}

export interface Page {
  schema: string;
  experiment: Experiment;
  conclusion: Conclusion;
  reference: string | null;
  deployments: Deployment[];
  blocks: number;
  startup: Startup[];
  instants: [string, string][];
  chains: Chain[];
  parts: [string, string][];
  usage: Usage[];
  memory: SharedMemory[];
  losses: Loss[];
  partitions: Partition[];
  edges: EdgeLatency[];
  callbacks: CallbackTimes[];
  phases: TimerPhases[];
  comparisons: Comparison[];
  places: AtPartition[];
  configured: TextTable;
  slower: Slower[];
  against: Against | null;
  regressions: string[];
  ablations: Ablation[];
  rankings: Ranking[];
  instrument: string;
  warnings: string[];
}

/** Order statistics of samples: value in ns at a share of the samples. */
export interface Distribution {
  n: number;
  share: Float64Array;
  ns: Float64Array;
}

export function distribution(samples: Samples): Distribution {
  const n = samples.summary.n;
  const share = new Float64Array(samples.index.length);
  const ns = new Float64Array(samples.ns.length);
  let index = 0;
  let value = 0;
  for (let i = 0; i < share.length; i++) {
    index += samples.index[i] ?? 0;
    value += samples.ns[i] ?? 0;
    share[i] = n > 1 ? index / (n - 1) : 0.5;
    ns[i] = value;
  }
  return { n, share, ns };
}

/** Share of the samples at or below a value. */
export function below(d: Distribution, ns: number): number {
  const last = d.ns.length - 1;
  if (last < 0 || ns < d.ns[0]!) return 0;
  if (ns >= d.ns[last]!) return 1;
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (d.ns[middle]! <= ns) low = middle;
    else high = middle;
  }
  const width = d.ns[high]! - d.ns[low]!;
  const part = width > 0 ? (ns - d.ns[low]!) / width : 1;
  return d.share[low]! + (d.share[high]! - d.share[low]!) * part;
}

/** Value at a share of the samples. */
export function quantile(d: Distribution, q: number): number {
  const last = d.ns.length - 1;
  let low = 0;
  let high = last;
  if (q <= d.share[0]!) return d.ns[0]!;
  if (q >= d.share[last]!) return d.ns[last]!;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (d.share[middle]! <= q) low = middle;
    else high = middle;
  }
  const part = (q - d.share[low]!) / (d.share[high]! - d.share[low]!);
  return d.ns[low]! + (d.ns[high]! - d.ns[low]!) * part;
}
