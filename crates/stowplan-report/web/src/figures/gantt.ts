// Start-up from t0, phase by phase, of every service.

import * as Plot from "@observablehq/plot";
import type { Shown } from "../colours";
import type { Page, ServiceTimes, Startup } from "../data";
import { table } from "../dom";
import type { Figure } from "../figure";
import { inUnit, missing, unitFor } from "../format";
import { base, grid, legend, linesOf, marginFor, says, under, wrapped } from "./common";
import { meanOf, type StartChoice } from "./startup";

type Instant = Exclude<keyof ServiceTimes, "service" | "first_output">;

/** A part of a service's start, until its instant. */
type Phase = [until: Instant, label: string, colour: string];

/** From t0 to the first instruction inside the service. */
const CREATE: Phase[] = [["first_instruction", "Create", "var(--idle)"]];

/** The same where an orchestrator does it, which tells its steps. */
const ORCHESTRATE: Phase[] = [
  ["scheduled", "Schedule", "var(--d9)"],
  ["sandbox", "Sandbox", "var(--d1)"],
  ["container_created", "Container", "var(--d5)"],
  ["first_instruction", "Start", "var(--d3)"],
];

/** What the program does from then on. */
const COME_UP: Phase[] = [
  ["launch_ready", "Launch", "var(--d4)"],
  ["first_load", "Spawn", "var(--d6)"],
  ["last_loaded", "Load", "var(--d0)"],
  ["matched", "Match", "var(--d2)"],
];

interface Bar {
  deployment: string;
  service: string;
  phase: string;
  colour: string;
  from: number;
  to: number;
}

const phasesOf = (s: Startup) => [...(s.orchestrated ? ORCHESTRATE : CREATE), ...COME_UP];

/** Where an instant is not known, its phase is part of the next one. */
function bars(s: Startup, label: string): Bar[] {
  return s.services.flatMap((service) => {
    let from = 0;
    return phasesOf(s).flatMap(([until, phase, colour]) => {
      const to = service[until];
      if (to === null || to < from) return [];
      const bar = { deployment: label, service: service.service, phase, colour, from, to };
      from = to;
      return [bar];
    });
  });
}

export function gantt(page: Page, shown: Shown, choice: StartChoice): Figure {
  const steps = page.startup.some((s) => s.orchestrated)
    ? "Where an orchestrator creates the service, schedule ends when it has chosen the node, sandbox when what the containers of a pod " +
      "share is there, container when the container is made, and start with that first instruction. "
    : "";
  const views = () => page.startup.filter((s) => s.start === choice.value && shown.has(s.deployment) && s.services.length > 0);
  return {
    id: "startup-gantt",
    title: "Start-up of each service",
    read:
      "Medians since t0, before create. Create ends with the first instruction inside the service, launch when its launcher has read " +
      "everything, spawn when its first node begins to load, load with its last node, match when its endpoints have found each other. " +
      steps +
      "A circle is the first output of a service. The diamond is the first output of the last chain, mean over the blocks.",
    draw(width) {
      const all = views();
      const drawn = all.map((s) => ({
        label: shown.label(s.deployment),
        bars: bars(s, shown.label(s.deployment)),
        outputs: s.services.flatMap((of) => (of.first_output === null ? [] : [{ ns: of.first_output, row: of.service }])),
        output: meanOf(s, "first_output"),
      }));
      const longest = Math.max(0, ...drawn.flatMap((d) => [...d.bars.map((b) => b.to), ...d.outputs.map((o) => o.ns), d.output ?? 0]));
      if (longest === 0) return [];
      const unit = unitFor(longest);
      const names = [...new Set(drawn.flatMap((d) => d.bars.map((b) => b.service)))];
      const margin = marginFor(names, width);
      const row = linesOf(names, margin) > 1 ? 32 : 22;
      const used = [...CREATE, ...ORCHESTRATE, ...COME_UP].filter(([, phase]) => drawn.some((d) => d.bars.some((b) => b.phase === phase)));
      const at = (ns: number) => `${inUnit(ns, unit)} ${unit.name}`;
      const text = (b: Bar) => `${b.service}, ${b.deployment}\n${b.phase}: ${at(b.to - b.from)}\nfrom ${at(b.from)} to ${at(b.to)}`;
      const facets = drawn.map((d, i) => {
        const last = i === drawn.length - 1;
        const services = [...new Set(d.bars.map((b) => b.service))];
        const output = d.output === null ? [] : [{ ns: d.output, row: services[services.length - 1]! }];
        const plot = Plot.plot({
          ...base,
          width,
          marginLeft: margin,
          marginRight: 24,
          marginTop: 2,
          marginBottom: last ? 46 : 4,
          height: services.length * row + (last ? 48 : 6),
          x: { ...under, label: last ? `time since t0 (${unit.name})` : null, axis: last ? "bottom" : null, domain: [0, (longest / unit.ns) * 1.02], transform: (ns: number) => ns / unit.ns },
          y: { domain: services, label: null, tickSize: 0, padding: 0.25, tickFormat: (label: string) => wrapped(label, margin) },
          marks: [
            Plot.gridX(grid),
            Plot.barX(d.bars, { x1: "from", x2: "to", y: "service", fill: "colour", insetRight: 0.5, ...says(text) }),
            Plot.dot(d.outputs, { x: "ns", y: "row", r: 3.5, fill: "var(--surface)", stroke: "var(--ink)", ...says((o: { ns: number; row: string }) => `${o.row}, ${d.label}\nFirst output: ${at(o.ns)}`) }),
            Plot.dot(output, { x: "ns", y: "row", symbol: "diamond", r: 5, fill: "var(--ink)", stroke: "var(--surface)", ...says((o: { ns: number }) => `${d.label}\nFirst output of the last chain: ${at(o.ns)}`) }),
          ],
        });
        const box = document.createElement("div");
        box.className = "facet";
        const title = document.createElement("h4");
        title.textContent = d.label;
        box.append(title, plot);
        return box;
      });
      return [legend(used.map(([, label, colour]) => [label, colour])), ...facets];
    },
    data() {
      const rows = views().flatMap((s) => s.services.map((service) => ({ s, service })));
      const unit = unitFor(Math.max(0, ...rows.map((r) => r.service.first_output ?? r.service.matched ?? r.service.last_loaded ?? 0)));
      const instants = [...(rows.some((r) => r.s.orchestrated) ? ORCHESTRATE : CREATE), ...COME_UP];
      const heads: Record<Instant, string> = {
        scheduled: "Scheduled",
        sandbox: "Pod sandbox created",
        container_created: "Container created",
        first_instruction: "First instruction",
        launch_ready: "Launch ready",
        first_load: "First node begins to load",
        last_loaded: "Last node loaded",
        matched: "Matched",
      };
      const show = (ns: number | null) => (ns === null ? missing : inUnit(ns, unit));
      return table(
        [
          { head: "Service", cell: (r: (typeof rows)[number]) => r.service.service },
          { head: "Deployment", cell: (r) => shown.label(r.s.deployment) },
          ...instants.map(([until]) => ({ head: heads[until], number: true, cell: (r: (typeof rows)[number]) => show(r.service[until]) })),
          { head: "First output", number: true, cell: (r) => show(r.service.first_output) },
        ],
        rows,
        `Medians in ${unit.name} since t0, ${choice.value}`,
      );
    },
  };
}
