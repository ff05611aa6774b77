// Calls of a chain's callbacks over time, and the messages between them.

import * as Plot from "@observablehq/plot";
import type { Figure } from "../figure";
import { choice, h, table } from "../dom";
import { base, grid, marginFor, NARROW, says, under, wrapped } from "../figures/common";
import { count, inUnit, missing, time, unitFor } from "../format";
import type { Measured, Timeline, TracePage } from "./data";

/** Least that is shown at once, ns. */
const SHORTEST = 10_000;

/** Steps of the slider. */
const STEPS = 1000;

interface Call {
  index: number;
  lane: number;
  from: number;
  /** Its end; the end of the span where the trace does not have it. */
  to: number;
  ended: boolean;
}

/** A chain's timeline with times added up. */
interface Read {
  chain: Measured;
  timeline: Timeline;
  calls: Call[];
}

function read(chain: Measured): Read | null {
  const { timeline } = chain;
  if (timeline === null) return null;
  let from = 0;
  const calls = timeline.start.map((step, index) => {
    from += step;
    const ns = timeline.ns[index] ?? null;
    return { index, lane: timeline.lane[index]!, from, to: ns === null ? timeline.length : from + ns, ended: ns !== null };
  });
  return { chain, timeline, calls };
}

/** What of which chain is seen. Times are ns since the beginning of the chain's span. */
export class TimelineChoice {
  readonly chains: Read[];
  of = 0;
  /** Number of the instance that is drawn thick. */
  flow: number | null = null;
  from = 0;
  to = 1;
  private readonly listeners: (() => void)[] = [];

  constructor(page: TracePage) {
    this.chains = page.chains.flatMap((chain) => read(chain) ?? []);
    this.open(0);
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }

  current(): Read | undefined {
    return this.chains[this.of];
  }

  /** Shows another chain, at its slowest instance. */
  open(of: number): void {
    this.of = of;
    const one = this.current();
    if (one) this.select(one.timeline.slowest, true);
  }

  /** Draws an instance thick and, where it cannot be seen or it is asked for, goes there. */
  select(flow: number | null, go: boolean): void {
    const one = this.current();
    if (!one) return;
    this.flow = flow;
    const calls = flow === null ? one.calls.slice(0, 20) : one.timeline.flows[flow]![0].map((i) => one.calls[i]!);
    if (calls.length > 0) {
      const [begin, end] = [Math.min(...calls.map((c) => c.from)), Math.max(...calls.map((c) => c.to))];
      const room = Math.max((end - begin) * 0.25, SHORTEST);
      if (go) [this.from, this.to] = [begin - room, end + room];
      else if (begin < this.from || end > this.to) {
        const length = this.to - this.from;
        [this.from, this.to] = [begin - length / 4, begin + (length * 3) / 4];
      }
    }
    this.keep();
  }

  /** To the instance before or after the one that is drawn thick. */
  step(by: number): void {
    const flows = this.current()?.timeline.flows.length ?? 0;
    if (flows === 0) return;
    this.select(Math.max(0, Math.min(flows - 1, (this.flow ?? 0) + by)), false);
  }

  /** By a share of what is seen. */
  pan(share: number): void {
    const by = (this.to - this.from) * share;
    this.from += by;
    this.to += by;
    this.keep();
  }

  zoom(factor: number): void {
    const middle = (this.from + this.to) / 2;
    const half = ((this.to - this.from) / 2) * factor;
    [this.from, this.to] = [middle - half, middle + half];
    this.keep();
  }

  /** Goes to a share of the whole way. */
  at(share: number): void {
    const length = this.to - this.from;
    this.from = share * Math.max(0, this.length() - length);
    this.to = this.from + length;
    this.keep();
  }

  length(): number {
    return Math.max(this.current()?.timeline.length ?? 0, SHORTEST);
  }

  /** Keeps what is seen inside of what there is. */
  private keep(): void {
    const length = Math.min(Math.max(this.to - this.from, SHORTEST), this.length());
    this.from = Math.max(0, Math.min(this.from, this.length() - length));
    this.to = this.from + length;
    this.changed();
  }
}

function button(label: string, title: string, click: () => void): HTMLElement {
  return h("button", { type: "button", class: "plain-button", title, "aria-label": title, click }, label);
}

function controlsOf(of: TimelineChoice): HTMLElement[] {
  const labels = of.chains.map((one, i): [string, string] => [String(i), one.chain.label]);
  const slider = h("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": "Place in the recorded span", class: "place" });
  slider.addEventListener("input", () => of.at(Number(slider.value) / STEPS));
  const follow = (): void => {
    const way = of.length() - (of.to - of.from);
    slider.value = String(way > 0 ? Math.round((of.from / way) * STEPS) : 0);
    slider.disabled = way <= 0;
    slider.setAttribute("aria-valuetext", `${time(of.from)} of ${time(of.length())}`);
  };
  of.onChange(follow);
  follow();
  return [
    ...(labels.length > 1 ? [choice("Chain", labels, String(of.of), (v) => of.open(Number(v)))] : []),
    h(
      "fieldset",
      { class: "buttons", "aria-label": "What is seen" },
      button("◀", "Earlier", () => of.pan(-0.5)),
      slider,
      button("▶", "Later", () => of.pan(0.5)),
      button("−", "Zoom out", () => of.zoom(2)),
      button("+", "Zoom in", () => of.zoom(0.5)),
    ),
    h(
      "fieldset",
      { class: "buttons", "aria-label": "Instance drawn thick" },
      button("Previous instance", "Previous instance", () => of.step(-1)),
      button("Slowest", "Slowest instance", () => of.select(of.current()?.timeline.slowest ?? null, true)),
      button("Next instance", "Next instance", () => of.step(1)),
    ),
  ];
}

interface Way {
  from: number;
  to: number;
  fromLane: number;
  toLane: number;
  thick: boolean;
  /** Inside of a node, by a timer that uses what was stored. */
  idle: boolean;
}

/** Messages, and the ways of the instance that is drawn thick: those by a timer are not messages. */
function ways(one: Read, flow: number | null): Way[] {
  const thick = new Set<string>();
  const idle: Way[] = [];
  const calls = flow === null ? [] : one.timeline.flows[flow]![0];
  const sent = new Set(one.timeline.messages.map(([from, to]) => `${from} ${to}`));
  for (let i = 1; i < calls.length; i++) {
    const [a, b] = [one.calls[calls[i - 1]!]!, one.calls[calls[i]!]!];
    thick.add(`${a.index} ${b.index}`);
    if (!sent.has(`${a.index} ${b.index}`)) idle.push({ from: a.to, to: b.from, fromLane: a.lane, toLane: b.lane, thick: true, idle: true });
  }
  const messages = one.timeline.messages.map(([from, to, after]) => {
    const [a, b] = [one.calls[from]!, one.calls[to]!];
    return { from: a.from + after, to: b.from, fromLane: a.lane, toLane: b.lane, thick: thick.has(`${from} ${to}`), idle: false };
  });
  return [...messages, ...idle];
}

/** A callback of the chain without its namespace: the whole name is in the tip. */
function short(name: string): string {
  const [node, ...rest] = name.split(" ");
  const last = node!.split("/").pop()!;
  const period = /^timer (\d+) ns$/.exec(rest.join(" "));
  return period ? `${last} timer ${time(Number(period[1]))}` : [last, ...rest].join(" ");
}

export function timeline(of: TimelineChoice): Figure {
  return {
    id: "timeline",
    title: "Timeline of callbacks and messages",
    read:
      "A row is a callback of the chain, a bar a call of it, a line a message from its publication to the start of the callback that got it. " +
      "One instance of the chain is drawn thick, at first the slowest; where it waits for a timer, its line is dashed. " +
      "Scroll with the buttons, the slider, or sideways over the drawing.",
    controls: controlsOf(of),
    draw(width) {
      const one = of.current();
      if (!one) return [];
      const names = one.chain.path.map(short);
      const lanes = names.map((_, i) => i);
      const margin = marginFor(names, width, 11);
      const seen = (from: number, to: number) => to >= of.from && from <= of.to;
      const flow = new Set(of.flow === null ? [] : one.timeline.flows[of.flow]![0]);
      const cut = (at: number) => Math.max(of.from, Math.min(of.to, at));
      const calls = one.calls.filter((c) => seen(c.from, c.to)).map((c) => ({ ...c, x1: cut(c.from), x2: cut(c.to) }));
      const drawn = ways(one, of.flow).filter((w) => seen(w.from, w.to));
      const begin = one.timeline.from;
      const unit = unitFor(of.to - of.from);
      const origin = of.from;
      const text = (c: Call) =>
        `${one.chain.path[c.lane]}\nstarts at ${((begin + c.from) / 1e9).toFixed(6)} s\n${c.ended ? `takes ${time(c.to - c.from)}` : "the trace does not have its end"}` +
        (flow.has(c.index) ? "\npart of the instance drawn thick" : "");
      const wide = (of.to - of.from) / Math.max(1, width - margin);
      const link = (all: Way[], options: Plot.LinkOptions) =>
        Plot.link(all, { x1: "from", x2: "to", y1: "fromLane", y2: "toLane", ...options });
      const row = width < NARROW ? 40 : 30;
      const plot = Plot.plot({
        ...base,
        width,
        height: 66 + lanes.length * row,
        marginLeft: margin,
        marginRight: 18,
        clip: true,
        x: {
          ...under,
          label: `time since ${((begin + origin) / 1e9).toFixed(6)} s of the trace (${unit.name})`,
          domain: [0, (of.to - of.from) / unit.ns],
          transform: (ns: number) => (ns - origin) / unit.ns,
        },
        y: { domain: lanes, label: null, tickSize: 0, padding: 0.35, type: "band", tickFormat: (i: number) => wrapped(names[i]!, margin, 11) },
        marks: [
          Plot.gridX(grid),
          Plot.ruleY(lanes, { stroke: "var(--grid)" }),
          link(drawn.filter((w) => !w.thick), { stroke: "var(--muted)", strokeOpacity: 0.55, strokeWidth: 1 }),
          Plot.barX(calls, {
            x1: "x1",
            // A call of a microsecond is seen, too.
            x2: (c: (typeof calls)[number]) => Math.max(c.x2, c.x1 + wide * 2),
            y: "lane",
            fill: (c: Call) => (flow.has(c.index) ? "var(--accent)" : "var(--computation)"),
            rx: 1.5,
            ...says(text),
          }),
          link(drawn.filter((w) => w.thick && !w.idle), { stroke: "var(--accent)", strokeWidth: 2.2 }),
          link(drawn.filter((w) => w.idle), { stroke: "var(--accent)", strokeWidth: 2.2, strokeDasharray: "5 3" }),
        ],
      });
      const box = h("div", { class: "timeline" }, plot);
      box.addEventListener(
        "wheel",
        (event) => {
          const by = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
          if (Math.abs(by) <= Math.abs(event.shiftKey ? 0 : event.deltaY)) return;
          event.preventDefault();
          of.pan(by / Math.max(200, width));
        },
        { passive: false },
      );
      const told = one.timeline.whole
        ? `All ${count(one.calls.length)} calls of the chain's callbacks are here: ${time(one.timeline.length)}.`
        : `The page has ${count(one.calls.length)} calls around the slowest instance: ${time(one.timeline.length)}. For other spans: stowplan trace window.`;
      const instance = of.flow === null ? "" : ` Instance ${of.flow + 1} of ${one.timeline.flows.length}: end to end ${time(one.timeline.flows[of.flow]![1])}.`;
      return [box, h("p", { class: "note", "aria-live": "polite" }, told + instance)];
    },
    data() {
      const one = of.current();
      if (!one || of.flow === null) return h("p", { class: "nothing" }, "The span has no whole instance of the chain.");
      const calls = one.timeline.flows[of.flow]![0].map((i) => one.calls[i]!);
      const unit = unitFor(calls[calls.length - 1]!.to - calls[0]!.from);
      const since = (ns: number) => inUnit(ns - calls[0]!.from, unit);
      return table<Call>(
        [
          { head: "Callback", cell: (c) => one.chain.path[c.lane]! },
          { head: "starts", number: true, cell: (c) => since(c.from) },
          { head: "ends", number: true, cell: (c) => (c.ended ? since(c.to) : missing) },
        ],
        calls,
        `Calls of the instance drawn thick, in ${unit.name} since its first start`,
      );
    },
  };
}
