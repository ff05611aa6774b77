// What every page has: its head, sections to jump to, and what can be hidden.

import type { Shown } from "./colours";
import { h, prose } from "./dom";
import { themeButton } from "./theme";

export type Section = { id: string; title: string; short: string; content: (Node | null)[] };

export interface Frame {
  /** Above the sections. */
  head: (Node | null | Node[])[];
  /** What can be hidden from the figures. */
  shown: Shown;
  sections: Section[];
  /** By what and of what the page was made. */
  made: string;
}

export function controls(elements: HTMLElement[]): HTMLElement | null {
  return elements.length ? h("div", { class: "controls shared" }, elements) : null;
}

/** A list of what a reader has to know; nothing where there is nothing. */
export function warnings(title: string, texts: string[]): Section | null {
  if (texts.length === 0) return null;
  return {
    id: "warnings",
    title,
    short: title,
    content: [h("ul", { class: "warnings" }, texts.map((w) => h("li", {}, prose(w))))],
  };
}

/** What is shown, with its colours; each can be hidden from all figures. */
function picker(shown: Shown): HTMLElement | null {
  if (shown.deployments.length === 0) return null;
  const boxes = shown.deployments.map((d) => {
    const input = h("input", { type: "checkbox", checked: shown.has(d.id), change: () => shown.toggle(d.id) });
    return h("label", { class: "chip", style: `--chip:${shown.colour(d.id)}` }, input, h("span", {}, d.label));
  });
  const name = shown.noun.charAt(0).toUpperCase() + shown.noun.slice(1);
  return h("fieldset", { class: "picker" }, h("legend", {}, `${name}s shown`), boxes);
}

export function frame(app: HTMLElement, { head, shown, sections, made }: Frame): void {
  const licences = document.getElementById("licences") as HTMLTemplateElement | null;
  app.replaceChildren(
    h("a", { class: "skip", href: "#main" }, "Skip to the figures"),
    h(
      "header",
      { class: "top" },
      h("div", { class: "brand" }, h("span", { class: "logo", "aria-hidden": "true" }, h("i"), h("i"), h("i")), "Stowplan"),
      h(
        "nav",
        { "aria-label": "Sections" },
        sections.map((s) => h("a", { href: `#${s.id}` }, s.short)),
      ),
      themeButton(),
    ),
    h("div", { class: "title" }, head.flat()),
    picker(shown) ?? "",
    h(
      "main",
      { id: "main" },
      sections.map((s) => h("section", { id: s.id, "aria-label": s.title }, h("h2", {}, s.title), s.content)),
    ),
    h(
      "footer",
      {},
      h("p", {}, made),
      licences ? h("details", { class: "data wide" }, h("summary", {}, "Licences of bundled libraries"), licences.content.cloneNode(true)) : null,
    ),
  );
}
