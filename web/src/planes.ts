// Two axes of a scatter: where its rows, arrows and categories lie on them, and what counts all rows behind.
import { extent } from "./points";
import { numbers, type Density, type RowsAxis, type RowsChart } from "./report";

/** Which two of the axes are shown. */
export type Pair = [number, number];

/** A named place: an arrow ends there, or a category lies there. */
export interface Spot {
  label: string;
  x: number;
  y: number;
  dash: boolean;
  of: string;
}

export interface Points {
  chart: RowsChart;
  pair: Pair;
  x: Float64Array;
  y: Float64Array;
  xlabel: string;
  ylabel: string;
  arrows: Spot[];
  /** How many times as long as they are the arrows are drawn. */
  stretch: number;
  categories: Spot[];
  density: Density | null;
}

/** The axes of a chart: those that it offers, or its only two. */
export function axesOf({ axes, x, y, xlabel, ylabel }: RowsChart): RowsAxis[] {
  return axes ?? [{ label: xlabel ?? "", values: x ?? [] }, { label: ylabel ?? "", values: y ?? [] }];
}

export function firstPair({ pair }: RowsChart): Pair {
  return pair ?? [0, 1];
}

function along({ values, times }: RowsAxis): Float64Array {
  const found = numbers(values);
  return times === undefined ? found : found.map((v) => v * times);
}

export function plane(chart: RowsChart, pair: Pair): Points {
  const axes = axesOf(chart);
  const [i, j] = pair;
  const [x, y] = [along(axes[i]), along(axes[j])];
  const longest = Math.max(0, ...(chart.arrows ?? []).map(({ at }) => Math.hypot(at[i], at[j])));
  const stretch = chart.stretch ? round(farthest(x, y), longest) : 1;
  const arrows = (chart.arrows ?? []).map(({ label, at, dash }) => ({ label, x: stretch * at[i], y: stretch * at[j], dash: dash ?? false, of: "" }));
  const categories = (chart.categories ?? []).map(({ label, at, of }) => ({ label, x: at[i], y: at[j], dash: false, of: of ?? "" }));
  return { chart, pair, x, y, xlabel: axes[i].label, ylabel: axes[j].label, arrows, stretch, categories, density: counted(chart, pair) };
}

function farthest(x: Float64Array, y: Float64Array): number {
  let most = 0;
  for (let k = 0; k < x.length; k++) if (x[k] * x[k] + y[k] * y[k] > most) most = x[k] * x[k] + y[k] * y[k];
  return Math.sqrt(most);
}

/** 1, 2 or 5 times a power of ten that makes arrows about as long as the points are far; 1 where they nearly are. */
function round(far: number, long: number): number {
  if (!far || !long || (long / far >= 0.4 && long / far <= 1.5)) return 1;
  const power = 10 ** Math.floor(Math.log10(far / long));
  return power * [5, 2, 1].find((step) => step * power <= (far / long) * (1 + 1e-9))!;
}

/** The counts of all rows in this plane; turned over where they were counted the other way round. */
function counted({ density, densities }: RowsChart, [i, j]: Pair): Density | null {
  const found = densities?.find(({ pair }) => pair[0] === Math.min(i, j) && pair[1] === Math.max(i, j));
  if (!found || i < j) return found ?? density ?? null;
  const { width, height, x0, x1, y0, y1 } = found;
  const counts = numbers(found.counts);
  const turned = Array.from({ length: width * height }, (_, at) => counts[(at % height) * width + Math.floor(at / height)]);
  return { x0: y0, x1: y1, y0: x0, y1: x1, width: height, height: width, counts: turned };
}

/** What decides which rows are named first. */
export type Worth = "contribution" | "cos2";

/** How much rows matter in a plane, to be named first: as the chart says, else by their distances from the middle, in
 * units of both axes where these are alike, as contributions to the plane are; or by the share of their distance that
 * the plane shows. */
export function priorities({ chart, x, y }: Points, worth: Worth): Float64Array {
  if (chart.priority) return numbers(chart.priority);
  if (worth === "cos2" && chart.lengths) {
    const lengths = numbers(chart.lengths);
    return x.map((v, k) => (lengths[k] > 0 ? (v * v + y[k] * y[k]) / lengths[k] : 0));
  }
  const [across, up] = [middle(x), middle(y)];
  const [a, b] = chart.equal ? [1, 1] : [across.spread, up.spread];
  return x.map((v, k) => ((v - across.mean) / a) ** 2 + ((y[k] - up.mean) / b) ** 2);
}

function middle(values: Float64Array): { mean: number; spread: number } {
  const seen = values.filter(Number.isFinite);
  const mean = seen.reduce((sum, v) => sum + v / seen.length, 0);
  const [low, high] = extent(seen);
  return { mean, spread: high - low || 1 };
}
