// Which part of the data a scatter shows, and how that part moves.
import { type Box } from "./labels";
import { type Points } from "./planes";
import { type View } from "./points";
import { pixel, type Place } from "./reach";
import { frame, holds, most, tall, view, whole, type Span } from "./scene";

/** Whether numbers can tell the places of a range apart: nobody zooms in, or out, beyond. */
function told([low, high]: Place): boolean {
  return high - low > 1e-11 * Math.max(Math.abs(low), Math.abs(high)) && high - low < 1e200;
}

export class Viewport {
  /** Pixels across; none before the page is laid out. */
  width = 0;
  /** How high the plot is, as part of its usual height. */
  stature = 1;
  private span: Span;
  private all: Span;

  constructor(
    private points: Points,
    private moved: () => void,
  ) {
    this.span = this.all = whole(points);
  }

  /** Pixels up: as many as all rows need, so that it stays as it is while part of them is looked at. */
  get height(): number {
    return tall(this.points, this.all, this.width, this.stature);
  }

  /** What most rows fill, where a few that lie far off leave them no room. */
  get crowd(): Span | null {
    return most(this.points);
  }

  /** How much of the plane of all rows is in view, 1 at most: as much of them, about. */
  get share(): number {
    const long = ([low, high]: Place): number => high - low;
    const part = (axis: "x" | "y"): number => long(this.span[axis]) / long(this.all[axis]);
    return Math.min(1, part("x") * part("y"));
  }

  where(): { v: View; box: Box } {
    const { points, span, width, height } = this;
    return { v: view(points, span, width, height), box: frame(points, span, width, height) };
  }

  get middle(): Place {
    const { box } = this.where();
    return [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2];
  }

  show(span: Span = this.all): void {
    this.span = span;
    this.moved();
  }

  zoom(factor: number, [px, py]: Place = this.middle): void {
    const { v } = this.where();
    const [x, y] = [(px - v.tx) / v.sx, (py - v.ty) / v.sy];
    const about = ([a, b]: Place, c: number): Place => [c + (a - c) * factor, c + (b - c) * factor];
    const next = { x: about(this.span.x, x), y: about(this.span.y, y) };
    if (told(next.x) && told(next.y)) this.show(next);
  }

  /** Moves by some pixels, at once or from where a drag began. */
  pan(dx: number, dy: number, from: Span = this.span): void {
    const { v } = this.where();
    const [x, y] = [-dx / v.sx, -dy / v.sy];
    this.show({ x: [from.x[0] + x, from.x[1] + x], y: [from.y[0] + y, from.y[1] + y] });
  }

  /** Where a drag begins. */
  get held(): Span {
    return this.span;
  }

  /** Moves if a row is outside. */
  follow(row: number): void {
    if (!this.width) return;
    const { v, box } = this.where();
    const [x, y] = pixel(this.points, v, row);
    if (Number.isNaN(x + y) || holds(box, { x, y })) return;
    this.pan(this.middle[0] - x, this.middle[1] - y);
  }
}
