// What several figures share.

import * as Plot from "@observablehq/plot";

/** Space for labels at the left, in CSS pixels. */
export function marginFor(labels: string[], width: number, size = 12): number {
  const longest = Math.max(0, ...labels.map((l) => l.length));
  return Math.min(Math.ceil(longest * size * 0.56) + 16, Math.floor(width * 0.42));
}

export const grid = { stroke: "var(--grid)", strokeOpacity: 1 };

export const base = {
  style: { background: "none", fontSize: "12px", overflow: "visible" },
  marginTop: 8,
  marginBottom: 46,
} satisfies Plot.PlotOptions;

/** A title in the middle under the ticks of the horizontal axis. */
export const under = { labelAnchor: "center", labelArrow: "none", labelOffset: 40 } satisfies Plot.ScaleOptions;

/** Lines by label in the colours of the page; some dashed, because their colour is taken. */
export function lines<T extends { label: string; dash: string | null }>(
  points: T[],
  options: Plot.LineOptions,
): Plot.Markish[] {
  const common = { z: "label", stroke: "label", ...options };
  const plain = points.filter((p) => p.dash === null);
  const dashed = points.filter((p) => p.dash !== null);
  return [
    plain.length ? Plot.line(plain, common) : null,
    dashed.length ? Plot.line(dashed, { ...common, strokeDasharray: "5 3" }) : null,
  ];
}

/** A tip in the colours of the page. */
export const tip = { fill: "var(--raised)", stroke: "var(--line)" };

/** What a mark says, to the pointer in a tip and to the keyboard: lines of text. */
export function says<T>(text: (d: T) => string): { title: (d: T) => string; ariaLabel: (d: T) => string; tip: Plot.TipOptions } {
  return { title: text, ariaLabel: text, tip };
}

/** Marks that nobody sees: where the keyboard stops on lines, and what is said there. */
export function stops<T>(points: T[], x: (d: T) => number, y: (d: T) => number, text: (d: T) => string): Plot.Markish {
  return Plot.dot(points, { x, y, r: 5, fill: "transparent", stroke: "none", ariaLabel: text });
}

/** Some of these, about `n`, at equal distances, the ends among them. */
export function some<T>(all: T[], n: number): T[] {
  if (all.length <= n) return all;
  return Array.from({ length: n }, (_, i) => all[Math.round((i * (all.length - 1)) / (n - 1))]!);
}

/** Less width than this has no room for labels beside what is drawn. */
export const NARROW = 560;

/** Labels as lines of words that fit this margin. */
export function wrapped(label: string, margin: number, size = 12): string {
  const room = Math.max(6, Math.floor((margin - 14) / (size * 0.56)));
  // Long names are parted where their parts end, and never inside these.
  const words = label.split(/(?<= )/).flatMap((word) => (word.trim().length > room ? word.split(/(?<=[/_])/) : [word]));
  const lines = [""];
  for (const word of words) {
    const last = lines[lines.length - 1]!;
    if (last === "" || last.length + word.trimEnd().length <= room) lines[lines.length - 1] = last + word;
    else lines.push(word);
  }
  return lines.map((line) => line.trimEnd()).join("\n");
}

/** Most lines that any of these labels needs. */
export function linesOf(labels: string[], margin: number, size = 12): number {
  return Math.max(1, ...labels.map((label) => wrapped(label, margin, size).split("\n").length));
}

/** From the least to the largest, with some room; from zero where the data begin near it. */
export function fromData(low: number, high: number): [number, number] {
  const room = (high - low || Math.abs(high) || 1) * 0.04;
  return [low > 0 && low < 0.1 * high ? 0 : low < 0 ? low - room : Math.max(0, low - room), high + room];
}

/** A legend of coloured squares. */
export function legend(entries: [label: string, colour: string][]): HTMLElement {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const [label, colour] of entries) {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = colour;
    item.append(swatch, label);
    list.append(item);
  }
  return list;
}
