// One colour per deployment (in the page of a trace: per chain), the same in every figure and both themes.

const COLOURS = 10;

export interface Series {
  id: string;
  label: string;
}

/** What can be shown beside each other, which of it is shown, and its colours. */
export class Shown {
  private readonly hidden: Set<string>;
  private readonly listeners: (() => void)[] = [];

  constructor(
    readonly deployments: Series[],
    /** What one of them is called. */
    readonly noun = "deployment",
    /** Ids of those that are not shown at first. */
    hidden: string[] = [],
  ) {
    this.hidden = new Set(hidden);
  }

  colour(id: string): string {
    const index = this.deployments.findIndex((d) => d.id === id);
    return index < 0 ? "var(--muted)" : `var(--d${index % COLOURS})`;
  }

  /** Past the last colour they repeat; a dash then tells lines apart. */
  dash(id: string): string | null {
    const index = this.deployments.findIndex((d) => d.id === id);
    return index >= COLOURS ? "5 3" : null;
  }

  label(id: string): string {
    return this.deployments.find((d) => d.id === id)?.label ?? id;
  }

  has(id: string): boolean {
    return !this.hidden.has(id);
  }

  /** Ids shown, in order. */
  ids(): string[] {
    return this.deployments.filter((d) => this.has(d.id)).map((d) => d.id);
  }

  toggle(id: string): void {
    if (!this.hidden.delete(id)) this.hidden.add(id);
    for (const listener of this.listeners) listener();
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Domain and range of a colour scale over labels. */
  scale(): { domain: string[]; range: string[] } {
    return {
      domain: this.deployments.map((d) => d.label),
      range: this.deployments.map((d) => this.colour(d.id)),
    };
  }
}
