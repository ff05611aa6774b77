// What every page has: its head, sections to jump to, and what can be hidden.

import type { Shown } from "./colours";
import { h, prose } from "./dom";
import { measureAll } from "./figure";
import { tips } from "./points";
import { themeButton } from "./theme";

export interface Section {
  id: string;
  title: string;
  short: string;
  content: (Node | null)[];
  /** Whether it is unfolded at first. */
  open?: boolean;
}

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
    open: true,
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

function folded(section: Section): HTMLElement {
  return h(
    "section",
    { id: section.id, "aria-label": section.title },
    h("details", { class: "section", open: section.open }, h("summary", {}, h("h2", {}, section.title)), section.content),
  );
}

/** Unfolds what the address names, with everything around it. */
function unfold(id: string): void {
  const target = id ? document.getElementById(id) : null;
  if (!target) return;
  const own = target.querySelector<HTMLDetailsElement>(":scope > details.section");
  if (own) own.open = true;
  for (let at = target.parentElement; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
  target.scrollIntoView();
}

/** Links unfold what they lead to; a print has every section. */
function unfolding(): void {
  // It does not bubble.
  document.addEventListener("toggle", measureAll, true);
  const named = (): string => decodeURIComponent(location.hash.slice(1));
  addEventListener("hashchange", () => unfold(named()));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href^="#"]') : null;
    if (link) unfold(decodeURIComponent(link.hash.slice(1)));
  });
  let closed: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll<HTMLDetailsElement>("details.section:not([open])")];
    closed.forEach((one) => (one.open = true));
    measureAll();
  });
  addEventListener("afterprint", () => closed.forEach((one) => (one.open = false)));
  if (location.hash) requestAnimationFrame(() => unfold(named()));
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
    h("main", { id: "main" }, sections.map(folded)),
    h(
      "footer",
      {},
      h("p", {}, "In a figure, the tabulator key goes to its marks and the arrow keys from one to the next."),
      h("p", {}, made),
      licences ? h("details", { class: "data wide" }, h("summary", {}, "Licences of bundled libraries"), licences.content.cloneNode(true)) : null,
    ),
    tips(),
  );
  unfolding();
}
