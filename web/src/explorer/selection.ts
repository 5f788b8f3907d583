// What makes the selected rows different from the others, or from those of another selection: follows the selection.
import { card } from "../card";
import { h } from "../dom";
import { forgettable } from "../listeners";
import { pack } from "../cards";
import { type Chart } from "../report";
import { type State } from "../state";
import { ask, bits, type Question } from "./client";
import { type Kept } from "./kept";

/** Milliseconds after which a selection that changes is compared. */
const PATIENCE = 120;

export class Comparison {
  readonly node = h("section", { class: "comparison", "aria-label": "Comparison of selections", hidden: true });
  readonly button = h("button", { type: "button", title: "Compare these rows with all others", onclick: () => this.open("others") }, "What makes them different?");
  private against: "others" | Kept | null = null;
  private forget = (): void => {};
  private timer = 0;
  private number = 0;

  constructor(
    private state: State,
    private question: () => Question,
    private failed: (error: unknown) => void,
  ) {
    state.listen(() => this.follow());
  }

  /** Compares again: after another question too, since columns may have other roles. */
  follow(): void {
    if (!this.against) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.compare(), PATIENCE);
  }

  open(against: "others" | Kept): void {
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
    const { against } = this;
    if (!against || !selected.size) return this.close();
    const number = ++this.number;
    const now = bits(selected, rows.shown);
    const groups = against === "others" ? { first: now } : { first: bits(against.rows, rows.shown), second: now, names: [against.name, "selection"] };
    try {
      const { charts } = await ask<{ charts: Chart[] }>("contrast", { question: this.question(), ...groups });
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
