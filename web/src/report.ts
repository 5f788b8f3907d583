// What a report is: plain data, as `eigenlens.reporting` writes it. Nothing here draws.

/** Numbers: a plain list; the base64 of little-endian float32, counted from some number or from none; or of 16 bits
 * between limits, all bits set for none; or the place of one of these in the list of those that several charts share. */
export type Numbers = (number | null)[] | { f32: string; from?: number } | { u16: string; low: number; high: number } | { ref: number };

/** Names, many of them alike: numbers of levels, -1 for none. */
export interface Coded {
  levels: string[];
  codes: Numbers;
}

export type Values = Numbers | Coded | (string | null)[];

export interface Column {
  name: string;
  kind: "number" | "text";
  values: Values;
  /** Whether the values are still to be fetched. */
  later?: boolean;
  /** Whether it was made on the page, and is none of the table. */
  made?: boolean;
}

/** The rows that are shown: what points can be coloured, searched and named by. */
export interface Rows {
  total: number;
  shown: number;
  note: string;
  /** Names of rows; without them a row is called by its place. */
  ids?: string[];
  /** Where not all rows are shown: from each to the next, in places, and to the first from none. */
  steps?: Numbers;
  columns: Column[];
  /** Which of the columns colours the rows at first, -1 for none; the first of names where nothing is said. */
  colour?: number;
  /** How often each row counts in groups; those of weight 0 took no part in the fit, and are hollow. Else once each. */
  weights?: Numbers;
  /** Rows that are images, in shades from 0, white, to 255, one row after another. */
  images?: { width: number; height: number; u8: string };
}

export interface Axis {
  label?: string;
  type?: "linear" | "log" | "band";
  domain?: (number | string)[];
  /** Where ticks are: a domain that has room for names beyond what can be has none there. */
  within?: [number, number];
  percent?: boolean;
  /** Whether it starts at zero, where no bar or area does. */
  zero?: boolean;
  /** Whether what lies beyond the domain is left out. */
  cut?: boolean;
}

/** Cells of a plane, rows from y0 upwards. */
export interface Grid {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  width: number;
  height: number;
}

/** One layer of a chart; arrays are columns of the same length. */
export interface Mark {
  type: "bar" | "bar-x" | "line" | "dot" | "area" | "band" | "rule-x" | "rule-y" | "text" | "cell" | "interval" | "interval-x" | "link";
  label?: string;
  /** As #rrggbb, or a place in the palette. */
  colour?: string | number;
  dash?: boolean;
  data: Record<string, Values>;
}

interface Titled {
  title: string;
  about?: string;
}

export interface MarksChart extends Titled {
  kind: "marks";
  /** Whether its cells are loadings, which can be sorted and of which small ones can be hidden. */
  loadings?: boolean;
  marks: Mark[];
  x?: Axis;
  y?: Axis;
  colour?: { scheme: "diverging" | "sequential" | "category"; label?: string; domain?: (number | string)[] };
  equal?: boolean;
  height?: number;
  legend?: boolean;
}

/** One of the axes of a scatter: a number for every row, in units of which `times` make one of the axis. */
export interface RowsAxis {
  label: string;
  values: Numbers;
  times?: number;
}

/** A column as an arrow from the origin, by its place on every axis; dashed where it took no part in the fit. */
export interface Arrow {
  label: string;
  at: number[];
  dash?: boolean;
}

/** A category as a named point, by its place on every axis; `of` is the column that it belongs to. */
export interface CategoryPoint {
  label: string;
  at: number[];
  of?: string;
}

/** Regions of a plane where values are at least so high, the widest first, each with its name. */
export interface Contours extends Grid {
  values: Numbers;
  levels: { at: number; label: string }[];
}

/** How many rows are in every cell of a plane. */
export interface Density extends Grid {
  counts: Numbers;
}

/** A point for every row shown, linked with all others: on two axes, or on any two of several. */
export interface RowsChart extends Titled {
  kind: "rows";
  x?: Numbers;
  y?: Numbers;
  xlabel?: string;
  ylabel?: string;
  /** Axes to choose from, instead of x and y; and which two of them are shown at first. */
  axes?: RowsAxis[];
  pair?: [number, number];
  equal?: boolean;
  /** What is in view at first; else all there is. */
  span?: { x: [number, number]; y: [number, number] };
  arrows?: Arrow[];
  /** Whether arrows have a unit of their own, so that they fill the plane of the points. */
  stretch?: boolean;
  categories?: CategoryPoint[];
  ellipses?: { x: number; y: number; a: number; b: number; angle: number; label: string }[];
  lines?: { x?: number; y?: number; label: string }[];
  /** Which rows are named first where not all can be: those with the largest; else those far from the middle. */
  priority?: Numbers;
  /** Squared distances of the rows from their mean, of which two axes show a share: cos². */
  lengths?: Numbers;
  density?: Density;
  /** The same for several pairs of axes, i < j. */
  densities?: (Density & { pair: [number, number] })[];
  contours?: Contours;
  /** Cells by the number of their class, and how surely they are of it, from 0 to 1. */
  regions?: Grid & { classes: string[]; codes: Numbers; sure: Numbers };
}

export interface ImagesChart extends Titled {
  kind: "images";
  width: number;
  height: number;
  columns: number;
  images: { label: string; pixels: Numbers }[];
  /** What is white and what is black; else each picture has a scale of its own. */
  range?: [number, number];
  /** Colours that diverge about 0, the middle of the range, for values of both signs; else greys. */
  scheme?: "diverging";
}

export interface TableChart extends Titled {
  kind: "table";
  columns: Column[];
  /** Whether each line has a unit of its own, so that its numbers have the decimals which it needs. */
  lines?: boolean;
}

export interface TextChart extends Titled {
  kind: "text";
  paragraphs?: string[];
  facts?: [string, string][];
  code?: { label: string; text: string }[];
  warnings?: string[];
}

/** The same chart for several values of something: a slider. */
export interface FramesChart extends Titled {
  kind: "frames";
  label: string;
  start: number;
  frames: { value: string; charts: Chart[] }[];
  marks?: { at: number; label: string }[];
  /** Which of the frames is that of the fitted model. */
  fitted?: number;
}

export type Chart = MarksChart | RowsChart | ImagesChart | TableChart | TextChart | FramesChart;

export interface Page {
  id: string;
  title: string;
  charts: Chart[];
}

export interface Report {
  title: string;
  subtitle: string;
  version: string;
  rows: Rows;
  pages: Page[];
  /** Numbers that several charts refer to. */
  shared?: Numbers[];
}

let shared: Numbers[] = [];

/** A plain array of numbers, NaN where there is none. */
export function numbers(values: Values): Float64Array {
  if ("ref" in values) return numbers(shared[values.ref]);
  if ("codes" in values) return numbers(values.codes);
  if (Array.isArray(values)) return Float64Array.from(values as (number | null)[], (v) => v ?? NaN);
  if ("f32" in values) {
    const from = values.from ?? 0;
    return Float64Array.from(new Float32Array(bytes(values.f32)), (v) => v + from);
  }
  const { low, high } = values;
  const step = (high - low) / 65534;
  const packed = new Uint16Array(bytes(values.u16));
  const found = new Float64Array(packed.length);
  for (let i = 0; i < packed.length; i++) found[i] = packed[i] === 65535 ? NaN : low + packed[i] * step;
  return found;
}

/** Plain loops here and above: functions called for each of a million letters would take most of the time to a plot. */
function bytes(text: string): ArrayBuffer {
  const letters = atob(text);
  const found = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) found[i] = letters.charCodeAt(i);
  return found.buffer;
}

/** The shades of a row that is an image; none where rows are not. */
export function shades({ images }: Rows): (row: number) => Uint8Array | null {
  if (!images) return () => null;
  const size = images.width * images.height;
  const all = new Uint8Array(bytes(images.u8));
  return (row) => all.subarray(row * size, (row + 1) * size);
}

/** What each row shown is called. */
export function names(rows: Rows): string[] {
  if (rows.ids) return rows.ids;
  const steps = rows.steps ? numbers(rows.steps) : null;
  let place = 0;
  return Array.from({ length: rows.shown }, (_, i) => `row ${(place += steps ? Math.round(steps[i]) : 1)}`);
}

/** The values of a column as they are printed, one by one. */
export function cells(column: Column): (string | number | null)[] {
  if (column.kind === "text") return named(column.values);
  const round = rounding(column.values);
  return Array.from(numbers(column.values), (v) => (Number.isNaN(v) ? null : round(v)));
}

/** Numbers with the digits that they were kept with, and no others. */
function rounding(values: Values): (v: number) => number {
  if ("ref" in values) return rounding(shared[values.ref]);
  if ("f32" in values) return values.from ? (v) => v : single;
  if (!("u16" in values) || !(values.high > values.low)) return (v) => v;
  const digits = 2 - Math.floor(Math.log10((values.high - values.low) / 65534));
  return digits > 0 && digits <= 100 ? (v) => Number(v.toFixed(digits)) : (v) => v;
}

/** The shortest number that is the same in 32 bits. */
function single(v: number): number {
  for (let digits = 6; digits <= 9; digits++) {
    const short = Number(v.toPrecision(digits));
    if (Math.fround(short) === v) return short;
  }
  return v;
}

/** Names one by one, of a list or of codes. */
export function named(values: Values): (string | null)[] {
  if (Array.isArray(values)) return values as (string | null)[];
  const levels = "levels" in values ? values.levels : [];
  return Array.from(numbers(values), (code) => levels[Math.round(code)] ?? null);
}

/** The report that the page carries. */
export function embedded(): Report {
  const node = document.getElementById("report");
  if (!node?.textContent) throw new Error("the page carries no report");
  const report = JSON.parse(node.textContent) as Report;
  shared = report.shared ?? [];
  return report;
}
