// What goes on which sheet of paper, and how high the plots are that share one, so that no sheet but the last is left half
// blank. Sheets are as high as Letter and as wide as A4, whichever it will be: nothing is cut on either.
import { paper } from "./theme";

/** Pixels between the margins from top to bottom, at the zoom of printed pages, less some for lines that break otherwise. */
const SHEET = (279.4 - 24) * (96 / 25.4) / 0.86 - 24;

/** Heights of plots that are tried, as parts of their height on the screen: the least, the usual and the largest. */
const STATURES = [0.58, 1, 1.4];

/** A table or a text that goes on over several sheets begins where there is at least so much room. */
const START = 160;

/** What is printed after what is before it: its nodes, the first of which begins a sheet if it must; the room that it takes
 * at each stature; whether it may go on on the next sheet, and how much more room it takes there: that of the heading of
 * a table, which is repeated, and of the line that did not fit on the sheet before. */
export interface Block {
  nodes: HTMLElement[];
  rooms: number[];
  parts: boolean;
  again: number;
}

/** How much of a sheet's look is lost: by blank paper at its foot, and by plots that are higher or lower than usual. */
function loss(blank: number, stature: number): number {
  return 5 * (blank / SHEET) ** 2 + Math.log(stature) ** 2 + 0.02;
}

/** A decision: so many blocks from one on share the rest of a sheet, and whether the next begins another. */
export interface Step {
  from: number;
  count: number;
  stature: number;
  ends: boolean;
}

interface Plan {
  loss: number;
  steps: Step[];
}

const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);

/** The room of blocks at some stature, between those that were measured. */
function room(blocks: Block[], stature: number): number {
  const k = stature < STATURES[1] ? 0 : 1;
  const part = (stature - STATURES[k]) / (STATURES[k + 1] - STATURES[k]);
  return sum(blocks.map(({ rooms }) => rooms[k] + part * (rooms[k + 1] - rooms[k])));
}

/** The largest stature with which blocks fit: as they grow with it, halving finds it. Words alone stay as they are. */
function fitting(blocks: Block[], free: number, most: number): number {
  let [low, high] = [STATURES[0], most];
  if (room(blocks, low) === room(blocks, high)) return 1;
  if (room(blocks, high) <= free) return high;
  for (let k = 0; k < 12; k++) {
    const middle = (low + high) / 2;
    if (room(blocks, middle) <= free) low = middle;
    else high = middle;
  }
  return low;
}

/** Where on a sheet a block ends that begins somewhere on one. */
function ended({ rooms, again }: Block, start: number): number {
  const end = start + rooms[1];
  return (end + Math.floor(end / SHEET) * again) % SHEET;
}

/** The sheets with the least loss, if the first blocks begin so far down the first. */
export function planned(blocks: Block[], start = 0): Step[] {
  const known = new Map<string, Plan>();
  const best = (from: number, used: number): Plan => {
    if (from >= blocks.length) return { loss: 0, steps: [] };
    const key = `${from} ${Math.round(used)}`;
    if (!known.has(key)) known.set(key, choices(from, used).reduce((a, b) => (b.loss < a.loss ? b : a)));
    return known.get(key)!;
  };
  const then = (lost: number, step: Step, used: number): Plan => {
    const rest = best(step.from + step.count, step.ends ? 0 : used);
    return { loss: lost + rest.loss, steps: [step, ...rest.steps] };
  };
  const choices = (from: number, used: number): Plan[] => {
    const free = SHEET - used;
    const found = used > 0 ? [then(loss(free, 1), { from, count: 0, stature: 1, ends: true }, 0)] : [];
    const only = blocks[from];
    if ((only.parts && (free >= START || !used)) || (!used && only.rooms[0] > SHEET)) return [...found, then(0, { from, count: 1, stature: 1, ends: false }, ended(only, used))];
    for (let count = 1; from + count <= blocks.length && !blocks[from + count - 1].parts; count++) {
      const run = blocks.slice(from, from + count);
      if (room(run, STATURES[0]) > free) break;
      const next = blocks[from + count];
      const ends = next !== undefined && !next.parts;
      // What may go on over several sheets can begin on this one, if plots leave room for it.
      for (const within of next?.parts ? [free, free - START] : [free]) {
        if (room(run, STATURES[0]) > within) continue;
        const stature = fitting(run, within, ends ? STATURES[2] : 1);
        const left = free - room(run, stature);
        found.push(then(loss(ends ? left : 0, stature), { from, count, stature, ends }, SHEET - left));
      }
    }
    return found;
  };
  return best(0, start).steps;
}

/** What is printed, in order: each card with the headings above it. */
function blocksOf(page: HTMLElement): HTMLElement[][] {
  const found: HTMLElement[][] = [];
  let waiting: HTMLElement[] = [];
  for (const node of page.querySelectorAll<HTMLElement>("h2, .slot")) {
    waiting.push(node);
    if (!node.matches(".slot")) continue;
    found.push(waiting);
    waiting = [];
  }
  return found;
}

/** Lays a page out on sheets, after `size` gave what is drawn its size at several statures; then it is to be drawn. */
export function fillSheets(page: HTMLElement, size: () => void): void {
  const all = blocksOf(page);
  if (!all.length) return;
  const tops = STATURES.map((stature) => {
    page.style.setProperty("--stature", String(stature));
    size();
    const top = document.body.getBoundingClientRect().top;
    return [...all.map(([first]) => first.getBoundingClientRect().top - top), page.getBoundingClientRect().bottom - top];
  });
  page.style.removeProperty("--stature");
  const blocks = all.map((nodes, i): Block => ({
    nodes, rooms: tops.map((at) => at[i + 1] - at[i]), parts: getComputedStyle(nodes.at(-1)!.firstElementChild!).breakInside === "auto",
    again: sum([...nodes.at(-1)!.querySelectorAll("thead, tbody tr:last-child")].map((each) => each.getBoundingClientRect().height)),
  }));
  let begins = false;
  for (const { from, count, stature, ends } of planned(blocks, tops[1][0])) {
    if (begins && count) blocks[from].nodes[0].classList.add("new-sheet");
    for (const { nodes } of blocks.slice(from, from + count)) nodes.at(-1)!.style.setProperty("--stature", String(stature));
    begins = ends;
  }
}

/** Undoes it. */
export function leaveSheets(page: HTMLElement): void {
  for (const node of page.querySelectorAll(".new-sheet")) node.classList.remove("new-sheet");
  for (const node of page.querySelectorAll<HTMLElement>(".slot")) node.style.removeProperty("--stature");
}

/** How high plots are drawn at a node on paper, as part of their height on the screen, where nobody need ask the browser. */
export function stature(node: Element): number {
  return paper() ? Number(getComputedStyle(node).getPropertyValue("--stature")) || 1 : 1;
}
