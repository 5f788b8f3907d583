// One page at a time, by mouse, by arrow keys and by address; a page is made when it is first looked at.
import { h } from "./dom";
import { drawAtOnce, sizeAtOnce } from "./paper";
import { fillSheets, leaveSheets } from "./sheets";
import { onPaper } from "./theme";

export interface Tab {
  id: string;
  title: string;
  make: () => Node[];
}

interface Tabbed {
  tabs: HTMLElement;
  panels: HTMLElement[];
  /** Prints all pages. */
  printed: () => void;
}

const STEPS: Record<string, (at: number, n: number) => number> = {
  ArrowDown: (at, n) => (at + 1) % n, ArrowRight: (at, n) => (at + 1) % n,
  ArrowUp: (at, n) => (at + n - 1) % n, ArrowLeft: (at, n) => (at + n - 1) % n,
  Home: () => 0, End: (_, n) => n - 1,
};

export function tabbed(pages: Tab[]): Tabbed {
  const panels = pages.map((page) =>
    h("section", { id: `panel-${page.id}`, role: "tabpanel", "aria-labelledby": `tab-${page.id}`, hidden: true }));
  const links = pages.map((page, i) => h("a", {
    id: `tab-${page.id}`, role: "tab", href: `#${page.id}`, "aria-controls": `panel-${page.id}`,
    onclick: () => show(i), onkeydown: (event: KeyboardEvent) => key(event, i),
  }, page.title));
  const made = new Set<number>();
  const fill = (at: number): void => {
    if (!made.has(at)) panels[at].append(...pages[at].make());
    made.add(at);
  };
  const show = (at: number): void => {
    fill(at);
    panels.forEach((panel, i) => (panel.hidden = i !== at));
    links.forEach((link, i) => {
      link.setAttribute("aria-selected", String(i === at));
      link.tabIndex = i === at ? 0 : -1;
    });
  };
  const key = (event: KeyboardEvent, at: number): void => {
    const step = event.key === " " ? () => at : STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const next = links[step(at, links.length)];
    next.focus();
    next.click();
  };
  const addressed = (): number => Math.max(0, pages.findIndex((page) => page.id === decodeURIComponent(location.hash.slice(1))));
  addEventListener("hashchange", () => pages.some((page) => `#${page.id}` === location.hash) && show(addressed()));
  show(addressed());
  const printed = paper(panels, links, fill);
  return { tabs: h("div", { role: "tablist", "aria-orientation": "vertical", "aria-label": "Pages" }, ...links), panels, printed };
}

/** On paper all pages follow each other; then the one that was looked at is there again. Gives what the button does:
 * some browsers do not say that a page asked for its print is done. */
function paper(panels: HTMLElement[], links: HTMLElement[], fill: (at: number) => void): () => void {
  const back = (): void => {
    onPaper(false);
    leaveSheets(document.body);
    panels.forEach((panel, i) => (panel.hidden = links[i].getAttribute("aria-selected") !== "true"));
    drawAtOnce();
  };
  addEventListener("beforeprint", () => {
    onPaper(true);
    panels.forEach((panel, i) => {
      fill(i);
      panel.hidden = false;
    });
    fillSheets(document.body, sizeAtOnce);
    drawAtOnce();
  });
  addEventListener("afterprint", back);
  return () => {
    print();
    setTimeout(back, 500);
  };
}
