// The page: navigation, the bar that colours and searches, and a card for every chart.
import { draw, grid, type Drawn } from "./charts";
import { h } from "./dom";
import { cells, embedded, type Chart, type Page, type Report } from "./report";
import { csv, png, save, standalone } from "./save";
import { css, State } from "./state";

function start(): void {
  const report = embedded();
  const state = new State(report.rows);
  document.title = report.title;
  document.body.append(
    h("a", { class: "skip", href: "#content" }, "To the content"),
    header(report),
    h("div", { class: "frame-page" }, navigation(report), h("main", { id: "content" }, bar(report, state), ...report.pages.map((page) => section(page, state)))),
    h("footer", {}, `Made by Eigenlens ${report.version}. This file is complete: it loads nothing from anywhere.`),
  );
  document.documentElement.dataset.ready = "yes";
}

function header(report: Report): HTMLElement {
  const theme = h("button", { type: "button", class: "theme", onclick: () => {
    const dark = getComputedStyle(document.documentElement).getPropertyValue("color-scheme").trim() === "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  } }, "Light / dark");
  return h("header", {}, h("div", {}, h("h1", {}, report.title), h("p", {}, report.subtitle)), theme);
}

function navigation(report: Report): HTMLElement {
  const links = report.pages.map((page) => h("li", {}, h("a", { href: `#${page.id}` }, page.title)));
  return h("nav", { "aria-label": "Pages" }, h("ul", {}, ...links));
}

/** Colour by a column, find a row by its id, and what is selected. */
function bar(report: Report, state: State): HTMLElement {
  const { rows } = report;
  if (!rows.shown) return h("div", {});
  const names = [h("option", { value: "" }, "one colour"), ...rows.columns.map((column) => h("option", { value: column.name }, column.name))];
  const colour = h("select", { id: "colour", onchange: () => state.colour(colour.value) }, ...names);
  colour.value = state.colouring.name;
  const search = h("input", { id: "search", type: "search", placeholder: "id or part of it", oninput: () => state.select(matches(state.ids, search.value)) });
  const legend = h("div", { class: "legend", "aria-live": "polite" });
  const chosen = h("p", { class: "note", role: "status" });
  const tell = (): void => {
    legend.replaceChildren(...legendOf(state));
    chosen.textContent = state.selected.size ? said(state) : rows.note;
  };
  const out = h("button", { type: "button", onclick: () => save("selection.csv", "text/csv", selection(state)) }, "Selection as CSV");
  state.listen(tell);
  tell();
  return h("div", { class: "bar" },
    h("label", { for: "colour" }, "Colour by"), colour, h("label", { for: "search" }, "Find"), search, out, legend, chosen);
}

function matches(ids: string[], text: string): number[] {
  const wanted = text.trim().toLowerCase();
  return wanted ? ids.flatMap((id, i) => (id.toLowerCase().includes(wanted) ? [i] : [])) : [];
}

function said(state: State): string {
  const few = [...state.selected].slice(0, 8).map((row) => state.ids[row]);
  const more = state.selected.size > few.length ? ", …" : "";
  return `${state.selected.size} of ${state.rows.shown} rows selected: ${few.join(", ")}${more}`;
}

function selection(state: State): string {
  const kept = state.selected.size ? [...state.selected] : state.ids.map((_, i) => i);
  const ids = { name: "row", kind: "text" as const, values: kept.map((i) => state.ids[i]) };
  const others = state.rows.columns.map((column) => {
    const values = cells(column);
    return { ...column, values: kept.map((i) => values[i] ?? null) as never };
  });
  return csv([ids, ...others]);
}

function legendOf(state: State): HTMLElement[] {
  const { legend, numeric, name } = state.colouring;
  if (numeric) {
    const ramp = h("span", { class: "ramp" });
    return [h("span", { class: "entry" }, `${name}: ${numeric.low.toPrecision(3)} `, ramp, ` ${numeric.high.toPrecision(3)}`)];
  }
  return legend.map(({ label, colour }) => {
    const swatch = h("span", { class: "swatch" });
    swatch.style.background = colour;
    return h("span", { class: "entry" }, swatch, label);
  });
}

function section(page: Page, state: State): HTMLElement {
  return h("section", { id: page.id, "aria-label": page.title }, h("h2", {}, page.title), ...page.charts.map((chart) => card(chart, state)));
}

/** A chart with its words, its table and its files. */
function card(chart: Chart, state: State): HTMLElement {
  const drawn = draw(chart, state);
  const head = [h("h3", {}, chart.title), ...(chart.about ? [h("p", { class: "about" }, chart.about)] : [])];
  return h("article", { class: `card ${chart.kind}`, "aria-label": chart.title }, ...head, drawn.node, ...actions(chart, drawn));
}

function actions(chart: Chart, drawn: Drawn): HTMLElement[] {
  if (chart.kind === "text") return [];
  const name = chart.title.replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase();
  const row = h("div", { class: "actions" });
  const button = (label: string, act: () => void): void => row.append(h("button", { type: "button", onclick: act }, label));
  if (chart.kind !== "table") {
    const table = h("details", { ontoggle: () => table.open && table.replaceChildren(summary, grid(drawn.columns)) });
    const summary = h("summary", {}, "Data table");
    table.append(summary);
    row.append(table);
  }
  button("CSV", () => save(`${name}.csv`, "text/csv", csv(drawn.columns)));
  if (drawn.picture) {
    const take = (act: (picture: SVGElement) => void) => () => {
      const picture = drawn.picture!();
      if (picture) act(picture);
    };
    button("SVG", take((picture) => save(`${name}.svg`, "image/svg+xml", standalone(picture))));
    button("PNG", take((picture) => void png(picture, css(paper())).then((blob) => save(`${name}.png`, "image/png", blob))));
  }
  return [row];
}

/** The colour of the page, which a picture taken of it keeps. */
function paper(): [number, number, number] {
  const found = /(\d+)\D+(\d+)\D+(\d+)/.exec(getComputedStyle(document.body).backgroundColor);
  return found ? [Number(found[1]) / 255, Number(found[2]) / 255, Number(found[3]) / 255] : [1, 1, 1];
}

start();
