// What the charts of a page share: which rows are selected, which one is looked at, and what colours them.
import { Listeners } from "./listeners";
import { along, categories, gradient, MANY, OTHERS, rgb, shapeOf, type Colour, type Gradient } from "./palette";
import { type Inks } from "./points";
import { cells, names, numbers, shades, type Column, type Numbers, type Rows, type Values } from "./report";
import { onTheme } from "./theme";

const MISSING = "(missing)";

/** Rows that are not selected, while others are: few, and so many that they would cover the others. */
const [FAINT, FAINTER] = [0.12, 0.04];

export interface Entry {
  label: string;
  colour: string;
  shape: number;
  rows: () => number[];
  /** Whether several classes share it, which are no group together. */
  shared?: boolean;
}

export interface Colouring {
  name: string;
  colours: Colour[];
  legend: Entry[];
  /** Which entry of the legend each row has, and its shape: where rows have classes. */
  which?: number[];
  shapes?: Uint8Array;
  /** The ends of the scale, and whether there are values below or above them. */
  numeric?: { low: number; high: number; below: boolean; above: boolean; stops: string[] };
  /** What the column says of a row. */
  value: (row: number) => string | number | null;
}

export class State {
  selected = new Set<number>();
  /** The row that is looked at, by the keyboard or after a search; -1 for none. */
  focused = -1;
  colouring: Colouring;
  /** The scale of numbers that colour the rows. */
  palette: Gradient = "even";
  /** Which column colours the rows, -1 for none: names of columns may be empty, or alike. */
  coloured: number;
  ids: string[];
  /** How often each row counts; null where all count once. */
  weights: Float64Array | null = null;
  /** 1 for rows that took no part in the fit; null where there are none. */
  hollow: Uint8Array | null = null;
  /** The shades of a row that is an image. */
  readonly shades: (row: number) => Uint8Array | null;
  /** What was asked of charts by their titles, where they are replaced by others of the same title. */
  remembered: Map<string, unknown> | null = null;
  /** Fetches the values of a column that came without them. */
  fetch: ((column: Column) => Promise<Column>) | null = null;
  private listeners = new Listeners();
  private packed: Float32Array | null = null;

  constructor(readonly rows: Rows) {
    this.ids = names(rows);
    this.shades = shades(rows);
    this.weigh(rows.weights);
    this.coloured = rows.colour ?? rows.columns.findIndex((column) => column.kind === "text");
    this.colouring = colourBy(rows.columns[this.coloured], rows.shown, this.palette);
    onTheme(() => this.colour(this.coloured));
  }

  /** What was asked of a chart of this name before, or the first wishes. */
  wishes<T>(name: string, first: () => T): T {
    const found = (this.remembered?.get(name) as T | undefined) ?? first();
    this.remembered?.set(name, found);
    return found;
  }

  listen(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** Gives rows other weights, or none. */
  weigh(weights: Numbers | null | undefined): void {
    this.weights = weights ? numbers(weights) : null;
    this.hollow = this.weights?.includes(0) ? Uint8Array.from(this.weights, (weight) => Number(weight === 0)) : null;
  }

  /** Gives rows other names, or none. */
  rename(ids: string[] | null): void {
    this.ids = names({ ...this.rows, ids: ids ?? undefined });
  }

  select(rows: Iterable<number>): void {
    this.selected = new Set(rows);
    this.packed = null;
    this.tell();
  }

  toggle(row: number): void {
    const kept = new Set(this.selected);
    if (!kept.delete(row)) kept.add(row);
    this.select(kept);
  }

  focus(row: number): void {
    this.focused = row;
    this.tell();
  }

  clear(): void {
    this.focused = -1;
    this.select([]);
  }

  /** Colours by the column at a place, or all alike where there is none. */
  colour(place: number): void {
    this.coloured = place;
    const column = this.rows.columns[place];
    if (column?.later && this.fetch) {
      void this.fetch(column).then((whole) => {
        this.rows.columns[place] = whole;
        if (this.coloured === place) this.colour(place);
      });
      return;
    }
    this.colouring = colourBy(column, this.rows.shown, this.palette);
    this.packed = null;
    this.tell();
  }

  /** Offers a column that was made on the page to colour by, in the place of the one of this name that was made before;
   * without values it goes. Returns its place. */
  offer(name: string, values: Values | null, kind: Column["kind"] = "text"): number {
    const { columns } = this.rows;
    const before = columns.findIndex((column) => column.made && column.name === name);
    const at = before < 0 ? columns.length : before;
    if (values) columns[at] = { name, kind, values, made: true };
    else if (before >= 0) columns.splice(before, 1);
    if (!values && this.coloured === before) this.colour(-1);
    else if (!values && this.coloured > before) this.coloured--;
    else if (values && this.coloured === at) this.colour(at);
    else this.tell();
    return at;
  }

  tell(): void {
    this.listeners.tell();
  }

  /** (4 n,) red, green, blue and opacity of every row; the same array until something changes. */
  get tints(): Float32Array {
    this.packed ??= this.pack();
    return this.packed;
  }

  /** How the rows look, in every chart. */
  get inks(): Inks {
    return { tints: this.tints, shapes: this.colouring.shapes ?? null, hollow: this.hollow };
  }

  private pack(): Float32Array {
    const n = this.rows.shown;
    const found = new Float32Array(4 * n);
    const some = this.selected.size ? (n > 50_000 ? FAINTER : FAINT) : opacity(n);
    for (let i = 0; i < n; i++) {
      found.set(this.colouring.colours[i], 4 * i);
      found[4 * i + 3] = some;
    }
    for (const i of this.selected) found[4 * i + 3] = 1;
    return found;
  }
}

/** How opaque n points are together: all can be seen through where they crowd. */
export function opacity(n: number): number {
  return n > 50_000 ? 0.35 : n > 5_000 ? 0.55 : 0.85;
}

/** Colours of some names: those that they have as categories of the rows, else others that are still free; where there
 * are more names than colours, those that come first in `order` get them and the others are alike. */
export function coloursOf(names: string[], order: string[], { legend }: Colouring): string[] {
  const known = new Map(legend.map(({ label, colour }) => [label, colour]));
  const met = new Map(names.flatMap((name) => (known.has(name) ? [[name, known.get(name)!] as const] : [])));
  const taken = new Set(met.values());
  const rest = order.filter((name) => !met.has(name));
  const free = categories().filter((colour) => !taken.has(colour)).slice(0, names.length > MANY ? MANY - 1 - met.size : MANY);
  const served = new Map(rest.slice(0, free.length).sort(alphabetically).map((name, i) => [name, free[i]]));
  return names.map((name) => met.get(name) ?? served.get(name) ?? OTHERS);
}

function alphabetically(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

function plain(n: number): Colouring {
  const only = rgb(categories()[0]);
  return { name: "", colours: Array.from({ length: n }, () => only), legend: [], value: () => null };
}

function colourBy(column: Column | undefined, n: number, palette: Gradient): Colouring {
  if (!column) return plain(n);
  return column.kind === "text" ? byCategory(column, n) : byNumber(column, n, palette);
}

/** The commonest categories get colours; the others share the last, and the legend says so. */
function byCategory(column: Column, n: number): Colouring {
  const values = cells(column).map((v) => (v === null ? MISSING : String(v)));
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const order = [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value);
  const named = order.length > MANY ? order.slice(0, MANY - 1) : order;
  named.sort((a, b) => Number(a === MISSING) - Number(b === MISSING) || alphabetically(a, b));
  const place = new Map(named.map((value, i) => [value, i]));
  const which = values.map((value) => place.get(value) ?? MANY - 1);
  const entry = (label: string, at: number): Entry => ({ label, colour: categories()[at], shape: shapeOf(at), rows: () => where(which, at) });
  const legend = named.map(entry);
  if (order.length > MANY) legend.push({ ...entry(`${order.length - named.length} others`, MANY - 1), shared: true });
  const palette = categories().map(rgb);
  const colours = Array.from({ length: n }, (_, i) => palette[which[i]]);
  return { name: column.name, colours, legend, which, shapes: Uint8Array.from(which, shapeOf), value: (row) => values[row] };
}

function where(which: number[], wanted: number): number[] {
  return which.flatMap((at, row) => (at === wanted ? [row] : []));
}

function byNumber(column: Column, n: number, palette: Gradient): Colouring {
  const values = numbers(column.values);
  const sorted = values.filter((v) => !Number.isNaN(v)).sort();
  const [low, high] = about(quantile(sorted, 0.01), quantile(sorted, 0.99), palette);
  const stops = gradient(palette);
  const colours = Array.from({ length: n }, (_, i) => along(stops, (values[i] - low) / (high - low || 1)));
  return { name: column.name, colours, legend: [], numeric: { low, high, below: sorted[0] < low, above: sorted[sorted.length - 1] > high, stops }, value: (row) => values[row] };
}

/** The ends of a scale; of one that diverges as far below 0 as above, where values have both signs. */
function about(low: number, high: number, palette: Gradient): [number, number] {
  const far = Math.max(-low, high);
  return palette === "diverging" && low < 0 && high > 0 ? [-far, far] : [low, high];
}

function quantile(sorted: Float64Array, q: number): number {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] : 0;
}
