// The charts of an answer in the place of those before: the ones in view at once, the others while nothing else is to be done.
import { card } from "../card";
import { pack } from "../cards";
import { h, sentence } from "../dom";
import { drawFresh } from "../fresh";
import { forgettable } from "../listeners";
import { type Chart } from "../report";
import { type State } from "../state";

/** Pixels below the window that are drawn at once too. */
const NEAR = 100;

export class Answers {
  readonly node = h("div", { class: "answers" });
  private forgets: (() => void)[] = [];
  private heights = new Map<string, number>();
  private number = 0;

  constructor(private state: State) {}

  show(warnings: string[], charts: Chart[]): void {
    const mine = ++this.number;
    const before = new Map([...this.node.querySelectorAll<HTMLElement>(".holder")].map((each) => [each.dataset.title!, each]));
    for (const [title, each] of before) if (each.offsetHeight) this.heights.set(title, each.offsetHeight);
    const visible = (title: string, place: number): boolean => {
      const box = before.get(title)?.getBoundingClientRect();
      return box ? box.bottom > -NEAR && box.top < innerHeight + NEAR : place < 2;
    };
    const back = focusIn(before);
    const first = charts.map(({ title }, i) => visible(title, i));
    for (const forget of this.forgets) forget();
    this.forgets = [];
    const holders = charts.map((chart) => this.holder(chart));
    holders.forEach((holder, i) => first[i] && this.fill(holder, charts[i]));
    this.node.replaceChildren(pack([...warned(warnings), ...holders]));
    drawFresh();
    back();
    this.later(holders.flatMap((holder, i) => (first[i] ? [] : [() => this.fill(holder, charts[i])])), mine);
  }

  /** As high as the chart of this title was, so that the page does not jump while it waits for the new one. */
  private holder(chart: Chart): HTMLElement {
    const node = h("div", { class: "holder", "data-title": chart.title });
    node.style.minHeight = `${this.heights.get(chart.title) ?? 200}px`;
    if (chart.kind === "text") node.dataset.wide = "wide";
    return node;
  }

  private fill(holder: HTMLElement, chart: Chart): void {
    const [made, forget] = forgettable(() => card(chart, this.state));
    this.forgets.push(forget);
    if (made.dataset.wide) holder.parentElement?.classList.add("wide");
    if (made.dataset.wide) holder.dataset.wide = made.dataset.wide;
    holder.replaceChildren(made);
    // Charts are drawn once their width is known, in the next frame.
    requestAnimationFrame(() => requestAnimationFrame(() => (holder.style.minHeight = "")));
  }

  /** One after another, each in a turn of its own: a click, or a newer answer, comes between them. */
  private later(waiting: (() => void)[], mine: number): void {
    const [next, ...rest] = waiting;
    if (mine !== this.number) return;
    if (!next) {
      document.documentElement.dataset.drawn = String(mine);
      return;
    }
    requestAnimationFrame(() => setTimeout(() => {
      if (mine !== this.number) return;
      next();
      this.later(rest, mine);
    }));
  }
}

/** What gives the keyboard back the part of a chart that it is in, once the chart is made anew. */
function focusIn(holders: Map<string, HTMLElement>): () => void {
  const focused = document.activeElement as HTMLElement | null;
  const mine = [...holders].find(([, each]) => each.contains(focused));
  if (!mine) return () => {};
  const parts = (holder: HTMLElement): HTMLElement[] => [...holder.querySelectorAll<HTMLElement>("button, select, input, [tabindex]")];
  const place = parts(mine[1]).indexOf(focused!);
  return () => {
    const holder = [...document.querySelectorAll<HTMLElement>(".answers .holder")].find((each) => each.dataset.title === mine[0]);
    if (holder) parts(holder)[place]?.focus({ preventScroll: true });
  };
}

function warned(texts: string[]): HTMLElement[] {
  if (!texts.length) return [];
  const node = h("div", { class: "warnings", "data-wide": "wide" }, ...texts.map((text) => h("p", { class: "warning", role: "note" }, ...sentence(text))));
  return [node];
}
