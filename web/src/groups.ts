// Groups of rows in a plane: their middles, and ellipses of where their rows lie or where their means may lie.
import { type Points } from "./planes";
import { type Entry, type State } from "./state";

/** The share of rows in an ellipse, and the confidence of a mean. */
export const LEVEL = 0.95;

/** Fewer rows have no covariance of full rank. */
const FEWEST = 3;

export type Ellipse = "rows" | "mean";

export interface Group {
  entry: Entry;
  /** The sum of the weights: a row of weight 3 counts as three. */
  n: number;
  mean: [number, number];
  /** Variance across, covariance, variance up; divisor n − 1. */
  covariance: [number, number, number];
}

/** The groups of the rows shown, by the classes that colour them, with the weights of the rows. */
export function groups({ x, y }: Points, { colouring, weights }: State): Group[] {
  const { which, legend } = colouring;
  if (!which) return [];
  const sums = legend.map(() => new Float64Array(6));
  const [x0, y0] = [x.find(Number.isFinite) ?? 0, y.find(Number.isFinite) ?? 0];
  for (let i = 0; i < x.length; i++) {
    const [u, w] = [x[i] - x0, y[i] - y0];
    if (!Number.isFinite(u + w)) continue;
    const s = sums[which[i]];
    const m = weights?.[i] ?? 1;
    s[0] += m; s[1] += m * u; s[2] += m * w; s[3] += m * u * u; s[4] += m * u * w; s[5] += m * w * w;
  }
  return legend.flatMap((entry, k) => {
    const [n, u, w, uu, uw, ww] = sums[k];
    const over = (product: number, a: number, b: number): number => (product - (a * b) / n) / (n - 1);
    return n && !entry.shared ? [{ entry, n, mean: [x0 + u / n, y0 + w / n], covariance: [over(uu, u, u), over(uw, u, w), over(ww, w, w)] }] : [];
  });
}

/** How many standard deviations the edge of an ellipse is from the mean of n rows: that of the share of a Gaussian in the
 * plane, or that of the mean's confidence (Hotelling 1931), whose quantile of F(2, n − 2) can be written down. */
export function radius(kind: Ellipse, n: number): number {
  if (kind === "rows") return Math.sqrt(-2 * Math.log(1 - LEVEL));
  const quantile = ((n - 2) / 2) * ((1 - LEVEL) ** (-2 / (n - 2)) - 1);
  return Math.sqrt(((2 * (n - 1)) / (n * (n - 2))) * quantile);
}

/** The edge of a group's ellipse in data coordinates; none of too few rows. */
export function outline({ n, mean, covariance: [a, b, c] }: Group, kind: Ellipse): [number, number][] {
  if (n < FEWEST) return [];
  const r = radius(kind, n);
  // The root of the covariance, lower triangular: circles become the ellipse whatever root is taken.
  const p = Math.sqrt(Math.max(0, a));
  const q = p > 0 ? b / p : 0;
  const s = Math.sqrt(Math.max(0, c - q * q));
  return Array.from({ length: 73 }, (_, i) => {
    const [u, w] = [r * Math.cos((i * Math.PI) / 36), r * Math.sin((i * Math.PI) / 36)];
    return [mean[0] + p * u, mean[1] + q * u + s * w];
  });
}
