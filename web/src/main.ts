// The page: a head, the bar that colours and searches, and a tab for every page of charts.
import { bar } from "./bar";
import { card } from "./card";
import { pack } from "./cards";
import { h } from "./dom";
import { embedded, type Page, type Report } from "./report";
import { State } from "./state";
import { tabbed } from "./tabs";
import { turn } from "./theme";

function start(): void {
  const report = embedded();
  const state = new State(report.rows);
  document.title = report.title;
  const { tabs, panels, printed } = tabbed(report.pages.map((page) => ({ id: page.id, title: page.title, make: () => section(page, state) })));
  document.body.append(
    h("a", { class: "skip", href: "#content" }, "To the content"),
    header(report, printed),
    h("div", { class: "frame-page" }, h("nav", { "aria-label": "Pages" }, tabs),
      h("main", { id: "content", tabindex: -1 }, bar(report.rows, state), ...panels)),
    h("footer", {}, `Made by Eigenlens ${report.version}. This file is complete: it loads nothing from anywhere.`),
  );
  document.documentElement.dataset.ready = "yes";
}

function header(report: Report, printed: () => void): HTMLElement {
  const theme = h("button", { type: "button", class: "theme", onclick: turn }, "Light / dark");
  const printer = h("button", { type: "button", onclick: printed }, "Print");
  return h("header", {}, h("div", {}, h("h1", {}, report.title), h("p", {}, report.subtitle, h("span", { class: "on-paper" }, `Made by Eigenlens ${report.version}.`))), h("div", { class: "heads" }, printer, theme));
}

function section(page: Page, state: State): Node[] {
  const cards = page.charts.map((chart) => card(chart, state));
  return [h("h2", {}, page.title), pack(cards)];
}

start();
