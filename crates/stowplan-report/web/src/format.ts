// Numbers for people.

export const missing = "–";

/** Unit for times of this size. */
export interface Unit {
  name: string;
  ns: number;
  decimals: number;
}

export function unitFor(largestNs: number): Unit {
  if (largestNs >= 1e9) return { name: "s", ns: 1e9, decimals: largestNs < 10e9 ? 3 : 2 };
  if (largestNs >= 1e6) return { name: "ms", ns: 1e6, decimals: largestNs < 10e6 ? 3 : 2 };
  return { name: "µs", ns: 1e3, decimals: 1 };
}

export function inUnit(ns: number | null | undefined, unit: Unit): string {
  return ns == null ? missing : (ns / unit.ns).toFixed(unit.decimals);
}

export function time(ns: number | null | undefined): string {
  if (ns == null) return missing;
  const unit = unitFor(Math.abs(ns));
  return `${inUnit(ns, unit)} ${unit.name}`;
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return missing;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`;
}

export function count(value: number | null | undefined): string {
  return value == null ? missing : value.toLocaleString("en");
}

export function plain(value: number | null | undefined, decimals = 2): string {
  return value == null ? missing : value.toFixed(decimals).replace("-", "−");
}

export function percent(value: number | null | undefined, decimals = 1): string {
  if (value == null) return missing;
  const text = (Math.abs(value) * 100).toFixed(decimals);
  const sign = Number(text) === 0 ? "±" : value < 0 ? "−" : "+";
  return `${sign}${text} %`;
}

/** A difference of times. */
export function signed(ns: number): string {
  return `${ns < 0 ? "−" : "+"}${time(Math.abs(ns))}`;
}

/** A value in the unit of a metric. */
export function value(unit: string, v: number | null): string {
  switch (unit) {
    case "ns":
      return time(v);
    case "bytes":
      return bytes(v);
    case "share":
      return v == null ? missing : `${(v * 100).toFixed(2)} %`;
    case "cpus":
      return plain(v, 3);
    default:
      return v == null ? missing : `${plain(v, Math.abs(v) >= 1000 ? 0 : 3)} ${unit}`;
  }
}

export function plural(n: number, one: string): string {
  return `${count(n)} ${one}${n === 1 ? "" : "s"}`;
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
