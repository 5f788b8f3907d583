// What is seen of a scatter besides its points: axes, ellipses, arrows, limits and names. Nothing here listens.
import { brief, svg, tickNames, ticks } from "./dom";
import { groups, outline as edge, type Ellipse as Kind, type Group } from "./groups";
import { around, Floor, measured, onward, placed, type Box, type Wanted } from "./labels";
import { chosen, others, pictures, type Naming } from "./names";
import { css, path } from "./palette";
import { type Points, type Spot, type Worth } from "./planes";
import { extent, type View } from "./points";
import { type RowsChart } from "./report";
import { type State } from "./state";

/** How high a plot is, and the least that it is where the units of its axes are equal and rows lie in a flat strip. */
const HEIGHT = 420;
const LEAST = 220;

/** How high it is where height means nothing. */
const STRIP = 260;
const MARGIN = { right: 16, top: 12, bottom: 46 };

/** How wide a letter is, about. */
const LETTER = 6.6;

/** Limits of the data that are in view. */
export interface Span {
  x: [number, number];
  y: [number, number];
}

/** What a reader asked for besides the points. */
export interface Wishes {
  naming: Naming;
  /** Which rows are named first. */
  worth: Worth;
  /** What is shown of groups: where their rows lie, where their means may lie, and their means. */
  groups: Set<Kind | "centroids">;
}

/** The span that a chart asks for, else one that shows everything: points, arrows, ellipses, and limits that are not far off. */
export function whole({ chart, x, y, arrows, categories }: Points): Span {
  if (chart.span) return chart.span;
  const [across, up] = [extent(x), extent(y)];
  for (const each of [...arrows, ...categories]) [stretch(across, each.x), stretch(up, each.y)];
  for (const e of chart.ellipses ?? []) {
    for (const [px, py] of outline(e)) [stretch(across, px), stretch(up, py)];
  }
  const far = [across[1] - across[0], up[1] - up[0]];
  for (const line of chart.lines ?? []) {
    if (line.x !== undefined && line.x > across[0] - far[0] && line.x < across[1] + far[0]) stretch(across, line.x);
    if (line.y !== undefined && line.y > up[0] - far[1] && line.y < up[1] + far[1]) stretch(up, line.y);
  }
  return { x: pad(across), y: pad(up) };
}

/** Rows this far out, at either end of an axis, may be left out of what most rows fill. */
const FAR = 0.01;

/** Bins in which the ranks of values are counted. */
const BINS = 4096;

/** How much of the whole most rows must fill, or they can hardly be told apart. */
const TINY = 0.05;

/** What all but the outermost rows fill, if that is a tiny part of the whole. */
export function most(points: Points): Span | null {
  const [all, inside] = [whole(points), { x: inner(points.x), y: inner(points.y) }];
  const wide = { x: all.x[1] - all.x[0], y: all.y[1] - all.y[0] };
  const long = { x: inside.x[1] - inside.x[0], y: inside.y[1] - inside.y[0] };
  const small = (part: number, of: number): boolean => part > 0 && part < TINY * of;
  const tiny = points.chart.equal
    ? small(Math.max(long.x, long.y), Math.max(wide.x, wide.y))
    : small(long.x, wide.x) || small(long.y, wide.y);
  return tiny ? { x: about(inside.x, long.y), y: about(inside.y, long.x) } : null;
}

/** A range with some room; rows that are all at one place get as much as they have along the other axis. */
function about([low, high]: [number, number], other: number): [number, number] {
  return high > low ? pad([low, high]) : [low - other / 2, low + other / 2];
}

/** The range of all but the outermost values: only those that share a bin with one of its ends are sorted. */
function inner(values: Float64Array): [number, number] {
  const [low, high] = extent(values);
  const scale = BINS / (high - low) || 0;
  const bin = (v: number): number => Math.floor((v - low) * scale) || 0;
  const bins = new Uint32Array(BINS + 1);
  let count = 0;
  for (let i = 0; i < values.length; i++)
    if (Number.isFinite(values[i])) {
      bins[bin(values[i])]++;
      count++;
    }
  const at = (rank: number): number => {
    let [k, before] = [0, 0];
    while (before + bins[k] <= rank) before += bins[k++];
    const alike: number[] = [];
    for (let i = 0; i < values.length; i++) if (bin(values[i]) === k && Number.isFinite(values[i])) alike.push(values[i]);
    return Float64Array.from(alike).sort()[rank - before];
  };
  const out = Math.ceil(FAR * count);
  return count > 2 * out ? [at(out), at(count - 1 - out)] : [low, high];
}

function stretch(range: [number, number], value: number): void {
  [range[0], range[1]] = [Math.min(range[0], value), Math.max(range[1], value)];
}

/** Values that differ by less, as part of their size, differ by rounding alone, and have one place. */
const SAME = 1e-13;

function pad([low, high]: [number, number]): [number, number] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const by = high - low > SAME * size ? 0.07 * (high - low) : 0.5 * size || 1;
  return [low - by, high + by];
}

/** The frame of the axes: as wide at the left as the names of its ticks. */
export function frame({ chart, ylabel }: Points, span: Span, width: number, height: number): Box {
  const names = ylabel ? tickNames(alongSide(...(chart.equal ? inView(span, width, height) : span.y))) : [];
  const left = Math.max(0, ...names.map((name) => measured(name))) + (ylabel ? 34 : 16);
  return { x0: Math.ceil(left), x1: width - MARGIN.right, y0: MARGIN.top, y1: height - MARGIN.bottom };
}

/** What is in view up the side where the units of both axes are equal, about: at least the span. */
function inView({ x, y }: Span, width: number, height: number): [number, number] {
  const unit = (x[1] - x[0]) / Math.max(1, width - 60);
  const more = Math.max(0, (unit * (height - MARGIN.top - MARGIN.bottom) - (y[1] - y[0])) / 2);
  return [y[0] - more, y[1] + more];
}

/** How high the plot of a span is: where the units of both axes are equal, no higher than the span fills it. */
export function tall(points: Points, span: Span, width: number, stature: number): number {
  const most = Math.round(stature * (points.ylabel ? HEIGHT : STRIP));
  if (!points.chart.equal) return most;
  const { x0, x1 } = frame(points, span, width, most);
  const filled = ((x1 - x0) * (span.y[1] - span.y[0])) / (span.x[1] - span.x[0]);
  return Math.round(Math.max(LEAST, Math.min(most, MARGIN.top + filled + MARGIN.bottom)));
}

export function view(points: Points, span: Span, width: number, height: number): View {
  const { x0, x1, y0, y1 } = frame(points, span, width, height);
  const [w, ht] = [x1 - x0, y1 - y0];
  let [sx, sy] = [w / (span.x[1] - span.x[0]), ht / (span.y[1] - span.y[0])];
  if (points.chart.equal) sx = sy = Math.min(sx, sy);
  const [cx, cy] = [(span.x[0] + span.x[1]) / 2, (span.y[0] + span.y[1]) / 2];
  return { sx, tx: x0 + w / 2 - sx * cx, sy: -sy, ty: y0 + ht / 2 + sy * cy, width, height };
}

/** How wide a point is drawn. */
export function dot(n: number): number {
  return n > 50_000 ? 2.5 : n > 5_000 ? 4 : n > 500 ? 6 : 9;
}

/** Everything over the points. Centroids of the colours stand in for the same categories of the chart. */
export function over(all: Points, v: View, box: Box, state: State, wishes: Wishes): SVGElement[] {
  const points = { ...all, categories: all.categories.filter(({ of }) => !wishes.groups.has("centroids") || of !== state.colouring.name) };
  const inside = cut(box);
  const made = wishes.groups.size ? groups(points, state) : [];
  inside.append(...limits(points, v, box), ...ellipses(points, v, state), ...edges(made, v, wishes), ...arrows(points, v), ...categories(points, v),
    ...middles(made, v, wishes), ...ring(points, v, state, box));
  const floor = floorOf(points, v, box);
  const scaled = unit(points, box, floor);
  inside.append(...pictures(all, v, box, state, wishes, floor));
  const wanted = [
    ...chosen(points, v, box, state), ...middleNames(made, v, wishes), ...ellipseNames(points, v), ...tips(points, v), ...categoryNames(points, v),
    ...others(all, v, box, state, wishes, floor),
  ];
  return [...names(points, v, box), inside, ...placed(wanted, { ...box, x1: v.width, y0: 0 }, floor), ...scaled];
}

/** Where points and arrows lie: names had better not cover them; and names of limits, which they must not. */
function floorOf({ x, y, arrows, chart }: Points, v: View, box: Box): Floor {
  const floor = new Floor(v.width, v.height);
  for (let i = 0; i < x.length; i++) {
    const px = v.sx * x[i] + v.tx;
    const py = v.sy * y[i] + v.ty;
    if (px >= box.x0 && px <= box.x1 && py >= box.y0 && py <= box.y1) floor.dot(px, py);
  }
  for (const each of arrows) floor.line({ x1: v.tx, y1: v.ty, x2: v.sx * each.x + v.tx, y2: v.sy * each.y + v.ty });
  for (const line of chart.lines ?? []) {
    const { x, y, end } = limitName(line, v, box);
    const x0 = end ? x - measured(line.label) : x;
    floor.take({ x0, x1: x0 + measured(line.label), y0: y - 11, y1: y + 3 });
  }
  return floor;
}

/** A part of the picture that shows nothing outside the frame. */
export function cut({ x0, y0, x1, y1 }: Box): SVGElement {
  const [width, height] = [x1 - x0, y1 - y0];
  return svg("svg", { x: x0, y: y0, width, height, viewBox: `${x0} ${y0} ${width} ${height}` });
}

interface Tick {
  at: number;
  name: string;
}

/** Where the ticks of both axes are, in pixels, and what they say. */
function axes(v: View, { x0, x1, y0, y1 }: Box, sided: boolean): { across: Tick[]; up: Tick[] } {
  const across = alongBottom((x0 - v.tx) / v.sx, (x1 - v.tx) / v.sx, x1 - x0);
  const up = sided ? alongSide((y1 - v.ty) / v.sy, (y0 - v.ty) / v.sy) : [];
  return {
    across: tickNames(across).map((name, i) => ({ name, at: v.sx * across[i] + v.tx })),
    up: tickNames(up).map((name, i) => ({ name, at: v.sy * up[i] + v.ty })),
  };
}

/** Ticks across so many pixels: more of them where there would be hardly any, if their names have room. */
function alongBottom(low: number, high: number, width: number): number[] {
  const count = Math.max(3, width / 70);
  const [few, more] = [ticks(low, high, count), ticks(low, high, 2 * count)];
  const long = tickNames(more).reduce((sum, name) => sum + measured(name) + 12, 0);
  return few.length < 3 && long < width ? more : few;
}

/** Ticks up the side: about six, and never hardly any. */
function alongSide(low: number, high: number): number[] {
  const few = ticks(low, high, 6);
  return few.length < 3 ? ticks(low, high, 12) : few;
}

/** What lies under the points: the lines of the ticks. */
export function under({ ylabel }: Points, v: View, box: Box): SVGElement[] {
  const { across, up } = axes(v, box, ylabel !== "");
  return [
    ...across.map(({ at }) => svg("line", { class: "rule", x1: at, x2: at, y1: box.y0, y2: box.y1 })),
    ...up.map(({ at }) => svg("line", { class: "rule", x1: box.x0, x2: box.x1, y1: at, y2: at })),
  ];
}

function names({ xlabel, ylabel }: Points, v: View, box: Box): SVGElement[] {
  const { across, up } = axes(v, box, ylabel !== "");
  const [middle, half] = [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2];
  return [
    ...across.map(({ at, name }) => svg("text", { class: "tick", x: at, y: box.y1 + 16, "text-anchor": "middle" }, name)),
    ...up.map(({ at, name }) => svg("text", { class: "tick", x: box.x0 - 6, y: at + 4, "text-anchor": "end" }, name)),
    svg("text", { class: "label", x: middle, y: v.height - 9, "text-anchor": "middle" }, fitted(xlabel, box.x1 - box.x0)),
    svg("text", { class: "label", transform: `translate(13 ${half}) rotate(-90)`, "text-anchor": "middle" }, fitted(ylabel, 2 * half - 4)),
  ];
}

/** A name that fits in so many pixels: whole if it can be. */
function fitted(name: string, room: number): string {
  return measured(name) <= room ? name : brief(name, Math.floor(room / LETTER));
}

function limits({ chart }: Points, v: View, box: Box): SVGElement[] {
  const { x0, x1, y0, y1 } = box;
  return (chart.lines ?? []).flatMap((line) => {
    const [px, py] = [v.sx * (line.x ?? 0) + v.tx, v.sy * (line.y ?? 0) + v.ty];
    const ends = line.x === undefined ? { x1: x0, x2: x1, y1: py, y2: py } : { x1: px, x2: px, y1: y0, y2: y1 };
    const { x, y, end } = limitName(line, v, box);
    return [svg("line", { class: "limit", ...ends }), svg("text", { class: "name", x, y, "text-anchor": end ? "end" : "start" }, line.label)];
  });
}

type Limit = NonNullable<RowsChart["lines"]>[number];

/** Where the name of a limit stands, and whether it ends there: at the right above a level line, beside the top of an
 * upright one, on the side where there is room. */
function limitName({ x, y, label }: Limit, v: View, { x1, y0 }: Box): { x: number; y: number; end: boolean } {
  if (x === undefined) return { x: x1 - 4, y: v.sy * (y ?? 0) + v.ty - 5, end: true };
  const px = v.sx * x + v.tx;
  const end = px + 8 + measured(label) >= x1;
  return { x: end ? px - 5 : px + 5, y: y0 + 12, end };
}

type Ellipse = NonNullable<RowsChart["ellipses"]>[number];

/** The edge of an ellipse in data coordinates: turned there, as axes of different scales turn it otherwise. */
function outline({ x, y, a, b, angle }: Ellipse): [number, number][] {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return Array.from({ length: 72 }, (_, i) => {
    const [u, w] = [a * Math.cos((i * Math.PI) / 36), b * Math.sin((i * Math.PI) / 36)];
    return [x + c * u - s * w, y + s * u + c * w];
  });
}

/** Ellipses, in the colour of the rows whose class they are called by. */
function ellipses({ chart }: Points, v: View, { colouring }: State): SVGElement[] {
  const colours = new Map(colouring.legend.map(({ label, colour }) => [label, colour]));
  return (chart.ellipses ?? []).map((e) => {
    const points = outline(e).map(([x, y]) => `${v.sx * x + v.tx},${v.sy * y + v.ty}`).join(" ");
    return svg("polygon", { class: "ellipse", points, stroke: colours.get(e.label) });
  });
}

/** Names of ellipses, at their highest places: in their middles they would lie on points. */
function ellipseNames({ chart }: Points, v: View): Wanted[] {
  return (chart.ellipses ?? []).map((e) => {
    const [x, y] = outline(e).reduce((top, at) => (at[1] > top[1] ? at : top));
    return spotName({ label: e.label, x, y, dash: false, of: "" }, v, { sides: around("above", "above left", "above right"), on: "anything", strong: true });
  });
}

function arrows({ arrows }: Points, v: View): SVGElement[] {
  const [x0, y0] = [v.tx, v.ty];
  return arrows.flatMap((a) => {
    const [x1, y1] = [v.sx * a.x + v.tx, v.sy * a.y + v.ty];
    const long = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [u, w] = [(x1 - x0) / long, (y1 - y0) / long];
    const back = Math.min(8, long / 2);
    const barb = (side: number) => `${x1 - back * u - side * 0.45 * back * w} ${y1 - back * w + side * 0.45 * back * u}`;
    return [
      svg("path", { class: "arrow halo", d: `M${x0} ${y0} L${x1} ${y1}` }),
      svg("path", { class: a.dash ? "arrow dashed" : "arrow", d: `M${x0} ${y0} L${x1} ${y1}` }),
      svg("path", { class: "arrow", d: `M${barb(1)} L${x1} ${y1} L${barb(-1)}` }),
    ];
  });
}

/** Categories that took no part in the fit, as triangles. */
function categories({ categories }: Points, v: View): SVGElement[] {
  return categories.map((each) => svg("path", { class: "category", d: path(2, v.sx * each.x + v.tx, v.sy * each.y + v.ty, 4.5) }));
}

/** Where arrows have a unit of their own, how long it is. */
function unit({ stretch, arrows }: Points, { x0, y1 }: Box, floor: Floor): SVGElement[] {
  if (stretch === 1 || !arrows.length) return [];
  const text = `arrows × ${stretch >= 1e4 || stretch < 1e-3 ? stretch.toExponential() : Number(stretch.toPrecision(2))}`;
  floor.take({ x0, x1: x0 + 12 + measured(text), y0: y1 - 20, y1 });
  return [svg("text", { class: "unit", x: x0 + 6, y: y1 - 6 }, text)];
}

// ---- groups -----------------------------------------------------------------------------------------------

function edges(made: Group[], v: View, wishes: Wishes): SVGElement[] {
  const kinds = (["rows", "mean"] as const).filter((kind) => wishes.groups.has(kind));
  return made.flatMap((group) => kinds.flatMap((kind) => {
    const points = edge(group, kind).map(([x, y]) => `${v.sx * x + v.tx},${v.sy * y + v.ty}`).join(" ");
    return points ? [svg("polygon", { class: `group ${kind}`, points, stroke: group.entry.colour, fill: group.entry.colour })] : [];
  }));
}

function middles(made: Group[], v: View, wishes: Wishes): SVGElement[] {
  return (wishes.groups.has("centroids") ? made : []).map(({ entry, mean }) =>
    svg("path", { class: "centroid", d: path(entry.shape, v.sx * mean[0] + v.tx, v.sy * mean[1] + v.ty, 7), fill: entry.colour }));
}

function middleNames(made: Group[], v: View, wishes: Wishes): Wanted[] {
  return (wishes.groups.has("centroids") ? made : []).map(({ entry, mean }) => ({
    text: entry.label, x: v.sx * mean[0] + v.tx, y: v.sy * mean[1] + v.ty, sides: around("above", "below"), on: "anything", strong: true,
  }));
}

// ---- names ------------------------------------------------------------------------------------------------

function spotName({ label, x, y }: Spot, v: View, rest: Omit<Wanted, "text" | "x" | "y">): Wanted {
  return { text: label, x: v.sx * x + v.tx, y: v.sy * y + v.ty, ...rest };
}

function tips({ arrows }: Points, v: View): Wanted[] {
  const longest = [...arrows].sort((a, b) => Math.hypot(b.x, b.y) - Math.hypot(a.x, a.y));
  return longest.map((a) => spotName(a, v, { sides: onward(v.sx * a.x, v.sy * a.y), last: around(), on: "points", class: "tip-name" }));
}

/** Names of categories are left out rather than that they lie on each other; as one zooms in, they have room. */
function categoryNames({ categories }: Points, v: View): Wanted[] {
  return categories.map((each) => spotName(each, v, { sides: around("right", "above", "below"), on: "points", class: "category-name", strong: true }));
}

/** The row that is looked at has a ring around it. */
function ring({ x, y }: Points, v: View, state: State, box: Box): SVGElement[] {
  const [cx, cy] = [v.sx * x[state.focused] + v.tx, v.sy * y[state.focused] + v.ty];
  return state.focused >= 0 && holds(box, { x: cx, y: cy }) ? [svg("circle", { class: "ring", cx, cy, r: 9 })] : [];
}

export function holds(box: Box, { x, y }: { x: number; y: number }): boolean {
  return x >= box.x0 && x <= box.x1 && y >= box.y0 && y <= box.y1;
}

/** The points as shapes, for pictures of few rows that can be edited. */
export function shapes({ x, y }: Points, v: View, box: Box, state: State, size: number): SVGElement {
  const group = cut(box);
  const { tints, shapes: all, hollow } = state.inks;
  const order = Array.from(x, (_, i) => i).sort((a, b) => Number(state.selected.has(a)) - Number(state.selected.has(b)));
  for (const i of order) {
    const r = ((state.selected.has(i) ? 1.35 : 1) * size) / 2;
    const at = { x: v.sx * x[i] + v.tx, y: v.sy * y[i] + v.ty };
    if (!holds(box, at)) continue;
    const ink = { colour: css(state.colouring.colours[i]), opacity: tints[4 * i + 3] };
    const look = hollow?.[i]
      ? { fill: "none", stroke: ink.colour, "stroke-width": 1.8, "stroke-opacity": ink.opacity }
      : { fill: ink.colour, "fill-opacity": ink.opacity };
    group.append(svg("path", { class: "point", d: path(all?.[i] ?? 0, at.x, at.y, r), ...look }));
  }
  return group;
}
