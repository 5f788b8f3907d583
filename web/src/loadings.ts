// Loadings as researchers read them: columns in the order of the component that they belong to, the largest loading first,
// and without the numbers of small ones.
import { type Drawn } from "./charts";
import { h } from "./dom";
import { marks } from "./marks";
import { numbers, type Mark, type MarksChart } from "./report";
import { type State } from "./state";

/** What a reader asked of loadings: their order, and below which size they are hidden. */
export interface LoadingWishes {
  sorted: boolean;
  least: number;
}

/** The largest size below which loadings can be hidden: those of standardised columns are at most 1, or nearly. */
const LARGEST = 0.9;

export function loadings(chart: MarksChart, state: State): Drawn {
  const wishes = state.wishes<LoadingWishes>(`${chart.title}: order`, () => ({ sorted: false, least: 0 }));
  const place = h("div", {});
  let drawn = marks(chart);
  const draw = (): void => {
    drawn = marks(asked(chart, wishes));
    place.replaceChildren(drawn.node);
  };
  draw();
  const sort = h("button", { type: "button", "aria-pressed": String(wishes.sorted), title: "Columns by the component on which they load most, the largest first", onclick: () => {
    wishes.sorted = !wishes.sorted;
    sort.setAttribute("aria-pressed", String(wishes.sorted));
    draw();
  } }, "Sort by size");
  const value = h("output", {}, size(wishes.least));
  const slider = h("input", { type: "range", min: 0, max: LARGEST, step: 0.05, value: wishes.least, "aria-label": "Hide loadings smaller than", oninput: () => {
    wishes.least = Number(slider.value);
    value.textContent = size(wishes.least);
    draw();
  } });
  const hide = chart.colour?.domain && Number(chart.colour.domain[1]) <= 1.5 ? [h("label", {}, "Hide below ", slider, " ", value)] : [];
  const tools = h("div", { class: "tools" }, h("div", { class: "tool", role: "group", "aria-label": `Table: ${chart.title}` }, sort, ...hide));
  return { node: h("div", {}, tools, place), plot: place, get columns() { return drawn.columns; }, picture: () => drawn.picture?.() ?? null };
}

function size(least: number): string {
  return least ? least.toFixed(2) : "none";
}

/** The chart in the order asked for, and without small loadings; the domain of the colours stays, and so do these. */
function asked(chart: MarksChart, { sorted, least }: LoadingWishes): MarksChart {
  const [cells, ...others] = chart.marks;
  const [names, values] = [cells.data.y as string[], numbers(cells.data.fill)];
  const width = names.lastIndexOf(names[0]) + 1;
  const lines = Array.from({ length: names.length / width }, (_, i) => i);
  if (sorted) lines.sort(bySize(values, width));
  const order = lines.flatMap((i) => Array.from({ length: width }, (_, j) => i * width + j));
  const shown = (at: number): boolean => Math.abs(values[at]) >= least;
  const data: Mark["data"] = {
    x: pick(cells.data.x as string[], order), y: pick(names, order), fill: order.map((at) => (shown(at) ? values[at] : null)),
    text: order.map((at) => (shown(at) ? (cells.data.text as string[])[at] : "")),
  };
  return { ...chart, marks: [{ ...cells, data }, ...others] };
}

function pick(values: string[], order: number[]): string[] {
  return order.map((at) => values[at]);
}

/** By the component with the largest loading of a line, then by its size. */
function bySize(values: Float64Array, width: number): (a: number, b: number) => number {
  const main = (line: number): [number, number] => {
    let [best, most] = [0, -1];
    for (let j = 0; j < width; j++) if (Math.abs(values[line * width + j]) > most) [best, most] = [j, Math.abs(values[line * width + j])];
    return [best, most];
  };
  return (a, b) => {
    const [[i, large], [j, other]] = [main(a), main(b)];
    return i - j || other - large;
  };
}
