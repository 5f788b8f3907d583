// What makes the selected rows different from the others, or from those of another selection: follows the selection.
import { card } from "../card";
import { h } from "../dom";
import { forgettable } from "../listeners";
import { pack } from "../cards";
import { type Chart } from "../report";
import { type State } from "../state";
import { ask, bits, type Question } from "./client";

/** Milliseconds after which a selection that changes is compared. */
const PATIENCE = 120;

export class Comparison {
  readonly node = h("section", { class: "comparison", "aria-label": "Comparison of selections", hidden: true });
  readonly buttons: HTMLElement[];
  private kept: Set<number> | null = null;
  private against: "others" | "kept" | null = null;
  private forget = (): void => {};
  private timer = 0;
  private number = 0;

  constructor(
    private state: State,
    private question: () => Question,
    private failed: (error: unknown) => void,
  ) {
    const button = (label: string, words: string, act: () => void) => h("button", { type: "button", title: words, onclick: act }, label);
    const keep = button("Keep as A", "Keep these rows, to compare them with another selection", () => {
      this.kept = new Set(state.selected);
      settle();
    });
    const compare = button("A against these", "Compare the rows that were kept with those selected now", () => this.open("kept"));
    this.buttons = [button("What makes them different?", "Compare these rows with all others", () => this.open("others")), keep, compare];
    const settle = (): void => {
      compare.toggleAttribute("disabled", !this.kept);
      keep.textContent = this.kept ? `Keep as A (now ${this.kept.size.toLocaleString("en")} rows)` : "Keep as A";
    };
    settle();
    state.listen(() => this.follow());
  }

  /** Compares again: after another question too, since columns may have other roles. */
  follow(): void {
    if (!this.against) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.compare(), PATIENCE);
  }

  private open(against: "others" | "kept"): void {
    this.against = against;
    void this.compare();
  }

  private close(): void {
    this.against = null;
    this.forget();
    this.node.hidden = true;
    this.node.replaceChildren();
  }

  private async compare(): Promise<void> {
    const { selected, rows } = this.state;
    if (!this.against || !selected.size) return this.close();
    const number = ++this.number;
    const second = this.against === "kept" ? { first: bits(this.kept!, rows.shown), second: bits(selected, rows.shown) } : { first: bits(selected, rows.shown) };
    try {
      const { charts } = await ask<{ charts: Chart[] }>("contrast", { question: this.question(), ...second });
      if (number === this.number) this.show(charts);
    } catch (error) {
      if (number === this.number) this.failed(error);
    }
  }

  private show(charts: Chart[]): void {
    this.forget();
    const [cards, forget] = forgettable(() => pack(charts.map((chart) => card(chart, this.state))));
    this.forget = forget;
    const close = h("button", { type: "button", onclick: () => this.close() }, "Close the comparison");
    this.node.hidden = false;
    this.node.replaceChildren(h("div", { class: "head" }, close), cards);
  }
}
