// The options of a model: a list of names, and for numbers a slider on which the values of rules are marked.
import { h, short } from "../dom";
import { type ModelOption, type Scale } from "./client";

type Options = Record<string, string | number>;

/** Steps of a slider, whose scale is that of logarithms. */
const STEPS = 200;

/** Steps from a mark to the next, so that those of rules that agree lie beside each other. */
const APART = 9;

interface Field {
  option: ModelOption;
  list: HTMLSelectElement;
  slider: HTMLInputElement;
  ticks: HTMLElement;
  value: HTMLElement;
}

export class ModelOptions {
  readonly node = h("div", { class: "options" });
  private fields: Field[] = [];
  private options: Options = {};
  private scales: Record<string, Scale> = {};
  private note = h("p", { class: "note" });
  private known = "";

  constructor(private change: (options: Options, lasting: boolean) => void) {}

  update(options: ModelOption[], values: Options): void {
    this.options = values;
    const known = JSON.stringify(options);
    if (known !== this.known) {
      this.known = known;
      this.scales = {};
      this.fields = options.map((option) => this.field(option));
      this.note.textContent = "";
      this.node.replaceChildren(...this.fields.map((field) => this.drawn(field)), this.note);
    }
    this.node.hidden = !options.length;
    for (const field of this.fields) this.settle(field);
  }

  explain(scales: Record<string, Scale>, note: string): void {
    this.scales = scales;
    this.note.textContent = note;
    for (const field of this.fields) this.settle(field);
  }

  private field(option: ModelOption): Field {
    const { name, label, none } = option;
    const list = h("select", { id: `option-${name}`, onchange: () => list.selectedIndex < option.names.length && this.set(name, list.value, true) }, ...option.names.map((each) => h("option", { value: each }, each || none)));
    const slide = (lasting: boolean) => (): void => this.set(name, this.numberAt(name, Number(slider.value)), lasting);
    const slider = h("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": `${label} as a number`, hidden: true, oninput: () => slide(false)(), onchange: () => slide(true)() });
    return { option, list, slider, ticks: h("span", { class: "ticks" }), value: h("output", {}) };
  }

  private drawn({ option: { label, number }, list, slider, ticks, value }: Field): HTMLElement {
    const track = h("span", { class: "track" }, slider, ticks);
    return h("span", { class: "field" }, h("label", { for: list.id }, label), list, ...(number ? [track, value] : []));
  }

  private set(name: string, value: string | number, lasting: boolean): void {
    this.options = { ...this.options, [name]: value };
    this.change(this.options, lasting);
  }

  private settle({ option, list, slider, ticks, value }: Field): void {
    const { name, first, names, number } = option;
    const now = this.options[name] ?? first;
    const custom = typeof now === "number";
    if (custom !== (list.options.length > names.length)) {
      if (custom) list.append(h("option", { value: "" }, "chosen"));
      else list.options[names.length].remove();
    }
    list.selectedIndex = custom ? names.length : names.indexOf(String(now));
    const scale = this.scales[name];
    slider.hidden = !number || !scale;
    ticks.replaceChildren();
    if (!scale) return void (value.textContent = "");
    if (document.activeElement !== slider || !custom) slider.value = String(this.stepOf(scale, custom ? now : scale.at));
    value.textContent = short(custom ? now : scale.at);
    slider.setAttribute("aria-valuetext", value.textContent);
    let last = -APART;
    ticks.append(...scale.marks.map((mark) => this.tick(option, mark, (last = Math.max(last + APART, this.stepOf(scale, mark.at))))));
  }

  /** The mark of a rule on the slider, which chooses it. */
  private tick({ name, none }: ModelOption, mark: Scale["marks"][number], step: number): HTMLElement {
    const words = `${mark.name || none}: ${short(mark.at)}`;
    const node = h("button", { type: "button", class: "tick", title: words, "aria-label": words, onclick: () => this.set(name, mark.name, true) });
    node.style.left = `${(100 * step) / STEPS}%`;
    return node;
  }

  private numberAt(name: string, step: number): number {
    const { low, high } = this.scales[name];
    return Number((low * (high / low) ** (step / STEPS)).toPrecision(4));
  }

  private stepOf({ low, high }: Scale, value: number): number {
    return Math.round((STEPS * Math.log(value / low)) / Math.log(high / low));
  }
}
