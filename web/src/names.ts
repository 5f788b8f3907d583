// Which rows are named beside their points: those looked at and selected, then as many as there is room for, those that
// matter most first. Zooming in leaves fewer points in view and more room, so that more are named.
import { svg } from "./dom";
import { thumbnailAddress } from "./images";
import { around, type Box, type Floor, type Wanted } from "./labels";
import { priorities, type Points, type Worth } from "./planes";
import { type View } from "./points";
import { holds, type Wishes } from "./scene";
import { type State } from "./state";

export type Naming = "none" | "auto" | "all" | "images";

/** The most rows that are tried for a name, the most that are named though they lie on each other, and the most selected
 * ones that are. */
const [TRIED, ALL, CHOSEN] = [600, 1_000, 200];

/** Up to so many rows in view, names may be far from their points rather than be left out. */
const FEW = 60;

const orders = { contribution: new WeakMap<Points, Uint32Array>(), cos2: new WeakMap<Points, Uint32Array>() };

/** The rows of a plane, those that matter most first. */
function order(points: Points, by: Worth): Uint32Array {
  let found = orders[by].get(points);
  if (!found) {
    const worth = priorities(points, by).map((v) => (Number.isNaN(v) ? -Infinity : v));
    found = Uint32Array.from(worth.keys()).sort((a, b) => worth[b] - worth[a]);
    orders[by].set(points, found);
  }
  return found;
}

/** The row that is looked at, and those selected if they are few. */
export function chosen(points: Points, v: View, box: Box, state: State): Wanted[] {
  const { focused, selected } = state;
  const few = selected.size <= CHOSEN ? [...selected].filter((i) => i !== focused) : [];
  return [...wanted(points, v, box, state, focused, "anything", true), ...few.flatMap((i) => wanted(points, v, box, state, i, "points"))];
}

/** All others that may be named. */
export function others(points: Points, v: View, box: Box, state: State, { naming, worth }: Wishes, floor: Floor): Wanted[] {
  if (naming === "none" || naming === "images" || (naming === "auto" && !state.rows.ids)) return [];
  const most = naming === "all" ? ALL : TRIED;
  const on = naming === "all" ? "anything" : "nothing";
  const far = floor.count <= FEW;
  const known = state.selected.size <= CHOSEN ? state.selected : new Set<number>();
  const found: Wanted[] = [];
  for (const i of order(points, worth)) {
    if (found.length >= most) break;
    if (i !== state.focused && !known.has(i)) found.push(...wanted(points, v, box, state, i, on).map((each) => ({ ...each, far })));
  }
  return found;
}

/** Half the side of a picture beside its point, in pixels, and the most of them. */
const [HALF, PICTURES] = [14, 250];

/** Rows that are images, at their points where these do not lie on each other: those that matter most first. */
export function pictures(points: Points, v: View, box: Box, state: State, { naming, worth }: Wishes, floor: Floor): SVGElement[] {
  if (naming !== "images" || !state.rows.images) return [];
  const found: SVGElement[] = [];
  for (const i of order(points, worth)) {
    if (found.length >= PICTURES) break;
    const at = { x: v.sx * points.x[i] + v.tx, y: v.sy * points.y[i] + v.ty };
    const place = { x0: at.x - HALF, x1: at.x + HALF, y0: at.y - HALF, y1: at.y + HALF };
    if (!holds(box, at) || !floor.free(place)) continue;
    floor.take(place);
    found.push(svg("image", { class: "row-image", href: thumbnailAddress(state, i), x: place.x0, y: place.y0, width: 2 * HALF, height: 2 * HALF }));
  }
  return found;
}

function wanted({ x, y }: Points, v: View, box: Box, state: State, i: number, on: Wanted["on"], strong = false): Wanted[] {
  const at = { x: v.sx * x[i] + v.tx, y: v.sy * y[i] + v.ty };
  return holds(box, at) ? [{ text: state.ids[i], ...at, sides: around("right", "above", "below", "left"), on, strong }] : [];
}
