// From the data of a chart to something to look at; every kind has one function in `KINDS`.
import { aligned, crossed, decimalsOf, h, minus, sentence, short, svg } from "./dom";
import { images } from "./images";
import { measured } from "./labels";
import { loadings } from "./loadings";
import { marks } from "./marks";
import { aroundPaper } from "./paper";
import { axesOf } from "./planes";
import { extent } from "./points";
import { cells, numbers, type Chart, type Column, type FramesChart, type MarksChart, type RowsChart, type TableChart, type TextChart } from "./report";
import { styled } from "./save";
import { Scatter } from "./scatter";
import { type State } from "./state";
import { paper } from "./theme";

/** A drawn chart: the node, the columns behind it, and its picture where it has one. */
export interface Drawn {
  node: HTMLElement;
  columns: Column[];
  picture?: () => SVGElement | null;
  /** The part of the node that is a picture, where there are controls beside it. */
  plot?: HTMLElement;
}

const PRINTED = 1_000;

/** The least columns and the most rows of a table on paper (see the style sheet), where nobody reads a longer one; and
 * the pixels that its columns may take, with so many between two: a wider one would shrink all pages. */
const ON_PAPER = { columns: 8, rows: 60, width: 766, apart: 9 };

/** Tables of so few columns have room for sentences of several lines. */
const NARROW = 4;

/** Letters of a name above a column that gets more room, lest the name takes many lines. */
const LONG = 20;

export function draw(chart: Chart, state: State): Drawn {
  return (KINDS[chart.kind] as (chart: Chart, state: State) => Drawn)(chart, state);
}

function rows(chart: RowsChart, state: State): Drawn {
  const scatter = new Scatter(chart, state);
  return { node: scatter.node, get columns() { return behindRows(chart, state); }, picture: () => scatter.picture() };
}

/** The rows on every axis, and beside them the arrows and the categories. */
function behindRows(chart: RowsChart, state: State): Column[] {
  const axes = axesOf(chart);
  const ids: Column = { name: "row", kind: "text", values: state.ids };
  const places = axes.map(({ label, values, times }): Column => ({
    name: label, kind: "number", values: times === undefined ? values : Array.from(numbers(values), (v) => (Number.isNaN(v) ? null : v * times)),
  }));
  const spots = (what: string, all: { label: string; at: number[] }[]): Column[] => all.length ? [
    { name: what, kind: "text", values: all.map(({ label }) => label) },
    ...axes.map(({ label }, j): Column => ({ name: `${what}: ${label}`, kind: "number", values: all.map(({ at }) => at[j] ?? null) })),
  ] : [];
  return [ids, ...places, ...spots("arrow", chart.arrows ?? []), ...spots("category", chart.categories ?? [])];
}

export function grid(columns: Column[], title: string, lines = false): HTMLElement {
  const all = columns.map(cells);
  const numeric = all.map((values) => numbersOf(values.slice(0, PRINTED)));
  const written = columns.map(({ kind, values }, j) => (kind === "number" ? aligned(numeric[j], extent(numbers(values))) : short));
  const n = Math.max(0, ...all.map((values) => values.length));
  const counts = numeric.map((values) => values.every(Number.isInteger));
  const down = lines ? numeric.map((values) => decimalsOf(values)) : [];
  const across = lines ? Array.from({ length: n }, (_, i) => decimalsOf(numbersOf(all.map((values, j) => (counts[j] ? null : values[i]))))) : [];
  const says = (i: number, j: number): string => printed(all[j][i], lines && !counts[j] ? crossed(across[i], down[j]) : written[j]);
  const kept = onPaper(columns.map(({ name }) => name), Math.min(n, ON_PAPER.rows), says);
  const beyond = (j: number): string => (j < kept ? "" : " beyond");
  const head = h("tr", {}, ...columns.map(({ kind, name }, j) => (name ? h("th", { scope: "col", class: (name.length > LONG ? `${kind} long` : kind) + beyond(j) }, name) : h("td", {}))));
  const body = Array.from({ length: Math.min(n, PRINTED) }, (_, i) =>
    h("tr", {}, ...columns.map(({ kind }, j) => h("td", { class: kind + beyond(j) }, says(i, j)))));
  const table = h("table", columns.length > NARROW ? {} : { class: "prose" }, h("thead", {}, head), h("tbody", {}, ...body));
  const more = n > PRINTED ? [h("p", { class: "note" }, `The first ${PRINTED} of ${n} rows; the CSV has all.`)] : [];
  const cut = [[kept, columns.length, "columns"] as const, [ON_PAPER.rows, n, "rows"] as const].filter(([most, count]) => count > most);
  const words = cut.map(([most, count, what]) => `the first ${most} of ${count} ${what}`).join(" and ");
  const left = cut.length ? [h("p", { class: "note on-paper" }, `On paper ${words}; the CSV has all.`)] : [];
  return h("div", { class: "grid", tabindex: 0, role: "region", "aria-label": `data table: ${title}` }, table, ...more, ...left);
}

/** How many columns of a table have room on paper, those of which there always are some included: their names may break
 * between words, their cells do not. */
function onPaper(names: string[], rows: number, says: (i: number, j: number) => string): number {
  let used = 0;
  for (let j = 0; j < names.length; j++) {
    const widths = [...names[j].split(" ").map((word) => measured(word, true)), ...Array.from({ length: rows }, (_, i) => measured(says(i, j)))];
    used += Math.ceil(Math.max(...widths)) + ON_PAPER.apart;
    if (used > ON_PAPER.width) return Math.max(j, ON_PAPER.columns);
  }
  return names.length;
}

function numbersOf(values: (string | number | null | undefined)[]): number[] {
  return values.filter((v): v is number => typeof v === "number");
}

function printed(value: string | number | null | undefined, written: (value: number) => string): string {
  return value === null || value === undefined ? "" : typeof value === "number" ? minus(written(value)) : value.trim() || "(empty)";
}

function table(chart: TableChart): Drawn {
  return { node: grid(chart.columns, chart.title, chart.lines), columns: chart.columns };
}

function text(chart: TextChart): Drawn {
  const node = h("div", { class: "text" });
  if (chart.warnings?.length) node.append(warned(chart.warnings));
  for (const paragraph of chart.paragraphs ?? []) node.append(h("p", {}, ...sentence(paragraph)));
  if (chart.facts?.length)
    node.append(h("dl", {}, ...chart.facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  for (const code of chart.code ?? []) node.append(h("h4", {}, code.label), h("pre", { tabindex: 0 }, h("code", {}, code.text)));
  return { node, columns: [] };
}

const ROOMY = matchMedia("(min-width: 40rem)");

/** Warnings; on a narrow screen one line that opens, so that the plots below are seen at once. */
function warned(all: string[]): HTMLElement {
  const count = all.length === 1 ? "1 warning" : `${all.length} warnings`;
  const texts = all.map((warning) => h("p", { class: "warning", role: "note" }, ...sentence(warning)));
  const node = h("details", {}, h("summary", {}, count, h("span", {}, `: ${all[0]}`)), ...texts);
  const fit = (): void => void (node.open = paper() || ROOMY.matches);
  fit();
  ROOMY.addEventListener("change", fit);
  aroundPaper(fit);
  return node;
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
    value.textContent = place === chart.fitted ? `${frame.value}, as fitted` : frame.value;
  };
  const slider = h("input", {
    type: "range", min: 0, max: chart.frames.length - 1, step: 1, value: chart.start, "aria-label": chart.label,
    oninput: () => show(Number(slider.value)),
  });
  const own = chart.fitted === undefined ? [] : [{ at: chart.fitted, label: `as fitted: ${chart.frames[chart.fitted].value}` }];
  const jumps = [...own, ...(chart.marks ?? [])].map((mark) => h("button", { type: "button", onclick: () => {
    slider.value = String(mark.at);
    show(mark.at);
  } }, mark.label));
  show(chart.start);
  const head = h("div", { class: "slider" }, h("label", {}, `${chart.label}: `, value), slider, ...jumps);
  return {
    node: h("div", {}, ...(chart.frames.length > 1 ? [head] : []), stage),
    get columns() { return drawn.get(at)!.flatMap((each, i) => titled(each.columns, chart.frames[at].charts[i].title)); },
    picture: () => stacked(drawn.get(at)!.map((each, i) => [chart.frames[at].charts[i].title, each.picture?.() ?? null])),
  };
}

function titled(columns: Column[], title: string): Column[] {
  return title ? columns.map((column) => ({ ...column, name: `${title}: ${column.name}` })) : columns;
}

/** Pictures under each other, each with its title. */
function stacked(pictures: [string, SVGElement | null][]): SVGElement {
  let [wide, high] = [0, 0];
  const nodes = pictures.flatMap(([title, picture]) => {
    if (!picture) return [];
    const copy = styled(picture);
    const head = title ? [svg("text", { x: 12, y: high + 16, "font-size": 13, "font-weight": 600, "font-family": "system-ui, sans-serif", fill: getComputedStyle(document.body).color }, title)] : [];
    copy.setAttribute("y", String(high + 26 * head.length));
    wide = Math.max(wide, Number.parseFloat(copy.getAttribute("width") ?? "640"));
    high += 26 * head.length + Number.parseFloat(copy.getAttribute("height") ?? "360");
    return [...head, copy];
  });
  return svg("svg", { width: wide, height: high }, ...nodes);
}

function plotted(chart: MarksChart, state: State): Drawn {
  return chart.loadings ? loadings(chart, state) : marks(chart);
}

const KINDS = { marks: plotted, rows, images, table, text, frames };
