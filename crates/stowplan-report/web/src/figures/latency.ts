// Distributions of latency: as a distribution function and as histograms.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import { below, distribution, quantile, type Chain, type Distribution, type Page } from "../data";
import { choice, segments, table } from "../dom";
import type { Figure } from "../figure";
import { count, inUnit, sentence, unitFor, type Unit } from "../format";
import { base, fromData, grid, lines, linesOf, marginFor, says, stops, tip, under, wrapped } from "./common";

interface View {
  label: string;
  id: string;
  d: Distribution;
}

const BINS = 72;

/** Shares of a distribution at which the keyboard stops. */
const SHARES = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

/** The chain, part and axis that both figures show. */
export class LatencyChoice {
  chain: string;
  part: string;
  axis = "most";
  scale = "share";
  private readonly listeners: (() => void)[] = [];
  private readonly decoded = new Map<string, Distribution>();

  constructor(private readonly page: Pick<Page, "chains" | "parts">) {
    this.chain = page.chains[0]?.chain ?? "";
    this.part = page.parts[0]?.[0] ?? "";
  }

  private set(change: () => void): void {
    change();
    for (const listener of this.listeners) listener();
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  controls(): HTMLElement[] {
    const present = this.page.parts.filter(([key]) =>
      this.page.chains.some((c) => c.deployments.some((d) => d.parts[key])),
    );
    const controls: HTMLElement[] = [];
    if (this.page.chains.length > 1) {
      const chains = this.page.chains.map((c): [string, string] => [c.chain, c.chain]);
      controls.push(choice("Chain", chains, this.chain, (v) => this.set(() => (this.chain = v))));
    }
    controls.push(
      choice("Part", present, this.part, (v) => this.set(() => (this.part = v))),
      segments(
        "Time axis",
        [
          ["most", "Up to P99.5"],
          ["all", "All"],
          ["log", "Log"],
        ],
        this.axis,
        (v) => this.set(() => (this.axis = v)),
      ),
    );
    return controls;
  }

  scaleControl(): HTMLElement {
    const options: [string, string][] = [
      ["share", "Share"],
      ["tail", "Tail (log)"],
    ];
    return segments("Shares", options, this.scale, (v) => this.set(() => (this.scale = v)));
  }

  current(): Chain | undefined {
    return this.page.chains.find((c) => c.chain === this.chain);
  }

  partLabel(): string {
    return this.page.parts.find(([key]) => key === this.part)?.[1] ?? this.part;
  }

  views(shown: Shown): View[] {
    return (this.current()?.deployments ?? []).flatMap((one) => {
      const samples = one.parts[this.part];
      if (!samples || !shown.has(one.deployment)) return [];
      const key = `${this.chain}\n${one.deployment}\n${this.part}`;
      let d = this.decoded.get(key);
      if (!d) {
        d = distribution(samples);
        this.decoded.set(key, d);
      }
      return [{ label: shown.label(one.deployment), id: one.deployment, d }];
    });
  }

  /** Range of the time axis in ns. */
  range(views: View[]): [number, number] {
    const low = Math.min(...views.map((v) => v.d.ns[0]!));
    const high = Math.max(
      ...views.map((v) => (this.axis === "most" ? quantile(v.d, 0.995) : v.d.ns[v.d.ns.length - 1]!)),
    );
    if (this.axis === "log") return [Math.max(low, 1), Math.max(high, low + 1, 2)];
    return fromData(low, high);
  }

  rankError(): number {
    const errors = (this.current()?.deployments ?? []).map((d) => d.parts[this.part]?.rank_error ?? 0);
    return Math.max(0, ...errors);
  }
}

function axis(of: LatencyChoice, unit: Unit, domain: [number, number]): Plot.ScaleOptions {
  const log = of.axis === "log";
  return {
    ...under,
    label: `${of.partLabel()} (${unit.name})`,
    type: log ? "log" : "linear",
    domain: domain.map((ns) => ns / unit.ns),
    nice: false,
    transform: (ns: number) => ns / unit.ns,
    ...(log ? { tickFormat: "~g" } : {}),
  };
}

export function ecdf(of: LatencyChoice, shown: Shown): Figure {
  return {
    id: "latency-ecdf",
    title: "Distribution of latency",
    read:
      "A curve gives the share of chain instances that took at most a time; a curve further left is faster, a steeper " +
      "one jitters less. In the tail view, the height is the share that took longer.",
    controls: [of.scaleControl()],
    draw(width) {
      const views = of.views(shown);
      if (views.length === 0) return [];
      const domain = of.range(views);
      const unit = unitFor(domain[1]);
      const tail = of.scale === "tail";
      const most = Math.max(...views.map((v) => v.d.n));
      const points = views.flatMap((v) =>
        Array.from(v.d.share, (share, i) => ({
          label: v.label,
          dash: shown.dash(v.id),
          ns: v.d.ns[i]!,
          share: tail ? 1 - share : share,
        })).filter((p) => !tail || p.share > 0),
      );
      const text = (p: { label: string; ns: number; share: number }) =>
        `${p.label}\n${(p.share * 100).toFixed(2)} % of instances took ${tail ? "longer than" : "at most"} ${inUnit(p.ns, unit)} ${unit.name}`;
      const stopped = views.flatMap((v) =>
        SHARES.filter((q) => v.d.n * (1 - q) >= 1)
          .map((q) => ({ label: v.label, ns: quantile(v.d, q), share: tail ? 1 - q : q }))
          .filter((p) => p.ns >= domain[0] && p.ns <= domain[1]),
      );
      const deadline = of.part.startsWith("e2e") || of.part === "reaction" ? of.current()?.deadline_ns : null;
      const right = deadline != null && deadline > (domain[0] + 4 * domain[1]) / 5;
      const inside = deadline != null && deadline >= domain[0] && deadline <= domain[1];
      return [
        Plot.plot({
          ...base,
          width,
          height: Math.min(400, Math.max(280, width * 0.42)),
          marginTop: 26,
          marginLeft: 52,
          marginRight: 24,
          clip: true,
          x: axis(of, unit, domain),
          y: tail
            ? { type: "log", domain: [Math.max(1 / most, 1e-6), 1], label: "share that took longer", tickFormat: (v: number) => `${Number((v * 100).toPrecision(3))} %` }
            : { domain: [0, 1], label: "share of instances", tickFormat: "%" },
          color: shown.scale(),
          marks: [
            Plot.gridX(grid),
            Plot.gridY(grid),
            inside ? Plot.ruleX([deadline], { stroke: "var(--worse)", strokeDasharray: "4 3" }) : null,
            inside
              ? Plot.text([deadline], { x: (v) => v, frameAnchor: "bottom", text: () => "deadline", dx: right ? -5 : 5, dy: -8, textAnchor: right ? "end" : "start", fill: "var(--worse)" })
              : null,
            ...lines(points, {
              x: "ns",
              y: "share",
              strokeWidth: 2,
              title: text,
              tip,
            }),
            stops(stopped, (p) => p.ns, (p) => p.share, text),
          ],
        }),
      ];
    },
    data() {
      const views = of.views(shown);
      const largest = Math.max(0, ...views.map((v) => quantile(v.d, 0.99)));
      const unit = unitFor(largest);
      const shares = [0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];
      return table(
        [
          { head: sentence(shown.noun), cell: (v: View) => v.label },
          { head: "Instances", number: true, cell: (v: View) => count(v.d.n) },
          ...shares.map((q) => ({
            head: `P${Number((q * 100).toFixed(1))}`,
            number: true,
            // As in the table of statistics: no quantile that a handful of samples decides.
            cell: (v: View) => inUnit(v.d.n * Math.min(q, 1 - q) * (1 + 1e-9) >= 10 ? quantile(v.d, q) : null, unit),
          })),
        ],
        views,
        `${of.partLabel()} of ${of.chain} in ${unit.name}; read off within ${(of.rankError() * 100).toFixed(2)} % in rank`,
      );
    },
  };
}

export function histogram(of: LatencyChoice, shown: Shown): Figure {
  return {
    id: "latency-histogram",
    title: "Histogram of latency",
    read:
      `Height is the share of chain instances per bin, on one scale for all ${shown.noun}s; the solid line is the median, ` +
      "the dashed one P99. Several peaks mean that timer phases or branches of the work decide.",
    draw(width) {
      const views = of.views(shown);
      if (views.length === 0) return [];
      const domain = of.range(views);
      const unit = unitFor(domain[1]);
      const log = of.axis === "log";
      const edge = (i: number) =>
        log
          ? domain[0] * (domain[1] / domain[0]) ** (i / BINS)
          : domain[0] + ((domain[1] - domain[0]) * i) / BINS;
      const bins = views.flatMap((v) =>
        Array.from({ length: BINS }, (_, i) => ({
          label: v.label,
          n: v.d.n,
          from: edge(i),
          to: edge(i + 1),
          share: Math.max(0, below(v.d, edge(i + 1)) - (i === 0 ? 0 : below(v.d, edge(i)))),
        })).filter((b) => b.share > 0),
      );
      const marked = views.flatMap((v) =>
        [0.5, 0.99]
          .filter((q) => v.d.n * (1 - q) * (1 + 1e-9) >= 10)
          .map((q) => ({ label: v.label, q, ns: quantile(v.d, q) }))
          .filter((l) => l.ns <= domain[1]),
      );
      const labels = views.map((v) => v.label);
      const margin = marginFor(labels, width);
      const most = Math.max(...bins.map((b) => b.share));
      const inside = (ns: number) => `${inUnit(ns, unit)} ${unit.name}`;
      const drawn = (q: number, dash: string | null) =>
        Plot.ruleX(
          marked.filter((l) => l.q === q),
          { x: "ns", fy: "label", stroke: "var(--ink)", strokeWidth: 1.4, strokeDasharray: dash ?? "none" },
        );
      return [
        Plot.plot({
          ...base,
          width,
          height: 66 + labels.length * Math.max(76, linesOf(labels, margin) * 15),
          marginTop: 22,
          marginLeft: margin,
          marginRight: 46,
          x: axis(of, unit, domain),
          y: { domain: [0, most * 1.06] },
          fy: { domain: labels, label: null, padding: 0.1, axis: null },
          color: shown.scale(),
          marks: [
            Plot.gridX(grid),
            Plot.axisFy({ anchor: "left", textAnchor: "end", frameAnchor: "left", dx: -10, label: null, tickFormat: (label: string) => wrapped(label, margin) }),
            Plot.axisY({ anchor: "right", ticks: 2, tickSize: 3, label: "share per bin", labelAnchor: "top", labelArrow: "none", tickFormat: (v: number) => `${Number((v * 100).toPrecision(2))} %` }),
            Plot.ruleY([0], { stroke: "var(--line)" }),
            Plot.rectY(bins, {
              x1: "from",
              x2: "to",
              y: "share",
              fy: "label",
              fill: "label",
              fillOpacity: 0.82,
              insetLeft: 0.5,
              insetRight: 0.5,
              ...says((b: (typeof bins)[number]) => `${b.label}\n${inside(b.from)} to ${inside(b.to)}\n${(b.share * 100).toFixed(2)} % of ${count(b.n)} instances`),
            }),
            drawn(0.5, null),
            drawn(0.99, "3 3"),
          ],
        }),
      ];
    },
  };
}
