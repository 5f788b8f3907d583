// The bar over all pages: colour by a column, find a row, and what is selected.
import { grid } from "./charts";
import { brief, ends, h, swatch } from "./dom";
import { thumbnail } from "./images";
import { GRADIENTS } from "./palette";
import { cells, type Column, type Rows } from "./report";
import { csv, save } from "./save";
import { type State } from "./state";

/** The most selected rows in the table of them, the CSV has all; and the most that are shown as images. */
const [LISTED, PICTURED] = [200, 20];

/** `more`: what else can be done with a selection. */
export function bar(rows: Rows, state: State, more: HTMLElement[] = []): HTMLElement {
  if (!rows.shown) return h("div", {});
  const legend = h("div", { class: "legend", role: "group", "aria-label": "Legend" });
  const parts = [...colouring(rows, state), ...search(state), legend];
  const tell = (): void => legend.replaceChildren(...legendOf(state));
  state.listen(tell);
  tell();
  return h("div", { class: "bar" }, ...parts, selected(rows, state, more));
}

function colouring(rows: Rows, state: State): HTMLElement[] {
  const colour = h("select", { id: "colour", onchange: () => state.colour(colour.selectedIndex - 1) });
  let known = "";
  const settle = (): void => {
    const names = JSON.stringify(rows.columns.map(({ name }) => name));
    if (names !== known) colour.replaceChildren(h("option", { value: "" }, "one colour"), ...rows.columns.map((column, i) => h("option", { value: i }, column.name)));
    known = names;
    colour.selectedIndex = 1 + state.coloured;
  };
  state.listen(settle);
  settle();
  const palette = h("select", { id: "palette", onchange: () => {
    state.palette = GRADIENTS[palette.selectedIndex][0];
    state.colour(state.coloured);
  } }, ...GRADIENTS.map(([name, label]) => h("option", { value: name }, label)));
  const scale = h("span", { class: "field" }, h("label", { for: "palette" }, "from"), palette);
  const show = (): void => {
    scale.hidden = !state.colouring.numeric;
    palette.selectedIndex = GRADIENTS.findIndex(([name]) => name === state.palette);
  };
  state.listen(show);
  show();
  return [h("span", { class: "field" }, h("label", { for: "colour" }, "Colour by"), colour), scale];
}

/** Typing selects the rows whose name has these letters; the first is looked at, Enter goes on to the next. */
function search(state: State): HTMLElement[] {
  let found: number[] = [];
  let at = 0;
  const look = (): void => {
    found = matches(state.ids, field.value);
    at = 0;
    state.focused = found[0] ?? -1;
    state.select(found);
  };
  const next = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || !found.length) return;
    event.preventDefault();
    at = (at + (event.shiftKey ? found.length - 1 : 1)) % found.length;
    state.focus(found[at]);
  };
  const field = h("input", {
    id: "search", type: "search", placeholder: "row name", autocomplete: "off",
    title: "Enter goes to the next, Shift and Enter to the one before", oninput: look, onkeydown: next,
  });
  return [h("span", { class: "field" }, h("label", { for: "search" }, "Find"), field)];
}

/** Rows whose name has the text in it; the one that is the text comes first. */
function matches(ids: string[], text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = ids.flatMap((id, i) => (id.toLowerCase().includes(wanted) ? [i] : []));
  const exact = found.findIndex((i) => ids[i].toLowerCase() === wanted);
  return exact > 0 ? [found[exact], ...found.filter((_, i) => i !== exact)] : found;
}

function legendOf(state: State): HTMLElement[] {
  const { legend, numeric, name } = state.colouring;
  const hollow = state.hollow ? [h("span", { class: "entry" }, h("span", { class: "swatch hollow" }), "hollow: took no part in the fit")] : [];
  if (numeric) {
    const ramp = h("span", { class: "ramp" });
    ramp.style.background = `linear-gradient(90deg, ${numeric.stops.join(", ")})`;
    const [low, high] = ends(numeric);
    return [h("span", { class: "entry" }, `${brief(name)}: ${low} `, ramp, ` ${high}`), ...hollow];
  }
  const entries = legend.map(({ label, colour, shape, rows }) =>
    h("button", { type: "button", class: "entry", title: `Select these rows: ${label}`, onclick: () => state.select(rows()) }, swatch(colour, shape), brief(label).trim() || "(empty)"));
  return [...entries, ...hollow];
}

/** How many rows are selected and which, with their values and a file of them. */
function selected(rows: Rows, state: State, more: HTMLElement[]): HTMLElement {
  const said = h("p", { class: "note", role: "status" });
  const list = h("div", { id: "selected", hidden: true });
  const button = (label: string, act: () => void, props = {}) => h("button", { type: "button", onclick: act, ...props }, label);
  const opened = button("Show rows", () => {
    list.hidden = !list.hidden;
    tell();
  }, { "aria-controls": "selected" });
  const file = button("Selection as CSV", () => save("selection.csv", "text/csv", csv(columns(state, [...state.selected]))));
  const clear = button("Clear selection", () => state.clear());
  const pictures = h("div", { class: "pictures" });
  const tell = (): void => {
    const some = state.selected.size > 0;
    said.textContent = some ? sentence(state) : rows.note;
    for (const each of [opened, file, clear, ...more]) each.hidden = !some;
    list.hidden ||= !some;
    pictures.replaceChildren(...[...state.selected].slice(0, PICTURED).flatMap((row) => thumbnail(state, row)));
    opened.setAttribute("aria-expanded", String(!list.hidden));
    list.replaceChildren(...(list.hidden ? [] : [grid(columns(state, [...state.selected].slice(0, LISTED)), "selected rows"), ...rest(state)]));
  };
  state.listen(tell);
  tell();
  return h("div", { class: "selected" }, said, ...more, opened, file, clear, pictures, list);
}

function sentence(state: State): string {
  const few = [...state.selected].slice(0, 6).map((row) => state.ids[row]);
  const more = state.selected.size > few.length ? ", …" : "";
  return `${state.selected.size.toLocaleString("en")} of ${state.rows.shown.toLocaleString("en")} rows selected: ${few.join(", ")}${more}`;
}

function rest(state: State): HTMLElement[] {
  return state.selected.size > LISTED ? [h("p", { class: "note" }, `The first ${LISTED} of ${state.selected.size}; the CSV has all.`)] : [];
}

/** The names of some rows and all that is known of them. */
function columns(state: State, rows: number[]): Column[] {
  const ids: Column = { name: "row", kind: "text", values: rows.map((i) => state.ids[i]) };
  const others = state.rows.columns.filter((column) => !column.later).map((column): Column => {
    const values = cells(column);
    return { name: column.name, kind: column.kind, values: rows.map((i) => values[i] ?? null) as (string | null)[] };
  });
  return [ids, ...others];
}
