// Shows what the data of this file are of: an experiment or a trace.

import type { Page } from "./data";
import { h } from "./dom";
import { build as experiment } from "./experiment";
import { build as trace } from "./trace/page";
import type { TracePage } from "./trace/data";

function build(app: HTMLElement): void {
  const text = document.getElementById("data")?.textContent;
  if (!text) throw new Error("this file holds no data");
  const page = JSON.parse(text) as { schema: string };
  if (page.schema === "stowplan.page/1") experiment(page as Page, app);
  else if (page.schema === "stowplan.trace-page/1") trace(page as TracePage, app);
  else throw new Error(`unknown data ${page.schema}`);
}

const app = document.getElementById("app");
if (app) {
  try {
    build(app);
    document.documentElement.dataset.ready = "true";
    // Told to whoever measures the page; nothing reads it here.
    requestAnimationFrame(() => {
      document.documentElement.dataset.milliseconds = performance.now().toFixed(0);
    });
  } catch (error) {
    document.documentElement.dataset.error = String(error);
    app.append(h("p", {}, `The report cannot be shown: ${String(error)}`));
    throw error;
  }
}
