// Which rows are where: under the pointer, inside a lasso, and the next one that way.
import { type Box } from "./labels";
import { type Points } from "./planes";
import { extent, type View } from "./points";
import { holds } from "./scene";

export type Place = [number, number];

export function pixel({ x, y }: Points, v: View, row: number): Place {
  return [v.sx * x[row] + v.tx, v.sy * y[row] + v.ty];
}

/** The rows in view whose points are inside a loop of pixels. */
export function inside(points: Points, v: View, box: Box, loop: Place[]): number[] {
  const found: number[] = [];
  for (let row = 0; row < points.x.length; row++) {
    const [x, y] = pixel(points, v, row);
    if (holds(box, { x, y }) && contains(loop, x, y)) found.push(row);
  }
  return found;
}

/** A box that holds all places. */
export const EVERYWHERE: Box = { x0: -Infinity, y0: -Infinity, x1: Infinity, y1: Infinity };

/** The loop around two places that are opposite corners of a rectangle, half a pixel outside so that it holds both. */
export function rectangle([ax, ay]: Place, [bx, by]: Place): Place[] {
  const [x0, x1, y0, y1] = [Math.min(ax, bx) - 0.5, Math.max(ax, bx) + 0.5, Math.min(ay, by) - 0.5, Math.max(ay, by) + 0.5];
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
}

/** Whether a point is inside a polygon: a ray to the right crosses its sides an odd number of times. */
function contains(loop: Place[], px: number, py: number): boolean {
  let odd = false;
  for (let i = 0, j = loop.length - 1; i < loop.length; j = i++) {
    const [[xi, yi], [xj, yj]] = [loop[i], loop[j]];
    if (yi > py !== yj > py && px < ((xj - xi) * (py - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

/** The row nearest a place, or -1. */
export function nearest(points: Points, v: View, from: Place): number {
  return least(points, v, from, (dx, dy) => Math.hypot(dx, dy));
}

/** The nearest row that way, rows to the side of it counting as farther; -1 where there is none. */
export function next(points: Points, v: View, from: Place, [wx, wy]: Place): number {
  return least(points, v, from, (dx, dy) => {
    const along = dx * wx + dy * wy;
    return along > 0.01 ? along + 2 * Math.abs(dx * wy + dy * wx) : Infinity;
  });
}

function least(points: Points, v: View, from: Place, far: (dx: number, dy: number) => number): number {
  let [best, shortest] = [-1, Infinity];
  for (let row = 0; row < points.x.length; row++) {
    const [x, y] = pixel(points, v, row);
    const length = far(x - from[0], y - from[1]);
    if (length < shortest) [best, shortest] = [row, length];
  }
  return best;
}

/** Points in square cells, so that the one under the pointer is found without looking at all. */
export class Nearby {
  private cells = new Map<number, number[]>();
  private low: [number, number];
  private step: [number, number];
  private static readonly SIDE = 256;

  constructor(
    private x: Float64Array,
    private y: Float64Array,
  ) {
    const [x0, x1] = extent(x);
    const [y0, y1] = extent(y);
    this.low = [x0, y0];
    this.step = [(x1 - x0) / Nearby.SIDE || 1, (y1 - y0) / Nearby.SIDE || 1];
    for (let i = 0; i < x.length; i++) {
      const key = this.key(this.cell(0, x[i]), this.cell(1, y[i]));
      if (!Number.isNaN(key)) (this.cells.get(key) ?? this.cells.set(key, []).get(key)!).push(i);
    }
  }

  private cell(axis: 0 | 1, value: number): number {
    return Math.floor((value - this.low[axis]) / this.step[axis]);
  }

  private key(i: number, j: number): number {
    return i * 1000 + j;
  }

  /** The row of the nearest point within `reach` pixels of (px, py), or -1; of points at one place the one on top. */
  find(view: View, px: number, py: number, reach: number): number {
    const [a, b] = [(px - reach - view.tx) / view.sx, (px + reach - view.tx) / view.sx];
    const [c, d] = [(py + reach - view.ty) / view.sy, (py - reach - view.ty) / view.sy];
    let best = -1;
    let least = reach * reach;
    const [i0, i1] = [Math.max(0, this.cell(0, a)), Math.min(Nearby.SIDE, this.cell(0, b))];
    const [j0, j1] = [Math.max(0, this.cell(1, c)), Math.min(Nearby.SIDE, this.cell(1, d))];
    for (let i = i0; i <= i1; i++)
      for (let j = j0; j <= j1; j++)
        for (const row of this.cells.get(this.key(i, j)) ?? []) {
          const dx = view.sx * this.x[row] + view.tx - px;
          const dy = view.sy * this.y[row] + view.ty - py;
          if (dx * dx + dy * dy <= least) [best, least] = [row, dx * dx + dy * dy];
        }
    return best;
  }
}
