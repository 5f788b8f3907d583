// Colours and shapes: of classes, of numbers, and of matrices.
import { dark } from "./theme";

export type Colour = [number, number, number];

/** Ten colours that stay apart for colour-blind eyes and have a contrast of at least 3 with the paper, light or dark
 * (tests/browser/test_palette.py measures both), and a grey for all classes that have none of their own. */
const CATEGORIES = {
  light: ["#0072b2", "#b48e09", "#840a12", "#006345", "#9e78ff", "#a2540e", "#339fab", "#120ae2", "#c48576", "#6d416a", "#7a7a7a"],
  dark: ["#2aa2f4", "#ffb21d", "#ff2403", "#f7f6fb", "#57ddac", "#c0249b", "#078f4e", "#1ee3ff", "#f7ffa5", "#095fff", "#7a7a7a"],
};

export function categories(): string[] {
  return dark() ? CATEGORIES.dark : CATEGORIES.light;
}

export const MANY = CATEGORIES.light.length;

/** The colour of all categories that have none of their own. */
export const OTHERS = CATEGORIES.light[MANY - 1];

// ---- shapes -----------------------------------------------------------------------------------------------

type Corner = [number, number];

/** A cross whose arms are so thick, turned by so many eighths of a circle. */
function cross(thick: number, turned: number): Corner[] {
  const [c, s] = [Math.cos((turned * Math.PI) / 4), Math.sin((turned * Math.PI) / 4)];
  const arm: Corner[] = [[thick, -thick], [thick, -1], [-thick, -1]];
  const corners = [0, 1, 2, 3].flatMap((k) => arm.map(([x, y]): Corner => [[x, y], [y, -x], [-x, -y], [-y, x]][k] as Corner));
  return corners.map(([x, y]): Corner => [1.05 * (c * x - s * y), 1.05 * (s * x + c * y)]);
}

/** Shapes that go round with the colours, by their corners where a circle has the radius 1 (y downwards); a circle has none. */
export const SHAPES: Corner[][] = [
  [],
  [[-0.86, -0.86], [0.86, -0.86], [0.86, 0.86], [-0.86, 0.86]],
  [[0, -1.25], [1.08, 0.7], [-1.08, 0.7]],
  [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
  [[0, 1.25], [1.08, -0.7], [-1.08, -0.7]],
  cross(0.4, 0),
  cross(0.4, 1),
];

/** The shape of the category at some place; those that share a colour are circles. */
export function shapeOf(place: number): number {
  return place === MANY - 1 ? 0 : place % SHAPES.length;
}

/** The outline of a shape about a place, as the path of an SVG. */
export function path(shape: number, x: number, y: number, r: number): string {
  const corners = SHAPES[shape];
  if (!corners.length) return `M${x - r} ${y} a${r} ${r} 0 1 0 ${2 * r} 0 a${r} ${r} 0 1 0 ${-2 * r} 0 Z`;
  return `M${corners.map(([u, w]) => `${x + r * u} ${y + r * w}`).join(" L")} Z`;
}

/** The same on a canvas. */
export function trace(context: CanvasRenderingContext2D, shape: number, x: number, y: number, r: number): void {
  context.beginPath();
  if (shape === 0) context.arc(x, y, r, 0, 7);
  else for (const [u, w] of SHAPES[shape]) context.lineTo(x + r * u, y + r * w);
  context.closePath();
}

/** How far a place is outside a shape of radius r about the origin; less than 0 inside. */
export function outside(shape: number, x: number, y: number, r: number): number {
  if (shape === 0) return Math.hypot(x, y) - r;
  let [least, odd] = [Infinity, false];
  const corners = SHAPES[shape];
  corners.forEach(([ax, ay], i) => {
    const [bx, by] = corners[(i + 1) % corners.length];
    const [ux, uy, wx, wy] = [r * (bx - ax), r * (by - ay), x - r * ax, y - r * ay];
    const along = Math.max(0, Math.min(1, (ux * wx + uy * wy) / (ux * ux + uy * uy)));
    least = Math.min(least, Math.hypot(wx - along * ux, wy - along * uy));
    if (r * ay > y !== r * by > y && x < (ux * (y - r * ay)) / uy + r * ax) odd = !odd;
  });
  return odd ? -least : least;
}

// ---- scales -----------------------------------------------------------------------------------------------

/** Stops of a sequential scale whose lightness rises evenly, and which stays clear of both white and black paper. */
const SEQUENCE = ["#5b3794", "#3d6db0", "#1f968b", "#4dbb6d", "#c2cf30"];

/** Other scales of points, which must be seen wherever they are on them: about a middle, and of one hue. */
const DIVERGING = ["#1a5fb4", "#5f8cb5", "#8c8c8c", "#c08a4e", "#d0660a"];
const SINGLE = { light: ["#7fa9cc", "#3f75a8", "#0b2f5c"], dark: ["#3a6a96", "#7fb0da", "#e3f1ff"] };

export type Gradient = "even" | "diverging" | "single";

/** What the scales of numbers are called. */
export const GRADIENTS: [Gradient, string][] = [["even", "purple to yellow"], ["diverging", "blue to orange"], ["single", "one hue"]];

export function gradient(name: Gradient): string[] {
  return { even: SEQUENCE, diverging: DIVERGING, single: dark() ? SINGLE.dark : SINGLE.light }[name];
}

/** Scales of matrices, on light paper and on dark: what is nearest zero is nearest the paper, and what stands out is large. */
const AMOUNTS = {
  light: ["#f4f6f6", "#bfe0d4", "#6dbdb0", "#2f8a9c", "#2c5189", "#3a1f63"],
  dark: ["#262a30", "#2d4468", "#23738a", "#3aa988", "#a8d45a", "#fbf3a6"],
};
const SIGNED = {
  light: ["#4a2484", "#8878b8", "#cfcde6", "#f6f6f6", "#fcdcae", "#e8963a", "#a04d06"],
  dark: ["#c9b8ff", "#8a76d6", "#4a427a", "#262a30", "#6e4a1a", "#cf8526", "#ffcd7a"],
};

export function sequence(): string[] {
  return SEQUENCE;
}

export function amounts(): string[] {
  return dark() ? AMOUNTS.dark : AMOUNTS.light;
}

export function signed(): string[] {
  return dark() ? SIGNED.dark : SIGNED.light;
}

/** The colour at t in [0, 1] between stops. */
export function between(stops: string[], t: number): Colour {
  const at = Math.max(0, Math.min(1, t)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  const [a, b, u] = [rgb(stops[i]), rgb(stops[i + 1]), at - i];
  return [a[0] + (b[0] - a[0]) * u, a[1] + (b[1] - a[1]) * u, a[2] + (b[2] - a[2]) * u];
}

/** A colour of a scale at t in [0, 1]; grey for a missing value. */
export function along(stops: string[], t: number): Colour {
  return Number.isNaN(t) ? [0.6, 0.6, 0.6] : between(stops, t);
}

const read = new Map<string, Colour>();

export function rgb(hex: string): Colour {
  let found = read.get(hex);
  if (!found) read.set(hex, (found = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255) as Colour));
  return found;
}

export function css([r, g, b]: Colour): string {
  return `rgb(${Math.round(255 * r)} ${Math.round(255 * g)} ${Math.round(255 * b)})`;
}
