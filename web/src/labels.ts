// Names beside points and arrows: placed where they are free, moved aside or left out where they are not.
import { brief, svg } from "./dom";

export interface Wanted {
  text: string;
  x: number;
  y: number;
  /** Sides to try, the best first; and those that are tried rather than that the name is left out. */
  sides: Side[];
  last?: Side[];
  /** What it may lie on: nothing, points but no other names, or anything rather than be left out. */
  on: "nothing" | "points" | "anything";
  /** Whether it may be far from its point, though it lies on nothing. */
  far?: boolean;
  strong?: boolean;
  class?: string;
}

export interface Box {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

type Side = keyof typeof SIDES;

const HEIGHT = 14;

/** Pixels between two names in one line. */
const APART = 5;

/** Pixels from a point to its name; farther ones have a line to it, and the farthest are for names that are to be shown
 * even where it is crowded. */
const GAPS = [7, 20, 36];
const USUAL = GAPS.slice(0, 2);

/** A name that covers so many points less is better farther from its own; where it covers so many, more do not matter. */
const [FARTHER, HIDDEN] = [3, 12];

/** Where a name lies from its point: to the right or left, and below or above. */
const SIDES = {
  right: [1, 0], left: [-1, 0], above: [0, -1], below: [0, 1],
  "above right": [0.7, -0.7], "below right": [0.7, 0.7], "above left": [-0.7, -0.7], "below left": [-0.7, 0.7],
} satisfies Record<string, [number, number]>;

/** All sides, those of a start first. */
export function around(...first: Side[]): Side[] {
  return [...new Set([...first, ...(Object.keys(SIDES) as Side[])])];
}

/** Sides on which a name goes on in a direction, the best first. */
export function onward(across: number, down: number): Side[] {
  const along = (side: Side): number => (SIDES[side][0] * across + SIDES[side][1] * down) / (Math.hypot(across, down) || 1);
  return around().filter((side) => along(side) > -0.01).sort((a, b) => along(b) - along(a));
}

function boxAt({ x, y, strong }: Wanted, text: string, side: Side, gap: number): Box {
  const width = measured(text, strong ?? false);
  const [u, w] = SIDES[side];
  const x0 = x + gap * u - (width / 2) * (1 - Math.sign(u));
  const y0 = y + gap * w - (HEIGHT / 2) * (1 - Math.sign(w));
  return { x0, x1: x0 + width, y0, y1: y0 + HEIGHT };
}

/** Pixels of a cell of points, and of names. */
const [FINE, COARSE] = [4, 64];

export interface Line {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

/** Places along a line, close enough that no cell between them is left out. */
function along({ x1, y1, x2, y2 }: Line): [number, number][] {
  const steps = Math.max(1, Math.ceil(Math.hypot(x2 - x1, y2 - y1) / FINE));
  return Array.from({ length: steps + 1 }, (_, k) => [x1 + ((x2 - x1) * k) / steps, y1 + ((y2 - y1) * k) / steps]);
}

/** What lies where in a picture: points and lines, which names had better not cover, and other names, which they must not. */
export class Floor {
  /** Points that were put down. */
  count = 0;
  private across: number;
  private dots: Uint16Array;
  private names = new Map<number, Box[]>();

  constructor(width: number, height: number) {
    this.across = Math.ceil(width / FINE) + 1;
    this.dots = new Uint16Array(this.across * (Math.ceil(height / FINE) + 1));
  }

  dot(x: number, y: number): void {
    this.count++;
    this.dots[Math.floor(y / FINE) * this.across + Math.floor(x / FINE)]++;
  }

  line(line: Line): void {
    for (const [x, y] of along(line)) {
      const at = Math.floor(y / FINE) * this.across + Math.floor(x / FINE);
      if (at >= 0 && at < this.dots.length) this.dots[at]++;
    }
  }

  /** Whether a line runs through a name. */
  crosses(line: Line): boolean {
    return along(line).some(([x, y]) => !this.free({ x0: x, x1: x, y0: y, y1: y }));
  }

  take(box: Box): void {
    for (const key of this.cells(box)) (this.names.get(key) ?? this.names.set(key, []).get(key)!).push(box);
  }

  free(box: Box): boolean {
    return this.cells(box).every((key) => !this.names.get(key)?.some((other) => overlap(box, other)));
  }

  covered({ x0, x1, y0, y1 }: Box): number {
    let sum = 0;
    for (let j = Math.floor(y0 / FINE); j <= Math.floor(y1 / FINE); j++)
      for (let i = Math.floor(x0 / FINE); i <= Math.floor(x1 / FINE); i++) sum += this.dots[j * this.across + i] ?? 0;
    return sum;
  }

  private cells({ x0, x1, y0, y1 }: Box): number[] {
    const found = [];
    for (let j = Math.floor(y0 / COARSE); j <= Math.floor(y1 / COARSE); j++)
      for (let i = Math.floor(x0 / COARSE); i <= Math.floor(x1 / COARSE); i++) found.push(1000 * j + i);
    return found;
  }
}

/** Where hardly any name finds a free place, so many are shown, over points if need be. */
const SOME = 6;

/** Texts of the names that find a place inside the frame; those that come first are served first. */
export function placed(wanted: Wanted[], frame: Box, floor: Floor): SVGElement[] {
  let free = 0;
  const crowded: Wanted[] = [];
  const drawn = wanted.flatMap((each) => {
    const found = put(each, frame, floor);
    if (each.on === "nothing" && found.length) free++;
    if (each.on === "nothing" && !found.length) crowded.push(each);
    return found;
  });
  for (const each of crowded) {
    if (free >= SOME) break;
    const found = put({ ...each, on: "points" }, frame, floor);
    if (found.length) free++;
    drawn.push(...found);
  }
  return drawn;
}

/** Letters of a name in a picture: the most in a narrow and in a wide one, pixels of the picture for each, and the most
 * where a longer name would lie on something. */
const LETTERS = { fewest: 20, most: 32, wide: 16, crowded: 16 };

/** A name where there is room for it, with a line to its point if that is farther off: shortened where it is long, and
 * more so rather than that it lies on points. */
function put(each: Wanted, frame: Box, floor: Floor): SVGElement[] {
  const most = Math.round(Math.max(LETTERS.fewest, Math.min(LETTERS.most, (frame.x1 - frame.x0) / LETTERS.wide)));
  const texts = [...new Set([most, LETTERS.crowded].map((letters) => brief(each.text, letters)))];
  const gaps = each.far || each.on === "points" ? GAPS : USUAL;
  const free = texts.map((text) => place({ ...each, on: "nothing" }, text, frame, floor, gaps)).find(Boolean);
  const found = free ?? place(each, texts.at(-1)!, frame, floor, gaps) ?? (each.last ? place({ ...each, sides: each.last }, texts.at(-1)!, frame, floor, gaps) : null);
  if (!found) return [];
  const { x0, x1, y1 } = found.box;
  floor.take({ ...found.box, x0: x0 - APART, x1: x1 + APART });
  const words = svg("text", { class: `name ${each.class ?? ""} ${each.strong ? "strong" : ""}`.trim(), x: x0, y: y1 - 3 }, found.text);
  if (found.gap === GAPS[0]) return [words];
  const leader = leaderTo(found.box, each);
  floor.line(leader);
  return [svg("line", { class: "leader", ...leader }), words];
}

/** The line from a point to the nearest place of its name. */
function leaderTo({ x0, x1, y0, y1 }: Box, { x, y }: Wanted): Line {
  return { x1: x, y1: y, x2: Math.max(x0, Math.min(x1, x)), y2: Math.max(y0, Math.min(y1, y)) };
}

interface Found {
  text: string;
  box: Box;
  gap: number;
}

/** The first place where a name covers nothing, else the one where it covers least, if it may. */
function place(each: Wanted, text: string, frame: Box, floor: Floor, gaps: number[]): Found | null {
  let [best, least]: [Found | null, number] = [null, Infinity];
  for (const gap of gaps)
    for (const side of each.sides) {
      const box = boxAt(each, text, side, gap);
      if (!within(box, frame) || !floor.free(box) || (gap > GAPS[0] && floor.crosses(leaderTo(box, each)))) continue;
      const covered = floor.covered(box);
      if (!covered) return { text, box, gap };
      const lost = Math.min(covered, HIDDEN) + FARTHER * GAPS.indexOf(gap);
      if (lost < least && (each.on === "points" || gap === GAPS[0])) [best, least] = [{ text, box, gap }, lost];
    }
  if (each.on === "nothing") return null;
  return best ?? (each.on === "anything" ? anyway(each, text, frame) : null);
}

/** Beside a point that is in view, on whatever is there, but inside the frame. */
function anyway(each: Wanted, text: string, frame: Box): Found | null {
  if (each.x < frame.x0 || each.x > frame.x1 || each.y < frame.y0 || each.y > frame.y1) return null;
  const box = boxAt(each, text, each.sides[0], GAPS[0]);
  const by = Math.max(frame.x0 - box.x0, Math.min(0, frame.x1 - box.x1));
  return { text, box: { ...box, x0: box.x0 + by, x1: box.x1 + by }, gap: GAPS[0] };
}

function within(box: Box, frame: Box): boolean {
  return box.x0 >= frame.x0 && box.x1 <= frame.x1 && box.y0 >= frame.y0 && box.y1 <= frame.y1;
}

function overlap(a: Box, b: Box): boolean {
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

let ruler: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();

/** The width of a text in pixels. */
export function measured(text: string, strong = false): number {
  const key = `${Number(strong)}${text}`;
  let found = widths.get(key);
  if (found === undefined) {
    ruler ??= document.createElement("canvas").getContext("2d")!;
    ruler.font = `${strong ? "600 " : ""}12px system-ui, sans-serif`;
    widths.set(key, (found = ruler.measureText(text).width));
  }
  return found;
}

/** What lines from names to what they name are called in a drawn chart; they come in the order of the names. */
export const LEADER = "leader";

/** How far the baseline of a text is below its upper edge, in pixels, and the size of its letters. */
const [ASCENT, LETTERS_SIZE] = [11.1, 12];

/** Where a text of a drawn chart lies, in pixels of its picture, by what is written in it: to ask the browser would have it
 * lay out the whole page, for each chart anew. */
function boxOf(text: SVGElement): Box {
  const turned = /rotate\(([-\d.]+)\)/.exec(text.getAttribute("transform") ?? "");
  const [cos, sin] = turned ? [Math.cos((Number(turned[1]) * Math.PI) / 180), Math.sin((Number(turned[1]) * Math.PI) / 180)] : [1, 0];
  const width = Math.max(...(text.children.length ? [...text.children] : [text]).map((line) => measured(line.textContent ?? "")));
  const [x, y] = [text, text.parentElement!].map(moved).reduce(([a, b], [c, d]) => [a + c, b + d]);
  const anchor = text.getAttribute("text-anchor") ?? text.parentElement!.getAttribute("text-anchor") ?? "middle";
  const from = anchor === "end" ? -width : anchor === "start" ? 0 : -width / 2;
  const top = y + LETTERS_SIZE * Number.parseFloat(text.getAttribute("y") ?? "0") - ASCENT;
  const [u, v] = [from, from + width].map((along) => x + cos * along).sort((p, q) => p - q);
  return { x0: u, x1: v, y0: top + Math.min(0, sin * (from + width), sin * from), y1: top + HEIGHT + Math.max(0, sin * (from + width), sin * from) };
}

/** By how much a part of a picture is moved. */
function moved(node: Element): [number, number] {
  const found = /translate\(([-\d.e]+)(?:[ ,]+([-\d.e]+))?\)/.exec(node.getAttribute("transform") ?? "");
  return found ? [Number(found[1]), Number(found[2] ?? 0)] : [0, 0];
}

/** How far the names along the axes of a drawn chart reach out of it at the left. */
export function beyond(chart: Element): number {
  const names = [...chart.querySelectorAll<SVGElement>("[aria-label*=axis] text")];
  return Math.ceil(names.reduce((most, each) => Math.max(most, -boxOf(each).x0), 0));
}

/** Leaves out names of a drawn chart that would lie on others, with the lines to them, those that come first stay; and
 * shortens those that would reach out of the pixels that it has across. */
export function apart(chart: Element, width: number): void {
  if (chart.querySelector("[aria-label=cell]")) return onCells(chart);
  const taken: Box[] = [];
  const leaders = [...chart.querySelectorAll<SVGElement>(`[aria-description=${LEADER}] path`)];
  chart.querySelectorAll<SVGElement>("[aria-label=text] text").forEach((text, i) => {
    const { x0, x1, y0, y1 } = shorten(text, width);
    const box = { x0, x1, y0: y0 + 2, y1: y1 - 2 };
    if (!taken.some((other) => overlap(box, other))) return void taken.push(box);
    text.style.display = "none";
    if (leaders[i]) leaders[i].style.display = "none";
  });
}

/** The place of a name, once it is shortened where it has no room. */
function shorten(text: SVGElement, width: number): Box {
  const whole = text.textContent ?? "";
  let box = boxOf(text);
  for (let kept = whole.length - 1; kept > 2 && (box.x1 > width || box.x0 < 0); kept--) {
    text.textContent = brief(whole, kept);
    box = boxOf(text);
  }
  return box;
}

/** Sizes of numbers on cells that are tried, in pixels. */
const SIZES = [12, 11];

/** Numbers on cells stand there if all of them fit, small if need be: else the tips and the table have them. */
function onCells(chart: Element): void {
  const room = Math.min(...[...chart.querySelectorAll("[aria-label=cell] rect")].map((cell) => Number(cell.getAttribute("width"))));
  const texts = [...chart.querySelectorAll<SVGElement>("[aria-label=text] text")];
  const widest = Math.max(...texts.map((text) => measured(text.textContent ?? "")));
  const size = SIZES.find((each) => (widest * each) / SIZES[0] <= room);
  for (const text of texts) size ? (text.style.fontSize = `${size}px`) : (text.style.display = "none");
}
