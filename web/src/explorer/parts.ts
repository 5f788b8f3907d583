// Rows that take no part in the fit, and clusters within those that do.
import { h } from "../dom";
import { type Column } from "../report";
import { type State } from "../state";
import { ask, bits, rowsOf, type Question } from "./client";

interface Asks {
  state: State;
  question: () => Question;
  change: (rows: Question["rows"]) => void;
  busy: (words: string, work: () => Promise<string | void>) => void;
}

/** What clusters are called among the columns to colour by. */
const COLUMN = "clusters";

export class Parts {
  readonly node = h("p", { class: "part", role: "status", hidden: true });
  readonly buttons: HTMLElement[];

  constructor(private asks: Asks) {
    const button = (label: string, words: string, act: () => void) => h("button", { type: "button", title: words, onclick: act }, label);
    this.buttons = [
      button("Set aside", "Fit without these rows: they keep their places as passive rows", () => this.setAside()),
      button("Fit these alone", "Fit these rows alone: all others become passive", () => asks.change({ kind: "only", bits: this.bits(asks.state.selected) })),
      button("Clusters within", "Look for clusters among these rows, and colour by them", () => this.clusters()),
    ];
  }

  /** Says which rows the fit is of. */
  update({ rows: { kind, bits: text } }: Question): void {
    const marked = kind === "all" ? 0 : rowsOf(text).length;
    const count = marked.toLocaleString("en");
    const words = kind === "only" ? `The fit is of ${count} rows alone; all others are passive.` : `${count} ${marked === 1 ? "row is" : "rows are"} passive, and took no part in the fit.`;
    this.node.hidden = kind === "all";
    const whole = h("button", { type: "button", onclick: () => this.asks.change({ kind: "all", bits: "" }) }, "Fit all rows");
    this.node.replaceChildren(...(kind === "all" ? [] : [`${words} `, whole]));
  }

  /** Without these rows, and without those that are set aside already. */
  private setAside(): void {
    const { state, question, change } = this.asks;
    const { rows } = question();
    if (rows.kind === "only") {
      const left = rowsOf(rows.bits).filter((row) => !state.selected.has(row));
      return change({ kind: "only", bits: this.bits(left) });
    }
    const before = rows.kind === "without" ? rowsOf(rows.bits) : [];
    change({ kind: "without", bits: this.bits([...before, ...state.selected]) });
  }

  private clusters(): void {
    const { state, question, busy } = this.asks;
    busy("Looking for clusters …", async () => {
      const { column, says } = await ask<{ column: Column; says: string }>("clusters", { question: question(), rows: this.bits(state.selected) });
      state.colour(state.offer(COLUMN, column.values));
      return says;
    });
  }

  private bits(rows: Iterable<number>): string {
    return bits(rows, this.asks.state.rows.shown);
  }
}
