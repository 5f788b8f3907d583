// Points, put down dot by dot: 200,000 of them take some hundredths of a second, with a graphics card or without one.
// Libraries that ask the card need a second for each picture where there is none, and compile code at run time, which a
// strict content policy forbids.

import { outside, trace } from "./palette";

/** Where data coordinates lie on the canvas: pixel = scale · value + shift, y downwards. */
export interface View {
  sx: number;
  tx: number;
  sy: number;
  ty: number;
  width: number;
  height: number;
}

/** How points are drawn: so wide, on a canvas of so many dots a pixel, and so many times as opaque as their tints are. */
export interface Look {
  size: number;
  ratio: number;
  stronger: number;
}

/** What points look like: (4 n,) red, green, blue and opacity; their shapes, where they are not all circles; and 1 for
 * those that are drawn as outlines. */
export interface Inks {
  tints: Float32Array;
  shapes: Uint8Array | null;
  hollow: Uint8Array | null;
}

/** The places of one chart's points. */
export interface Cloud {
  paint(target: CanvasRenderingContext2D, inks: Inks, view: View, look: Look): void;
}

/** Up to so many points a plain canvas is as quick, and its circles are the rounder. */
const FEW = 3_000;

export function cloud(x: Float64Array, y: Float64Array): Cloud {
  return x.length > FEW ? new Stamped(x, y) : new Flat(x, y);
}

/** A darker rim keeps light colours visible on white paper; points smaller than this would be all rim. */
const RIMMED = 8;

/** Opacity from which a point is a selected one: those are drawn last, and larger. */
const CHOSEN = 0.9;

/** Dots of a stamp from this size on are darker at their rim, and have shapes: smaller ones are circles. */
const DARKENED = 5;

/** Up to so many selected points are drawn this large at least, so that they are found among all others. */
const [SINGLE, FOUND] = [2_000, 7];

/** A point lies on one of so many parts of a pixel, across and up: there is a stamp for each. */
const PARTS = 4;

/** A dot of so many pixels across and up: where those that it covers are on a sheet, from its upper left corner; how much
 * of each it covers; and how light it is there: darker at its rim. */
interface Stamp {
  side: number;
  at: Int32Array;
  cover: Float32Array;
  light: Float32Array;
}

function stamps(size: number, shape: number, hollow: boolean, width: number): Stamp[] {
  return Array.from({ length: PARTS * PARTS }, (_, k) => stamp(size, shape, hollow, (k % PARTS) / PARTS, Math.floor(k / PARTS) / PARTS, width));
}

function stamp(size: number, shape: number, hollow: boolean, across: number, down: number, width: number): Stamp {
  const side = Math.ceil(1.25 * size) + 1;
  const middle = [across, down].map((part) => part + 0.5 / PARTS + 0.625 * size);
  const far = Float32Array.from({ length: side * side }, (_, k) =>
    outside(shape, (k % side) + 0.5 - middle[0], Math.floor(k / side) + 0.5 - middle[1], size / 2));
  const solid = (r: number): number => Math.max(0, Math.min(1, 0.5 - r));
  const cover = far.map((r) => solid(r) - (hollow ? solid(r + Math.max(1, 0.22 * size)) : 0));
  const light = far.map((r) => (size < DARKENED ? 1 : 1 - 0.25 * Math.max(0, Math.min(1, (r / size + 0.22) / 0.14))));
  const covered = Int32Array.from(cover.keys()).filter((k) => cover[k] !== 0);
  const at = covered.map((k) => 4 * (Math.floor(k / side) * width + (k % side)));
  return { side, at, cover: Float32Array.from(covered, (k) => cover[k]), light: Float32Array.from(covered, (k) => light[k]) };
}

/** Stamps of one size for every shape, for a sheet so wide, made when they are first needed. */
function drawer(size: number, width: number): (shape: number, hollow: boolean) => Stamp[] {
  const made = new Map<number, Stamp[]>();
  return (shape, hollow) => {
    const at = 2 * (size < DARKENED ? 0 : shape) + Number(hollow);
    let found = made.get(at);
    if (!found) made.set(at, (found = stamps(size, at >> 1, hollow, width)));
    return found;
  };
}

/** The sheet that the points of a chart are put down on, and the canvas that it becomes: one for all charts. */
class Sheet {
  private static only: Sheet | undefined;
  /** Red, green and blue times the opacity, and the opacity. */
  private dots = new Float32Array(0);
  private canvas = document.createElement("canvas");
  private image: ImageData | undefined;
  width = 0;
  private height = 0;

  static clean(width: number, height: number): Sheet {
    const sheet = (Sheet.only ??= new Sheet());
    if (sheet.dots.length < 4 * width * height) sheet.dots = new Float32Array(4 * width * height);
    else sheet.dots.fill(0, 0, 4 * width * height);
    [sheet.width, sheet.height] = [width, height];
    return sheet;
  }

  /** A dot whose upper left corner is at (left, top); red, green, blue and opacity are at `at` of the tints. Nothing is
   * taken apart into lists here: it runs for each of all points. */
  put(all: Stamp[], left: number, top: number, tints: Float32Array, at: number, stronger: number): void {
    const { dots, width, height } = this;
    const i0 = Math.floor(left);
    const j0 = Math.floor(top);
    const { side, at: spots, cover, light } = all[Math.floor((top - j0) * PARTS) * PARTS + Math.floor((left - i0) * PARTS)];
    if (i0 < 0 || j0 < 0 || i0 + side > width || j0 + side > height) return;
    const r = tints[at];
    const g = tints[at + 1];
    const b = tints[at + 2];
    const opacity = tints[at + 3] * stronger;
    const corner = 4 * (j0 * width + i0);
    for (let k = 0; k < spots.length; k++) {
      const to = corner + spots[k];
      const a = cover[k] * opacity;
      const c = a * light[k];
      dots[to] = r * c + (1 - a) * dots[to];
      dots[to + 1] = g * c + (1 - a) * dots[to + 1];
      dots[to + 2] = b * c + (1 - a) * dots[to + 2];
      dots[to + 3] = a + (1 - a) * dots[to + 3];
    }
  }

  copy(target: CanvasRenderingContext2D): void {
    const { canvas, dots, width, height } = this;
    if (canvas.width < width) canvas.width = width;
    if (canvas.height < height) canvas.height = height;
    // Megabytes that each frame would throw away are kept for the next.
    if (this.image?.width !== width || this.image.height !== height) this.image = new ImageData(width, height);
    const { image } = this;
    const { data } = image;
    const whole = new Uint32Array(data.buffer);
    for (let at = 0; at < data.length; at += 4) {
      const a = dots[at + 3];
      if (a === 0) {
        whole[at >> 2] = 0;
        continue;
      }
      data[at] = (255 * dots[at]) / a;
      data[at + 1] = (255 * dots[at + 1]) / a;
      data[at + 2] = (255 * dots[at + 2]) / a;
      data[at + 3] = 255 * a;
    }
    canvas.getContext("2d", { willReadFrequently: true })!.putImageData(image, 0, 0);
    target.drawImage(canvas, 0, 0, width, height, 0, 0, width, height);
  }
}

class Stamped implements Cloud {
  constructor(
    private x: Float64Array,
    private y: Float64Array,
  ) {}

  paint(target: CanvasRenderingContext2D, inks: Inks, view: View, look: Look): void {
    const { size, ratio } = look;
    const sheet = Sheet.clean(Math.round(view.width * ratio), Math.round(view.height * ratio));
    this.put(sheet, inks, view, { ...look, size: size * ratio }, false);
    const count = this.chosen(inks.tints);
    const large = count > SINGLE ? 1.35 * size : Math.max(FOUND, 1.35 * size);
    if (count) this.put(sheet, inks, view, { ratio, stronger: 1, size: large * ratio }, true);
    sheet.copy(target);
  }

  /** How many points are selected. */
  private chosen(tints: Float32Array): number {
    let count = 0;
    for (let at = 3; at < tints.length; at += 4) if (tints[at] > CHOSEN) count++;
    return count;
  }

  private put(sheet: Sheet, inks: Inks, { sx, tx, sy, ty }: View, { size, ratio, stronger }: Look, chosen: boolean): void {
    const { tints, shapes, hollow } = inks;
    const stamp = drawer(size, sheet.width);
    const back = 0.625 * size;
    let all = stamp(0, false);
    let last = 0;
    for (let i = 0; i < this.x.length; i++) {
      if (tints[4 * i + 3] > CHOSEN !== chosen) continue;
      const left = (sx * this.x[i] + tx) * ratio - back;
      const top = (sy * this.y[i] + ty) * ratio - back;
      if (!Number.isFinite(left + top)) continue;
      const kind = 2 * (shapes ? shapes[i] : 0) + (hollow ? hollow[i] : 0);
      if (kind !== last) all = stamp(kind >> 1, (last = kind) % 2 === 1);
      sheet.put(all, left, top, tints, 4 * i, stronger);
    }
  }
}

class Flat implements Cloud {
  constructor(
    private x: Float64Array,
    private y: Float64Array,
  ) {}

  paint(target: CanvasRenderingContext2D, { tints, shapes, hollow }: Inks, view: View, { size, ratio }: Look): void {
    for (const chosen of [false, true])
      for (let i = 0; i < this.x.length; i++) {
        const [r, g, b, a] = tints.subarray(4 * i, 4 * i + 4);
        if (a > CHOSEN !== chosen || !Number.isFinite(this.x[i] + this.y[i])) continue;
        const [px, py] = [view.sx * this.x[i] + view.tx, view.sy * this.y[i] + view.ty];
        trace(target, shapes?.[i] ?? 0, px * ratio, py * ratio, ((chosen ? 0.675 : 0.5) * size - 0.5) * ratio);
        const empty = hollow?.[i] === 1;
        target.lineWidth = (empty ? 1.8 : 1) * ratio;
        target.fillStyle = `rgba(${255 * r}, ${255 * g}, ${255 * b}, ${a})`;
        target.strokeStyle = empty ? target.fillStyle : `rgba(${175 * r}, ${175 * g}, ${175 * b}, ${a})`;
        if (!empty) target.fill();
        if (empty || size >= RIMMED) target.stroke();
      }
  }
}

/** The least and the largest of all finite values: NaN is neither. A plain loop, as it runs over all points of each plot. */
export function extent(values: Float64Array): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v < low && v > -Infinity) low = v;
    if (v > high && v < Infinity) high = v;
  }
  return low <= high ? [low, high] : [0, 1];
}
