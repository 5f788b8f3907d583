// From the data of a chart to something to look at; every kind has one function in `KINDS`.
import * as Plot from "@observablehq/plot";
import { h, short } from "./dom";
import {
  cells, named, numbers,
  type Chart, type Column, type FramesChart, type ImagesChart, type Mark, type MarksChart, type RowsChart,
  type TableChart, type TextChart, type Values,
} from "./report";
import { Scatter } from "./scatter";
import { categories, sequence, type State } from "./state";

/** A drawn chart: the node, the columns behind it, and its picture where it has one. */
export interface Drawn {
  node: HTMLElement;
  columns: Column[];
  picture?: () => SVGElement | null;
}

const PRINTED = 1_000;

export function draw(chart: Chart, state: State): Drawn {
  return (KINDS[chart.kind] as (chart: Chart, state: State) => Drawn)(chart, state);
}

// ---- marks ----------------------------------------------------------------------------------------------

type Row = Record<string, number | string | null>;

function records(mark: Mark): Row[] {
  const columns = Object.entries(mark.data).map(([name, values]) => [name, entries(values)] as const);
  const n = Math.max(0, ...columns.map(([, values]) => values.length));
  return Array.from({ length: n }, (_, i) => Object.fromEntries(columns.map(([name, values]) => [name, values[i]])));
}

function entries(values: Values): (number | string | null)[] {
  if (Array.isArray(values)) return values;
  if ("levels" in values) return named(values);
  return Array.from(numbers(values), (v) => (Number.isNaN(v) ? null : v));
}

const FILL = "fill" as const;

/** What a layer must know of its chart: the middle of the x axis, and whether its colours go both ways from 0. */
interface Place {
  middle: number;
  both: boolean;
}

const MARKS: Record<Mark["type"], (rows: Row[], mark: Mark, colour: string, place: Place) => Plot.Markish[]> = {
  bar: (rows, _, colour) => [Plot.barY(rows, { x: "x", y: "y", fill: has(rows, FILL) ? "fill" : colour, tip: true, title: title(rows) })],
  line: (rows, mark, colour) => [
    Plot.lineY(rows, { x: "x", y: "y", z: has(rows, "z") ? "z" : null, stroke: has(rows, "z") ? "z" : colour, strokeWidth: 2, strokeDasharray: mark.dash ? "5 4" : undefined, tip: true }),
  ],
  dot: (rows, _, colour) => [Plot.dot(rows, { x: "x", y: "y", fill: has(rows, FILL) ? "fill" : colour, stroke: has(rows, FILL) ? "currentColor" : undefined, strokeWidth: 0.7, r: 4, tip: true, title: title(rows) })],
  area: (rows, _, colour) => [Plot.areaY(rows, { x: "x", y1: 0, y2: "y", fill: colour, fillOpacity: 0.25 })],
  band: (rows, _, colour) => [Plot.areaY(rows, { x: "x", y1: "low", y2: "high", fill: colour, fillOpacity: 0.22 })],
  "rule-x": (rows, mark, colour, { middle }) => [
    Plot.ruleX(rows, { x: "x", stroke: colour, strokeDasharray: mark.dash ? "5 4" : undefined }),
    ...(has(rows, "text") ? [1, -1].map((side) => beside(rows.filter((row) => (Number(row.x) > middle ? -1 : 1) === side), side)) : []),
  ],
  "rule-y": (rows, mark, colour) => [
    Plot.ruleY(rows, { y: "y", stroke: colour, strokeDasharray: mark.dash ? "5 4" : undefined }),
    ...(has(rows, "text") ? [Plot.text(rows, { y: "y", text: "text", frameAnchor: "right", dy: -7, textAnchor: "end" as const })] : []),
  ],
  text: (rows) => (["start", "end", "middle"] as const).map((side) =>
    Plot.text(rows.filter((row) => (row.side ?? "middle") === side), {
      x: "x", y: "y", text: (row: Row) => clipped(row.text), dy: side === "middle" ? -8 : 0, textAnchor: side, fill: "currentColor",
    })),
  cell: (rows, _, __, { both }) => [
    Plot.cell(rows, { x: "x", y: "y", fill: "fill", inset: 0.5, tip: true, title: title(rows) }),
    ...(has(rows, "text") ? [Plot.text(rows, { x: "x", y: "y", text: "text", fill: readable(rows, both) })] : []),
  ],
  interval: (rows, _, colour) => [
    Plot.ruleX(rows, { x: "x", y1: "low", y2: "high", stroke: colour, strokeWidth: 1.5 }),
    Plot.dot(rows, { x: "x", y: "y", fill: colour, r: 3.5, tip: true, title: title(rows) }),
  ],
  link: (rows, _, colour) => [Plot.arrow(rows, { x1: "x1", y1: "y1", x2: "x2", y2: "y2", stroke: colour, strokeWidth: 1.5 })],
  raster: (rows, mark) => [
    Plot.raster(rows, {
      x1: mark.grid!.x0, x2: mark.grid!.x1, y1: mark.grid!.y0, y2: mark.grid!.y1, width: mark.grid!.width, height: mark.grid!.height,
      fill: "fill", fillOpacity: has(rows, "opacity") ? "opacity" : 1, imageRendering: "pixelated",
    } as Plot.RasterOptions),
  ],
};

/** The words of upright lines, on the side where there is room. */
function beside(rows: Row[], side: number): Plot.Markish {
  return Plot.text(rows, { x: "x", text: "text", frameAnchor: "top", dx: 4 * side, textAnchor: side > 0 ? "start" : "end" });
}

/** The colour of text on a cell: of a sequential scale the low end is dark, of a diverging one both ends are. */
function readable(rows: Row[], both: boolean): (row: Row) => string {
  const values = rows.map((row) => Number(row.fill)).filter((v) => Number.isFinite(v));
  const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
  return (row) => {
    const share = Number(row.fill) / most;
    return (both ? Math.abs(share) > 0.6 : share < 0.6) ? "#ffffff" : "#111111";
  };
}

function has(rows: Row[], name: string): boolean {
  return rows.length > 0 && name in rows[0];
}

function title(rows: Row[]): "title" | undefined {
  return has(rows, "title") ? "title" : undefined;
}

function scheme(chart: MarksChart): Plot.ScaleOptions | undefined {
  const c = chart.colour;
  if (!c) return { type: "categorical", range: categories() };
  if (c.scheme === "category") return { type: "categorical", range: categories(), label: c.label, legend: chart.legend, domain: c.domain as string[] };
  const domain = c.domain as number[] | undefined;
  return c.scheme === "diverging"
    ? { type: "diverging", scheme: "PuOr", reverse: true, label: c.label, legend: true, domain, pivot: 0 }
    : { type: "linear", range: sequence(), interpolate: "rgb", label: c.label, legend: true, domain };
}

/** Names along an axis keep the order in which they come. */
function axis(given: MarksChart["x"], grid: boolean, values: (number | string | null)[]): Plot.ScaleOptions {
  const named = given?.type === "band" && !given.domain;
  if (named) return { label: given?.label ?? null, type: "band", domain: [...new Set(values)] as string[], tickFormat: clipped } as Plot.ScaleOptions;
  return { label: given?.label ?? null, type: given?.type, domain: given?.domain, percent: given?.percent, grid } as Plot.ScaleOptions;
}

const LONGEST = 24;

/** A name as an axis has room for it: the table behind the chart has all of it. */
function clipped(name: unknown): string {
  const text = String(name).replace(/\s+/g, " ");
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/** Names along a band axis: as many ticks as there is room for, turned or, if they count, level. */
function thinned(values: (number | string | null)[], bands: boolean, width: number): { ticks?: string[] } {
  const all = [...new Set(values.map(String))];
  const counting = all.every((name) => /^\d+$/.test(name));
  const step = Math.ceil((all.length * (counting ? 24 : 13)) / Math.max(1, width - 80));
  if (!bands || step < 2) return {};
  return { ticks: all.filter((_, i) => i === 0 || (i + 1) % step === 0) };
}

function marks(chart: MarksChart): Drawn {
  const holder = h("div", { class: "plot" });
  let drawn: Element | null = null;
  const layers = chart.marks.map((mark, i) => [mark, records(mark), mark.colour ?? categories()[i % 8]] as const);
  const values = (name: string) => layers.flatMap(([, rows]) => rows.flatMap((row) => (name in row ? [row[name]] : [])));
  const places = values("x").filter((v): v is number => typeof v === "number");
  const middle = (places.reduce((a, b) => Math.min(a, b), Infinity) + places.reduce((a, b) => Math.max(a, b), -Infinity)) / 2;
  const both = chart.colour?.scheme === "diverging";
  const paint = (width: number): void => {
    const bands = chart.x?.type === "band" || chart.marks.some((m) => m.type === "cell" || m.type === "bar");
    const longest = Math.max(0, ...layers.flatMap(([m, rows]) => (m.type === "cell" ? rows.map((r) => clipped(r.y).length) : [])));
    const names = Math.max(0, ...layers.flatMap(([, rows]) => (bands ? rows.map((r) => (typeof r.x === "string" ? clipped(r.x).length : 0)) : [])));
    const turn = names * 6.5 * new Set(layers.flatMap(([, rows]) => rows.map((r) => r.x))).size > width - 100;
    const bottom = bands && turn ? Math.min(140, 30 + 5.5 * names) : 44;
    drawn = Plot.plot({
      width, height: chart.equal ? undefined : (chart.height ?? 360) + bottom - 44,
      marginLeft: Math.max(56, 7 * longest + 16),
      marginBottom: bottom,
      style: { background: "transparent", fontSize: "12px", overflow: "visible" },
      x: { ...axis(chart.x, !bands, values("x")), tickRotate: bands && turn ? -40 : 0, ...thinned(values("x"), bands, width) },
      y: axis(chart.y, true, values("y")),
      color: scheme(chart),
      aspectRatio: chart.equal ? 1 : undefined,
      marks: layers.flatMap(([mark, rows, colour]) => MARKS[mark.type](rows, mark, colour, { middle, both })),
    });
    holder.replaceChildren(...legend(chart), drawn);
  };
  new ResizeObserver(() => holder.clientWidth > 0 && paint(holder.clientWidth)).observe(holder);
  const picture = (): SVGElement | null => (drawn instanceof SVGElement ? drawn : (drawn?.querySelector("svg:last-of-type") ?? null));
  return { node: holder, columns: layers.flatMap(([mark, rows], i) => behind(mark, rows, i, chart)), picture };
}

/** Named layers in their colours. */
function legend(chart: MarksChart): HTMLElement[] {
  const named = chart.marks.map((mark, i) => [mark.label, mark.colour ?? categories()[i % 8]] as const).filter(([label]) => label);
  if (named.length < 1) return [];
  return [h("div", { class: "legend" }, ...named.map(([label, colour]) => {
    const swatch = h("span", { class: "swatch" });
    swatch.style.background = colour;
    return h("span", { class: "entry" }, swatch, label!);
  }))];
}

function behind(mark: Mark, rows: Row[], place: number, chart: MarksChart): Column[] {
  const label = mark.label ?? (chart.marks.length > 1 ? `${mark.type} ${place + 1}` : "");
  const says: Record<string, string | undefined> = { x: chart.x?.label, y: chart.y?.label };
  return Object.keys(mark.data).map((name) => {
    const values = rows.map((row) => row[name]);
    const text = values.some((v) => typeof v === "string");
    const head = [label, says[name] ?? name].filter(Boolean).join(": ");
    return { name: head, kind: text ? "text" : "number", values: values as never };
  });
}

// ---- the other kinds -------------------------------------------------------------------------------------

function rows(chart: RowsChart, state: State): Drawn {
  const scatter = new Scatter(chart, state);
  const ids: Column = { name: "row", kind: "text", values: state.ids };
  const columns: Column[] = [ids, { name: chart.xlabel, kind: "number", values: chart.x }, { name: chart.ylabel, kind: "number", values: chart.y }];
  return { node: scatter.node, columns, picture: () => scatter.picture() };
}

function images(chart: ImagesChart): Drawn {
  const grid = h("div", { class: "images" });
  grid.style.gridTemplateColumns = `repeat(${chart.columns}, minmax(0, 1fr))`;
  for (const image of chart.images) grid.append(h("figure", {}, pixels(chart, numbers(image.pixels)), h("figcaption", {}, image.label)));
  return { node: grid, columns: [{ name: "image", kind: "text", values: chart.images.map((i) => i.label) }] };
}

function pixels(chart: ImagesChart, values: Float64Array): HTMLCanvasElement {
  const canvas = h("canvas", { width: chart.width, height: chart.height, role: "img" });
  const context = canvas.getContext("2d")!;
  const paint = context.createImageData(chart.width, chart.height);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  values.forEach((v, i) => {
    const shade = 255 - Math.round((255 * (v - low)) / (high - low || 1));
    paint.data.set([shade, shade, shade, 255], 4 * i);
  });
  context.putImageData(paint, 0, 0);
  return canvas;
}

export function grid(columns: Column[]): HTMLElement {
  const all = columns.map(cells);
  const n = Math.max(0, ...all.map((values) => values.length));
  const head = h("tr", {}, ...columns.map((column) => h("th", { scope: "col" }, column.name)));
  const body = Array.from({ length: Math.min(n, PRINTED) }, (_, i) =>
    h("tr", {}, ...all.map((values, j) => h("td", { class: columns[j].kind }, printed(values[i])))));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...body));
  const more = n > PRINTED ? [h("p", { class: "note" }, `The first ${PRINTED} of ${n} rows; the CSV has all.`)] : [];
  return h("div", { class: "grid", tabindex: 0, role: "region", "aria-label": "data table" }, table, ...more);
}

function printed(value: string | number | null | undefined): string {
  return value === null || value === undefined ? "" : typeof value === "number" ? short(value) : value;
}

function table(chart: TableChart): Drawn {
  return { node: grid(chart.columns), columns: chart.columns };
}

function text(chart: TextChart): Drawn {
  const node = h("div", { class: "text" });
  for (const warning of chart.warnings ?? []) node.append(h("p", { class: "warning", role: "note" }, warning));
  for (const paragraph of chart.paragraphs ?? []) node.append(h("p", {}, paragraph));
  if (chart.facts?.length)
    node.append(h("dl", {}, ...chart.facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  for (const code of chart.code ?? []) node.append(h("h4", {}, code.label), h("pre", { tabindex: 0 }, h("code", {}, code.text)));
  return { node, columns: [] };
}

/** Frames are drawn when they are first looked at. */
function frames(chart: FramesChart, state: State): Drawn {
  const drawn = new Map<number, Drawn[]>();
  const stage = h("div", { class: "frames" });
  const value = h("output", {});
  let at = chart.start;
  const show = (place: number): void => {
    at = place;
    const frame = chart.frames[place];
    if (!drawn.has(place)) drawn.set(place, frame.charts.map((each) => draw(each, state)));
    const nodes = drawn.get(place)!.map((each, i) =>
      h("div", { class: "frame" }, ...(frame.charts[i].title ? [h("h4", {}, frame.charts[i].title)] : []), each.node));
    stage.replaceChildren(...nodes);
    value.textContent = frame.value;
  };
  const slider = h("input", {
    type: "range", min: 0, max: chart.frames.length - 1, step: 1, value: chart.start, "aria-label": chart.label,
    oninput: () => show(Number(slider.value)),
  });
  const jumps = (chart.marks ?? []).map((mark) => h("button", { type: "button", onclick: () => {
    slider.value = String(mark.at);
    show(mark.at);
  } }, mark.label));
  show(chart.start);
  const head = h("div", { class: "slider" }, h("label", {}, `${chart.label}: `, value), slider, ...jumps);
  return {
    node: h("div", {}, head, stage),
    get columns() { return drawn.get(at)!.flatMap((each) => each.columns); },
    picture: () => drawn.get(at)![0].picture?.() ?? null,
  };
}

const KINDS = { marks, rows, images, table, text, frames };
