// Names beside points and arrows: placed where they are free, left out where they are not.
import { brief, svg } from "./dom";

export interface Wanted {
  text: string;
  x: number;
  y: number;
  /** Sides to try, the best first. */
  sides: Side[];
  strong?: boolean;
}

export interface Box {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

type Side = keyof typeof PLACES;

const HEIGHT = 14;
const GAP = 7;

/** The left edge and the middle of a label of some width, by the side of its point. */
const PLACES = {
  right: (w: Wanted) => [w.x + GAP, w.y],
  left: (w: Wanted, width: number) => [w.x - GAP - width, w.y],
  above: (w: Wanted, width: number) => [w.x - width / 2, w.y - GAP - HEIGHT / 2],
  below: (w: Wanted, width: number) => [w.x - width / 2, w.y + GAP + HEIGHT / 2],
} satisfies Record<string, (w: Wanted, width: number) => number[]>;

/** Texts of the labels that find a free place inside the frame; those that come first are served first. */
export function placed(wanted: Wanted[], frame: Box, kept: Box[] = []): SVGElement[] {
  const taken = [...kept];
  return wanted.flatMap((each) => {
    const text = brief(each.text);
    const width = measured(text, each.strong ?? false);
    for (const side of each.sides) {
      const [left, middle] = PLACES[side](each, width);
      const box = { x0: left, x1: left + width, y0: middle - HEIGHT / 2, y1: middle + HEIGHT / 2 };
      if (!within(box, frame) || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      return [svg("text", { class: each.strong ? "name strong" : "name", x: left, y: middle + 4 }, text)];
    }
    return [];
  });
}

function within(box: Box, frame: Box): boolean {
  return box.x0 >= frame.x0 && box.x1 <= frame.x1 && box.y0 >= frame.y0 && box.y1 <= frame.y1;
}

function overlap(a: Box, b: Box): boolean {
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

let ruler: CanvasRenderingContext2D | null = null;

/** The width of a text in pixels. */
export function measured(text: string, strong = false): number {
  ruler ??= document.createElement("canvas").getContext("2d")!;
  ruler.font = `${strong ? "600 " : ""}12px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

/** Leaves out names of a drawn chart that would lie on others, those that come first stay; and shortens those that would
 * reach out of the page at the right. */
export function apart(chart: Element, right: number): void {
  if (chart.querySelector("[aria-label=cell]")) return onCells(chart);
  const taken: Box[] = [];
  for (const text of chart.querySelectorAll<SVGElement>("[aria-label=text] text")) {
    shorten(text, right);
    const { left, right: end, top, bottom } = text.getBoundingClientRect();
    const box = { x0: left, x1: end, y0: top + 2, y1: bottom - 2 };
    if (taken.some((other) => overlap(box, other))) text.style.display = "none";
    else taken.push(box);
  }
}

function shorten(text: SVGElement, right: number): void {
  const whole = text.textContent ?? "";
  for (let kept = whole.length - 1; kept > 2 && text.getBoundingClientRect().right > right; kept--)
    text.textContent = `${whole.slice(0, kept).replace(/…$/, "")}…`;
}

/** Numbers on cells stand there if all of them fit: else the tips and the table have them. */
function onCells(chart: Element): void {
  const wide = [...chart.querySelectorAll("[aria-label=cell] rect")].map((cell) => cell.getBoundingClientRect().width);
  const texts = [...chart.querySelectorAll<SVGElement>("[aria-label=text] text")];
  const room = Math.min(...wide);
  if (texts.some((text) => text.getBoundingClientRect().width > room)) for (const text of texts) text.style.display = "none";
}
