// Selections that are kept under a name: to be selected again, compared, coloured by, and saved with the state.
import { h } from "../dom";
import { type State } from "../state";
import { bits, rowsOf } from "./client";

export interface Kept {
  name: string;
  rows: Set<number>;
}

/** A selection as it is saved: its rows as `bits` writes them. */
export interface SavedSelection {
  name: string;
  bits: string;
}

/** What kept selections are called among the columns to colour by. */
const COLUMN = "kept selections";

export class KeptSelections {
  readonly node = h("section", { class: "kept", "aria-label": "Kept selections", hidden: true });
  readonly button = h("button", { type: "button", title: "Keep these rows under a name, to compare them, to come back to them, and to colour by them", onclick: () => this.keep() }, "Keep");
  private all: Kept[] = [];

  constructor(
    private state: State,
    private compare: (kept: Kept) => void,
    private changed: () => void,
  ) {}

  get saved(): SavedSelection[] {
    return this.all.map(({ name, rows }) => ({ name, bits: bits(rows, this.state.rows.shown) }));
  }

  restore(saved: SavedSelection[]): void {
    this.all = saved.map(({ name, bits: text }) => ({ name: String(name), rows: new Set(rowsOf(text).filter((row) => row < this.state.rows.shown)) }));
    this.tell();
  }

  private keep(): void {
    const taken = new Set(this.all.map(({ name }) => name));
    let [name, i] = ["A", 0];
    while (taken.has(name)) name = String.fromCharCode(65 + (++i % 26)) + (i > 25 ? Math.floor(i / 26) : "");
    this.all.push({ name, rows: new Set(this.state.selected) });
    this.tell();
  }

  private tell(): void {
    this.node.hidden = !this.all.length;
    this.node.replaceChildren(h("h3", {}, "Kept"), ...this.all.map((kept) => this.chip(kept)));
    this.colour();
    this.changed();
  }

  /** Each row has the name of the first kept selection that it is in. */
  private colour(): void {
    const values = Array.from({ length: this.state.rows.shown }, (_, row) => this.all.find(({ rows }) => rows.has(row))?.name ?? null);
    this.state.offer(COLUMN, this.all.length ? values : null);
  }

  private chip(kept: Kept): HTMLElement {
    const name = h("input", { type: "text", value: kept.name, size: 12, "aria-label": `Name of the selection ${kept.name}`, autocomplete: "off", onchange: () => {
      kept.name = name.value.trim() || kept.name;
      this.tell();
    } });
    const button = (label: string, words: string, act: () => void) => h("button", { type: "button", title: words, "aria-label": `${label}: ${words}: ${kept.name}`, onclick: act }, label);
    return h("span", { class: "entry" }, name,
      button(`${kept.rows.size.toLocaleString("en")} rows`, "Select these rows again", () => this.state.select(kept.rows)),
      button("against selected", "Compare with the rows selected now", () => this.compare(kept)),
      button("×", "Forget this selection", () => {
        this.all = this.all.filter((each) => each !== kept);
        this.tell();
      }));
  }
}
