// What the charts of a page share: which rows are selected, what colours them, and the theme.
import { cells, names, numbers, type Column, type Rows } from "./report";

type Listener = () => void;

/** Colours that stay apart for colour-blind eyes (after Okabe and Ito 2008, and four more), in an order of contrast. */
const CATEGORIES = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8a00", "#7b4fb5", "#9c6644", "#5fd3b0", "#7a7a7a",
];
const MANY = CATEGORIES.length;

/** Stops of a sequential scale whose lightness rises evenly. */
const SEQUENCE = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];

export interface Colouring {
  name: string;
  colours: [number, number, number][];
  legend: { label: string; colour: string }[];
  numeric?: { low: number; high: number };
}

export class State {
  selected = new Set<number>();
  colouring: Colouring;
  readonly ids: string[];
  private listeners: Listener[] = [];

  constructor(readonly rows: Rows) {
    this.ids = names(rows);
    this.colouring = plain(rows.shown);
    const label = rows.columns.find((column) => column.kind === "text");
    if (label) this.colouring = colourBy(label, rows.shown);
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  select(rows: Iterable<number>): void {
    this.selected = new Set(rows);
    this.tell();
  }

  colour(name: string): void {
    const column = this.rows.columns.find((each) => each.name === name);
    this.colouring = column ? colourBy(column, this.rows.shown) : plain(this.rows.shown);
    this.tell();
  }

  tell(): void {
    for (const listener of this.listeners) listener();
  }
}

function plain(n: number): Colouring {
  return { name: "", colours: Array.from({ length: n }, () => rgb(CATEGORIES[0])), legend: [] };
}

function colourBy(column: Column, n: number): Colouring {
  return column.kind === "text" ? byCategory(column, n) : byNumber(column, n);
}

/** The commonest categories get colours; the others share the last, and the legend says so. */
function byCategory(column: Column, n: number): Colouring {
  const values = cells(column).map((v) => (v === null ? "(missing)" : String(v)));
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const order = [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value);
  const named = order.length > MANY ? order.slice(0, MANY - 1) : order;
  named.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  const place = new Map(named.map((value, i) => [value, i]));
  const legend = named.map((label, i) => ({ label, colour: CATEGORIES[i] }));
  if (order.length > MANY) legend.push({ label: `${order.length - named.length} others`, colour: CATEGORIES[MANY - 1] });
  const colours = Array.from({ length: n }, (_, i) => rgb(CATEGORIES[place.get(values[i]) ?? MANY - 1]));
  return { name: column.name, colours, legend };
}

function byNumber(column: Column, n: number): Colouring {
  const values = numbers(column.values);
  const sorted = values.filter((v) => !Number.isNaN(v)).sort();
  const low = quantile(sorted, 0.01);
  const high = quantile(sorted, 0.99);
  const colours = Array.from({ length: n }, (_, i) => sequential((values[i] - low) / (high - low || 1)));
  return { name: column.name, colours, legend: [], numeric: { low, high } };
}

function quantile(sorted: Float64Array, q: number): number {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] : 0;
}

/** A colour of the sequential scale at t in [0, 1]; grey for a missing value. */
export function sequential(t: number): [number, number, number] {
  if (Number.isNaN(t)) return [0.6, 0.6, 0.6];
  const at = Math.max(0, Math.min(1, t)) * (SEQUENCE.length - 1);
  const i = Math.min(SEQUENCE.length - 2, Math.floor(at));
  const [a, b] = [rgb(SEQUENCE[i]), rgb(SEQUENCE[i + 1])];
  return a.map((v, c) => v + (b[c] - v) * (at - i)) as [number, number, number];
}

export function sequence(): string[] {
  return SEQUENCE;
}

export function categories(): string[] {
  return CATEGORIES;
}

function rgb(hex: string): [number, number, number] {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255) as [number, number, number];
}

export function css([r, g, b]: [number, number, number]): string {
  return `rgb(${Math.round(255 * r)} ${Math.round(255 * g)} ${Math.round(255 * b)})`;
}
