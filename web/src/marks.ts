// Layers of marks on common axes, drawn by Observable Plot.
import * as Plot from "@observablehq/plot";
import { type Drawn } from "./charts";
import { brief, CLOSE, h, minus, short, swatch, ticks, writing } from "./dom";
import { whenLaidOut } from "./fresh";
import { apart, beyond, LEADER, measured } from "./labels";
import { amounts, between, categories, css, sequence, signed } from "./palette";
import { aroundPaper } from "./paper";
import { extent } from "./points";
import { cells, named, type Column, type Mark, type MarksChart, type Values } from "./report";
import { stature } from "./sheets";
import { onTheme } from "./theme";
import { Tip } from "./tip";

type Row = Record<string, number | string | null>;
type Layer = readonly [mark: Mark, rows: Row[]];

function records(mark: Mark): Row[] {
  const columns = Object.entries(mark.data).map(([name, values]) => [name, entries(values)] as const);
  const n = Math.max(0, ...columns.map(([, values]) => values.length));
  return Array.from({ length: n }, (_, i) => Object.fromEntries(columns.map(([name, values]) => [name, values[i]])));
}

function entries(values: Values): (number | string | null)[] {
  if (Array.isArray(values)) return values;
  return "levels" in values ? named(values) : cells({ name: "", kind: "number", values });
}

const FILL = "fill" as const;

/** What a layer must know of its chart: the middle of the x axis, its colours, and where a bar lies among those of one
 * name: pixels from both edges of the name's band; whether cells are too narrow for gaps between them; whether what
 * lies outside the frame is left out, and which rows do not. */
interface Place {
  middle: number;
  colours?: Plot.Scale;
  edges?: { insetTop: number; insetBottom: number };
  thin: boolean;
  cut: boolean;
  within: (row: Row) => boolean;
}

/** More dots of a layer are small, or they would hide each other. */
const CROWD = 300;

/** Around words, since arrows and curves may run through. */
const HALO = { stroke: "var(--plot-background)", strokeWidth: 3 };

const MARKS: Record<Mark["type"], (rows: Row[], mark: Mark, colour: string, place: Place) => Plot.Markish[]> = {
  bar: (rows, _, colour) => [Plot.barY(rows, { x: "x", y: "y", fill: has(rows, FILL) ? "fill" : colour })],
  "bar-x": (rows, _, colour, { edges }) => [Plot.barX(rows, { x: "x", y: "y", fill: colour, ...edges })],
  line: (rows, mark, colour, { cut }) => [
    Plot.lineY(rows, { clip: cut, x: "x", y: "y", z: has(rows, "z") ? "z" : null, stroke: has(rows, "z") ? "z" : colour, strokeWidth: 2, strokeDasharray: mark.dash ? "5 4" : undefined }),
  ],
  dot: (rows, _, colour, { within }) => [
    Plot.dot(rows.filter(within), has(rows, FILL)
      ? { x: "x", y: "y", fill: "fill", stroke: "currentColor", strokeWidth: 0.7, r: 4 }
      : { x: "x", y: "y", fill: colour, stroke: "var(--plot-background)", ...(rows.length > CROWD ? { strokeWidth: 0.3, r: 2 } : { strokeWidth: 1, r: 4.5 }) }),
  ],
  area: (rows, _, colour) => [Plot.areaY(rows, { x: "x", y1: 0, y2: "y", fill: colour, fillOpacity: 0.25 })],
  band: (rows, _, colour) => [Plot.areaY(rows, { x: "x", y1: "low", y2: "high", fill: colour, fillOpacity: 0.22 })],
  "rule-x": (rows, mark, colour, { middle, edges }) => [
    Plot.ruleX(rows, { x: "x", stroke: colour, strokeDasharray: mark.dash ? "5 4" : undefined }),
    ...(has(rows, "text") ? [1, -1].map((side) => beside(rows.filter((row) => (Number(row.x) > middle ? -1 : 1) === side), side, edges ? -14 : 0)) : []),
  ],
  "rule-y": (rows, mark, colour) => [
    Plot.ruleY(rows, { y: "y", stroke: colour, strokeDasharray: mark.dash ? "5 4" : undefined }),
    ...(has(rows, "text") ? [Plot.text(rows, { y: "y", text: "text", frameAnchor: "right", dy: -7, textAnchor: "end" as const, fill: "currentColor", ...HALO })] : []),
  ],
  text: (rows) => (["start", "end", "middle"] as const).flatMap((side) => {
    const mine = rows.filter((row) => (row.side ?? "middle") === side);
    const leaders = Plot.link(mine, { x1: "tip x", y1: "tip y", x2: "x", y2: "y", stroke: "currentColor", strokeOpacity: 0.4, ariaDescription: LEADER });
    const names = Plot.text(mine, {
      x: "x", y: "y", text: (row: Row) => clipped(row.text), dy: side === "middle" ? -8 : 0, textAnchor: side, fill: "currentColor",
      ...HALO,
    });
    return has(mine, "tip x") ? [leaders, names] : [names];
  }),
  cell: (rows, _, __, { colours, thin }) => [
    Plot.cell(rows, { x: "x", y: "y", fill: "fill", ...(thin ? { shapeRendering: "crispEdges" } : { inset: 0.5 }) }),
    ...(has(rows, "text") ? [Plot.text(rows, { x: "x", y: "y", text: ({ text }: Row) => String(text ?? "").replace(/^-/, "−"), fill: readable(colours) })] : []),
  ],
  interval: (rows, _, colour) => [
    Plot.ruleX(rows, { x: "x", y1: "low", y2: "high", stroke: colour, strokeWidth: 1.5 }),
    Plot.dot(rows, { x: "x", y: "y", fill: colour, r: 3.5 }),
  ],
  "interval-x": (rows, _, colour) => [
    Plot.ruleY(rows, { y: "y", x1: "from", x2: "to", stroke: colour, strokeWidth: 1.5 }),
    Plot.dot(rows, { x: "x", y: "y", fill: colour, r: 3.5 }),
  ],
  link: (rows, mark, colour) => [
    Plot.arrow(rows, { x1: "x1", y1: "y1", x2: "x2", y2: "y2", stroke: colour, strokeWidth: 1.5, strokeDasharray: mark.dash ? "5 4" : undefined }),
  ],
};

/** The words of upright lines, on the side where there is room; over bars that lie, they stand above. */
function beside(rows: Row[], side: number, dy: number): Plot.Markish {
  return Plot.text(rows, { x: "x", text: "text", frameAnchor: "top", dx: dy ? 0 : 4 * side, dy, textAnchor: side > 0 ? "start" : "end", fill: "currentColor", ...HALO });
}

/** Black or white on a cell, whichever can be read better. */
function readable(colours: Plot.Scale | undefined): (row: Row) => string {
  return (row) => {
    const [r, g, b] = channels(String(colours?.apply(row.fill) ?? "#ffffff")).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
  };
}

/** Red, green and blue of a colour as #rrggbb or rgb(…), each up to 1. */
function channels(colour: string): number[] {
  const found = colour.startsWith("#") ? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)) : (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  return found.map((v) => v / 255);
}

// ---- tips -------------------------------------------------------------------------------------------------

/** Layers that can be pointed at, and where: the ends of arrows, else their places. */
const POINTED: Partial<Record<Mark["type"], [string, string]>> = {
  bar: ["x", "y"], "bar-x": ["x", "y"], line: ["x", "y"], dot: ["x", "y"], cell: ["x", "y"], interval: ["x", "y"], "interval-x": ["x", "y"], link: ["x2", "y2"],
};

/** One tip for all layers, that of the nearest: along curves and bars the nearest across. Of several marks at one place
 * the first is told, or the one that has words of its own. */
function pointed(layers: Layer[], chart: MarksChart): Plot.Markish[] {
  const said = new Map<string, Row>();
  const across = writing(...extent(Float64Array.from(layers.flatMap(([, rows]) => rows.map((row) => Number(row.x ?? NaN))))));
  for (const [mark, rows] of layers) {
    const [x, y] = (chart.equal && mark.type === "line" ? undefined : POINTED[mark.type]) ?? [];
    if (!x || !y) continue;
    for (const row of rows) {
      const place = `${row[x]}|${row[y]}`;
      if (row[x] !== null && row[y] !== null && (row.title || !said.has(place)))
        said.set(place, { x: row[x], y: row[y], says: words(mark, row, chart, across) });
    }
  }
  const along = layers.some(([mark]) => mark.type === "bar" || mark.type === "line") && !chart.equal;
  const lying = layers.some(([mark]) => mark.type === "bar-x");
  const point = lying ? Plot.pointerY : along ? Plot.pointerX : Plot.pointer;
  // The place is ringed; what is said stands beside the pointer (see `listen`), as it would be cut off inside the picture.
  return said.size ? [Plot.dot([...said.values()], point({ x: "x", y: "y", r: 5, stroke: "currentColor", strokeWidth: 1.5, ariaLabel: "pointed" }))] : [];
}

/** Shows what is said of the mark that Plot finds under the pointer. */
function listen(drawn: Element, holder: HTMLElement, tip: Tip): void {
  let [px, py] = [0, 0];
  const tell = (): void => {
    const row = (drawn as Element & { value?: Row }).value;
    if (row?.says) tip.show(String(row.says).split("\n"), px, py, holder.clientWidth, holder.clientHeight);
    else tip.hide();
  };
  drawn.addEventListener("pointermove", (event) => {
    const box = holder.getBoundingClientRect();
    [px, py] = [(event as PointerEvent).clientX - box.left, (event as PointerEvent).clientY - box.top];
    tell();
  });
  drawn.addEventListener("input", (event) => {
    event.stopPropagation();
    tell();
  });
}

/** What a tip says: the layer, the place by the names of the axes, and the colour or the interval. */
function words(mark: Mark, row: Row, chart: MarksChart, across: (value: number) => string): string {
  if (row.title) return String(row.title);
  const part = (name: string | undefined, value: Row[string] | undefined, written = short): string[] => {
    if (value === null || value === undefined) return [];
    const text = typeof value === "number" ? written(value) : value;
    return [name ? `${name}: ${text}` : text];
  };
  const more = "low" in row ? [`${short(Number(row.low))} to ${short(Number(row.high))}`] : [];
  const places = [...part(chart.x?.label, row.x, across), ...part(chart.y?.label, row.y), ...more, ...part(chart.colour?.label, row.fill)];
  return [...(mark.label ? [mark.label] : []), ...places].join("\n");
}

// ---- axes -------------------------------------------------------------------------------------------------

function has(rows: Row[], name: string): boolean {
  return rows.length > 0 && name in rows[0];
}

function scheme(chart: MarksChart): Plot.ScaleOptions | undefined {
  const c = chart.colour;
  if (!c) return { type: "categorical", range: categories() };
  if (c.scheme === "category") return { type: "categorical", range: categories(), label: c.label, legend: chart.legend, domain: c.domain as string[] };
  const domain = c.domain as number[] | undefined;
  const rest = { label: c.label, legend: true, domain, clamp: true, ...sized(domain ?? [], LARGE) };
  const through = (stops: string[]) => ({ interpolate: (t: number) => css(between(stops, t)) });
  if (c.scheme === "diverging") return { type: "diverging", pivot: 0, ...through(signed()), ...rest };
  return { type: "linear", ...through(chart.marks.some((mark) => mark.type === "cell") ? amounts() : sequence()), ...rest };
}

/** Whether values lie beyond the ends of a scale of colours, whose colours they have. */
function beyondScale(chart: MarksChart, fills: (number | string | null)[]): HTMLElement[] {
  const [low, high] = (chart.colour?.domain ?? []) as number[];
  if (chart.colour?.scheme === "category" || high === undefined) return [];
  const slack = 1e-6 * (high - low);
  const count = fills.filter((v) => typeof v === "number" && (v < low - slack || v > high + slack)).length;
  return count ? [h("p", { class: "note" }, `${count === 1 ? "1 value lies" : `${count} values lie`} beyond the scale, and ${count === 1 ? "has" : "have"} the colour of its end.`)] : [];
}

/** Along a ramp, which is short, numbers from this size on are powers of ten. */
const LARGE = 1e5;

/** How numbers of some size are written along an axis or a ramp. */
function sized(values: (number | string | null)[], large = 1e7): { tickFormat?: (value: number) => string } {
  const [low, high] = extent(Float64Array.from(values, (v) => (v === null ? NaN : Number(v))));
  const most = Math.max(Math.abs(low), Math.abs(high));
  const close = high > low && high - low < CLOSE * most;
  return !close && most > 0 && (most < 1e-3 || most >= large) ? { tickFormat: powers } : {};
}

/** Names along an axis keep the order in which they come; numbers may end at round ones. */
function axis(given: MarksChart["x"], grid: boolean, values: (number | string | null)[], longest: number, round: boolean, room: number): Plot.ScaleOptions {
  const label = given?.label ?? null;
  if (given?.type === "band" && !given.domain)
    return { label, type: "band", domain: [...new Set(values)] as string[], tickFormat: (name: unknown) => clipped(name, longest) } as Plot.ScaleOptions;
  const few = given?.within && { ticks: ticks(...given.within, Math.max(2, room / BETWEEN)) };
  const numeric = few ? few : given?.type === "band" ? {} : given?.type === "log" ? { tickFormat: plain, ...decades(values) } : whole(values, room) ?? sized([...values, ...(given?.domain ?? [])]);
  return { label, type: given?.type, domain: given?.domain, percent: given?.percent, zero: given?.zero, nice: round && !given?.domain, grid, ...numeric } as Plot.ScaleOptions;
}

/** Along a log scale of several powers of ten: these alone, and not more than ten of them. */
function decades(values: (number | string | null)[]): { ticks?: number[] } {
  const seen = values.map(Number).filter((v) => v > 0);
  const [low, high] = extent(Float64Array.from(seen, Math.log10));
  const step = Math.ceil((high - low) / 10);
  const first = Math.ceil(low / step);
  return high - low < 3 ? {} : { ticks: Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => 10 ** (step * (first + i))) };
}

/** Pixels between two ticks, about. */
const BETWEEN = 80;

/** Counts have no ticks between them: of a few whole numbers, at most as many as there are steps. */
function whole(values: (number | string | null)[], room: number): { ticks: number } | null {
  const [low, high] = extent(Float64Array.from(values, Number));
  const few = high - low <= room / BETWEEN && values.every((v) => v === null || Number.isInteger(v));
  return few && high > low ? { ticks: high - low } : null;
}

/** Along a log scale: 0.01 and 1e-5, where Plot would have 10m and 10µ. */
function plain(value: number): string {
  return value >= 0.01 && value < 1e5 ? String(value) : powers(value);
}

/** Very small and very large numbers as 5e-14. */
function powers(value: number): string {
  return value === 0 ? "0" : minus(value.toExponential(2)).replace(/\.?0+e/, "e").replace("e+", "e");
}

const LONGEST = 24;

/** A name as an axis has room for it: the table behind the chart has all of it. */
function clipped(name: unknown, longest = LONGEST): string {
  const text = String(name).replace(/\s+/g, " ").trim() || "(empty)";
  return brief(text, longest);
}

/** Pixels from one turned name to the next, and from one number to the next: closer they would lie on each other. */
const [TURNED, LEVEL] = [19, 24];

/** Names along a band axis: as many ticks as there is room for, turned or, if they count, level. */
function thinned(all: string[], bands: boolean, width: number): { ticks?: string[] } {
  const counting = counts(all);
  const step = Math.ceil((all.length * (counting ? LEVEL : TURNED)) / Math.max(1, width));
  if (!bands || step < 2) return {};
  return { ticks: all.filter((_, i) => (counting ? i === 0 || (i + 1) % step === 0 : i % step === 0)) };
}

function counts(names: string[]): boolean {
  return names.every((name) => /^\d+$/.test(name));
}

/** The least room at the left of a chart. */
const LEFT = 56;

/** Pixels of a cell and the gap beside it: narrower ones have no gaps, which would be stripes. */
const THIN = 9;

/** How much of its step a name's band takes: the rest is the gap to the next. */
const THICK = 0.88;

/** Cells with numbers, and names around a circle, are not drawn lower than these parts of their height: they would lie on
 * each other. */
const ROOMY = { cells: 0.78, circle: 0.85 };

/** The most pixels across of a chart whose axes have one scale. */
const ROUND = 560;

export function marks(chart: MarksChart): Drawn {
  const holder = h("div", { class: "plot" });
  let drawn: Element | null = null;
  const layers = chart.marks.map((mark): Layer => [mark, records(mark)]);
  const values = (name: string) => layers.flatMap(([, rows]) => rows.flatMap((row) => (name in row ? [row[name]] : [])));
  const places = values("x").filter((v): v is number => typeof v === "number");
  const middle = (places.reduce((a, b) => Math.min(a, b), Infinity) + places.reduce((a, b) => Math.max(a, b), -Infinity)) / 2;
  const tip = new Tip();
  const bands = chart.x?.type === "band" || chart.marks.some((m) => m.type === "cell" || m.type === "bar");
  const across = [...new Set(values("x").map(String))];
  const rows = layers.flatMap(([mark, each]) => (mark.type === "cell" || mark.type === "bar-x" ? each.map((row) => String(row.y)) : []));
  const lying = layers.filter(([mark]) => mark.type === "bar-x");
  const celled = chart.marks.some(({ type }) => type === "cell");
  const [low, high] = (chart.y?.cut ? chart.y.domain : undefined) ?? [-Infinity, Infinity];
  const within = ({ y }: Row): boolean => !(Number(y) < Number(low) || Number(y) > Number(high));
  const capped = chart.marks.some((mark) => (mark.type === "rule-y" || lying.length) && "text" in mark.data);
  const plot = (width: number, least: number): Element => {
    const part = Math.max(celled ? ROOMY.cells : chart.equal ? ROOMY.circle : 0, stature(holder));
    const longest = Math.max(9, Math.min(LONGEST, Math.round(width / 20)));
    const wide = (names: string[]): number => names.reduce((a, name) => Math.max(a, measured(clipped(name, longest))), 0);
    const left = Math.max(least, wide(rows) + (rows.length && chart.y?.label ? 42 : 24));
    const turn = bands && (wide(across) + 6) * across.length > width - left - 24 && !counts(across);
    const bottom = (turn ? Math.min(140, 40 + 0.65 * wide(across)) : 44) - (chart.x?.label ? 0 : 18);
    const top = capped ? 36 : chart.y?.label && !rows.length ? 26 : 6;
    const height = part * (chart.height ?? 360) + bottom - 44 + Math.min(0, top - 22);
    const thin = celled && width - left < THIN * across.length;
    const thick = (THICK * (height - top - bottom)) / new Set(rows).size / lying.length;
    const edges = (layer: Layer): Place["edges"] => {
      if (!lying.length) return undefined;
      const at = lying.indexOf(layer);
      return { insetTop: at * thick, insetBottom: (lying.length - 1 - at) * thick };
    };
    const colours = chart.colour?.domain && Plot.scale({ color: scheme(chart) });
    return Plot.plot({
      width: chart.equal ? Math.min(width, part * ROUND) : width, height: chart.equal ? undefined : height,
      marginLeft: left,
      marginBottom: bottom,
      marginTop: top,
      style: { background: "transparent", fontSize: "12px", overflow: "visible" },
      x: { ...axis(chart.x, !bands, values("x"), longest, lying.length > 0, width - left), ...(thin ? { padding: 0 } : {}), tickRotate: turn ? -40 : 0, ...thinned(across, bands, width - left - 24) },
      y: axis(chart.y, true, ["y", "low", "high"].flatMap(values), longest, !chart.equal && chart.y?.type !== "log", height),
      color: scheme(chart),
      aspectRatio: chart.equal ? 1 : undefined,
      marks: layers
        .flatMap((layer, i) => MARKS[layer[0].type](layer[1], layer[0], ink(layer[0], i), { middle, colours, edges: edges(layer), thin, cut: chart.y?.cut ?? false, within }))
        .concat(pointed(layers.map(([mark, all]): Layer => [mark, all.filter(within)]), chart)),
    });
  };
  let painted = 0;
  const paint = (width: number): void => {
    painted = width;
    let found = plot(width, LEFT);
    const lacking = beyond(found);
    if (lacking > 0) found = plot(width, Math.min(LEFT + lacking, width / 2));
    apart(found, width);
    // Each sheet of styles that comes or goes makes the browser look at the whole page again: ours says the same once.
    for (const each of found.querySelectorAll("svg > style")) each.remove();
    drawn = found;
    holder.replaceChildren(...legend(chart), ...beyondScale(chart, values("fill")), drawn, tip.node);
    drawn.setAttribute("aria-hidden", "true"); // the holder is the image that is heard of, and names it
    listen(drawn, holder, tip);
  };
  const fit = (): void => {
    painted = 0; // of no width that is still right, should it not be on the page now
    if (holder.clientWidth > 0) paint(holder.clientWidth);
  };
  whenLaidOut(holder, (width) => width > 0 && width !== painted && paint(width));
  aroundPaper(fit);
  onTheme(fit);
  const picture = (): SVGElement | null => (drawn instanceof SVGElement ? drawn : (drawn?.querySelector("svg:last-of-type") ?? null));
  return { node: holder, columns: layers.flatMap(([mark, rows], i) => behind(mark, rows, i, chart)), picture };
}

/** The colour of the layer at some place: its own, else that of its own place or of this one in the palette, as the page is
 * light or dark. */
function ink(mark: Mark, place: number): string {
  return typeof mark.colour === "string" ? mark.colour : categories()[(mark.colour ?? place) % 8];
}

/** Named layers in their colours. */
function legend(chart: MarksChart): HTMLElement[] {
  const named = chart.marks.map((mark, i) => [mark.label, ink(mark, i)] as const).filter(([label]) => label);
  if (named.length < 1) return [];
  return [h("div", { class: "legend" }, ...named.map(([label, colour]) => h("span", { class: "entry" }, swatch(colour), label!)))];
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

