// Why the row that is selected, if it is one alone, is put into its class: of models that have reasons.
import { card } from "../card";
import { h } from "../dom";
import { forgettable } from "../listeners";
import { type Chart } from "../report";
import { type State } from "../state";
import { ask, type Question } from "./client";

export class Reasons {
  readonly node = h("section", { class: "reasons", "aria-label": "Reasons", hidden: true });
  private forget = (): void => {};
  private number = 0;
  private row = -1;
  private on = false;

  constructor(
    private state: State,
    private question: () => Question,
    private failed: (error: unknown) => void,
  ) {
    state.listen(() => {
      if (this.on && this.only !== this.row) void this.look();
    });
  }

  /** Asks again after another fit; `on`: whether the model has reasons. */
  follow(on: boolean): void {
    this.on = on;
    void this.look();
  }

  private get only(): number {
    return this.state.selected.size === 1 ? [...this.state.selected][0] : -1;
  }

  private async look(): Promise<void> {
    const number = ++this.number;
    this.row = this.on ? this.only : -1;
    if (this.row < 0) return this.show([]);
    try {
      const { charts } = await ask<{ charts: Chart[] }>("reasons", { question: this.question(), row: this.row });
      if (number === this.number) this.show(charts);
    } catch (error) {
      if (number === this.number) this.failed(error);
    }
  }

  private show(charts: Chart[]): void {
    this.forget();
    const [cards, forget] = forgettable(() => charts.map((chart) => card(chart, this.state)));
    this.forget = forget;
    this.node.hidden = !charts.length;
    this.node.replaceChildren(...cards);
  }
}
