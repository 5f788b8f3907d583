// What can be asked of a scatter: its axes, a lasso, zooming, names, and groups.
import { brief, h } from "./dom";
import { type Naming } from "./names";
import { type Pair, type Worth } from "./planes";
import { type RowsAxis, type RowsChart } from "./report";
import { type Span, type Wishes } from "./scene";
import { type State } from "./state";

interface Asked {
  chart: RowsChart;
  state: State;
  wishes: Wishes;
  axes: RowsAxis[];
  pair: Pair;
  /** What most rows fill, where a few that lie far off leave them no room. */
  crowd: () => Span | null;
  turn: (pair: Pair) => void;
  lasso: (on: boolean) => void;
  zoom: (factor: number) => void;
  show: (span?: Span) => void;
  again: () => void;
}

let count = 0;

export function tools(asked: Asked): HTMLElement {
  const { chart, state, wishes, again } = asked;
  const button = (label: string, words: string, act: () => void) => h("button", { type: "button", title: words, "aria-label": words, onclick: act }, label);
  const crowd = button("Most rows", "Zoom to most rows: a few lie far off", () => asked.show(asked.crowd()!));
  const settle = (): void => void (crowd.hidden = !asked.crowd());
  settle();
  const group = (name: string, ...parts: HTMLElement[]) => h("div", { class: "tool", role: "group", "aria-label": `${name}: ${chart.title}` }, ...parts);
  const view = group("View", toggle("Lasso", "Draw around rows to select them (or drag with Shift; by keyboard: L at a point, arrow keys to the opposite corner, Enter)", asked.lasso),
    button("+", "Zoom in", () => asked.zoom(0.7)), button("−", "Zoom out", () => asked.zoom(1 / 0.7)), button("Reset", "Reset view", () => asked.show()), crowd);
  const axes = asked.axes.length > 2 ? [group("Axes", ...selectors(asked, settle))] : [];
  const naming = choice("Names", "Names of rows beside their points: automatic names those that matter most where there is room, more of them as you zoom in; all names up to 1,000 in view", state.rows.images ? [...NAMINGS, ["images", "as images"]] : NAMINGS, wishes.naming, (value) => {
    wishes.naming = value;
    again();
  });
  const first = chart.lengths ? choice("by", "Which rows are named first: those that make up most of the two axes (contribution), or those that they show best (cos²)", WORTHS, wishes.worth, (value) => {
    wishes.worth = value;
    again();
  }) : [];
  const groups = group("Groups", ...grouped(wishes, again));
  const note = h("p", { class: "note", hidden: true });
  const tell = (): void => {
    groups.hidden = !state.colouring.which;
    note.hidden = groups.hidden || !(wishes.groups.has("rows") || wishes.groups.has("mean"));
    note.textContent = words(wishes, state);
  };
  groups.addEventListener("click", tell);
  state.listen(tell);
  tell();
  return h("div", {}, h("div", { class: "tools" }, ...axes, view, group("Names", ...naming, ...first), groups), note);
}

function toggle(label: string, words: string, act: (on: boolean) => void, start = false): HTMLElement {
  const node = h("button", { type: "button", "aria-pressed": String(start), title: words, onclick: () => {
    const on = node.getAttribute("aria-pressed") === "false";
    node.setAttribute("aria-pressed", String(on));
    act(on);
  } }, label);
  return node;
}

const NAMINGS: [Naming, string][] = [["none", "none"], ["auto", "automatic"], ["all", "all"]];

const WORTHS: [Worth, string][] = [["contribution", "distance"], ["cos2", "cos²"]];

function choice<T extends string>(label: string, title: string, options: [T, string][], start: T, act: (value: T) => void): HTMLElement[] {
  const id = `tool-${++count}`;
  const select = h("select", { id, title, onchange: () => act(options[select.selectedIndex][0]) }, ...options.map(([value, text]) => h("option", { value }, text)));
  select.selectedIndex = options.findIndex(([value]) => value === start);
  return [h("label", { for: id }, label), select];
}

/** One choice for each way; an axis that the other has changes places with it. */
function selectors({ axes, pair: [i, j], turn }: Asked, settle: () => void): HTMLElement[] {
  const options = axes.map(({ label }, k): [string, string] => [String(k), brief(label)]);
  const at = [i, j];
  const pick = (way: 0 | 1) => (value: string): void => {
    if (at[1 - way] === Number(value)) at[1 - way] = at[way];
    at[way] = Number(value);
    both.forEach((select, k) => (select.selectedIndex = at[k]));
    turn([at[0], at[1]]);
    settle();
  };
  const [across, up] = [choice("Across", "The axis across", options, String(i), pick(0)), choice("Up", "The axis up", options, String(j), pick(1))];
  const both = [across[1], up[1]] as HTMLSelectElement[];
  return [...across, ...up];
}

const GROUPS: ["centroids" | "rows" | "mean", string, string][] = [
  ["centroids", "Centroids", "The mean of the rows of each colour"],
  ["rows", "95% of rows", "Ellipses that hold 95% of a Gaussian with the mean and covariance of each colour"],
  ["mean", "95% of mean", "Dashed ellipses of 95% confidence for the mean of each colour"],
];

function grouped(wishes: Wishes, again: () => void): HTMLElement[] {
  return GROUPS.map(([name, label, words]) => toggle(label, words, (on) => {
    if (on) wishes.groups.add(name);
    else wishes.groups.delete(name);
    again();
  }, wishes.groups.has(name)));
}

/** What the ellipses are. */
function words({ groups }: Wishes, { rows }: State): string {
  const kinds = GROUPS.flatMap(([name, , what]) => (name !== "centroids" && groups.has(name) ? [what] : []));
  const [shown, total] = [rows.shown, rows.total].map((n) => n.toLocaleString("en"));
  const sampled = rows.total > rows.shown ? ` They are of the ${shown} rows shown, a sample of ${total}: of all rows, the regions of the means would be smaller.` : "";
  return `${kinds.join(". ")}.${sampled}`;
}
