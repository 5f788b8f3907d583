// A chart with its words, its table and its files.
import { draw, grid, type Drawn } from "./charts";
import { h } from "./dom";
import { type Chart } from "./report";
import { csv, framed, png, save, written, type Legend } from "./save";
import { type State } from "./state";

/** Whether a chart takes the whole width of the page: words do, and sliders of several charts, images or bars. */
function wide(chart: Chart): boolean {
  if (chart.kind !== "frames") return chart.kind === "text";
  const [only, ...more] = chart.frames[chart.start].charts;
  return more.length > 0 || only?.kind !== "marks" || only.marks.some(({ type }) => type === "bar");
}

let count = 0;

export function card(chart: Chart, state: State): HTMLElement {
  const drawn = draw(chart, state);
  const id = `chart-${++count}`;
  const head = [h("h3", { id }, chart.title), ...(chart.about ? [h("p", { class: "about" }, chart.about)] : [])];
  const node = h("article", { class: `card ${chart.kind}`, "aria-labelledby": id }, ...head, drawn.node, ...actions(chart, drawn, state));
  if (wide(chart)) node.dataset.wide = "wide";
  if (chart.kind === "marks") describe(drawn.plot ?? drawn.node, chart.title);
  return node;
}

/** Marks are one picture to those who cannot see them: the table says what is in it. */
function describe(node: HTMLElement, title: string): void {
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", `${title}: a chart. The data table below it has its numbers.`);
}

function actions(chart: Chart, drawn: Drawn, state: State): HTMLElement[] {
  if (chart.kind === "text") return [];
  const name = chart.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase() || "chart";
  const row = h("div", { class: "actions", role: "group", "aria-label": `${chart.title}: data and files` });
  const button = (label: string, words: string, act: () => void): void =>
    row.append(h("button", { type: "button", title: words, "aria-label": `${label}: ${words} of ${chart.title}`, onclick: act }, label));
  const table = chart.kind === "table" ? [] : behind(row, chart, drawn);
  button("CSV", "Save the numbers", () => save(`${name}.csv`, "text/csv", csv(drawn.columns)));
  if (drawn.picture) {
    const take = (act: (picture: SVGElement) => void) => () => {
      const picture = drawn.picture!();
      if (picture) act(framed(picture, chart.title, legend(drawn, state)));
    };
    button("SVG", "Save the picture as SVG", take((picture) => save(`${name}.svg`, "image/svg+xml", written(picture))));
    button("PNG", "Save the picture as PNG", take((picture) => void png(picture).then((blob) => save(`${name}.png`, "image/png", blob))));
  }
  return [row, ...table];
}

/** The numbers of a chart as a table, made when it is opened; a slider moves it on. */
function behind(row: HTMLElement, chart: Chart, drawn: Drawn): HTMLElement[] {
  const id = `table-${count}`;
  const place = h("div", { id, hidden: true });
  const fill = (): void => place.replaceChildren(grid(drawn.columns, chart.title));
  const toggle = h("button", { type: "button", class: "behind", "aria-expanded": "false", "aria-controls": id, "aria-label": `Data table: ${chart.title}`, onclick: () => {
    place.hidden = !place.hidden;
    toggle.setAttribute("aria-expanded", String(!place.hidden));
    if (!place.hidden) fill();
  } }, "Data table");
  drawn.node.addEventListener("input", () => place.hidden || fill());
  drawn.node.addEventListener("click", () => place.hidden || fill());
  row.append(toggle);
  return [place];
}

/** What the colours of a picture say: those of the rows and of the shades behind them, or those written over the chart. */
function legend(drawn: Drawn, state: State): Legend {
  const written = [...drawn.node.querySelectorAll(".legend .entry")].map((entry) => ({ label: entry.textContent ?? "", dot: entry.querySelector<HTMLElement>(".swatch") }));
  const entries = written.map(({ label, dot }) => ({ label, colour: dot?.style.background ?? "grey", shape: dot?.matches(".square") ? 1 : 0 }));
  const once = [...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values()];
  if (!drawn.node.querySelector(".stage")) return { entries: once, drawn: drawn.node.querySelector<SVGElement>("svg[class$=ramp]") };
  const { name, numeric, legend: classes } = state.colouring;
  return { entries: [...classes, ...once.filter(({ shape }) => shape === 1)], ramp: numeric && { name, ...numeric } };
}
