// Model, components, scaling, rotation, plane and options: each change is a new question.
import { h } from "../dom";
import { type Answer, type Model, type Question } from "./client";
import { ModelOptions } from "./options";

/** `lasting`: whether it is a step that can be undone; a slider on its way is not. */
export type Change = (change: Partial<Question>, lasting: boolean) => void;

export class Controls {
  readonly node: HTMLElement;
  private model: HTMLSelectElement;
  private count: HTMLInputElement;
  private slider: HTMLInputElement;
  private scaling: HTMLSelectElement;
  private rotation: HTMLSelectElement;
  private across: HTMLSelectElement;
  private up: HTMLSelectElement;
  private options: ModelOptions;
  private fields: Record<string, HTMLElement>;
  private axes: number[] = [];

  constructor(
    private models: Model[],
    private change: Change,
  ) {
    this.model = select("model", () => this.choose(models[this.model.selectedIndex]));
    for (const group of new Set(models.map((each) => each.group)))
      this.model.append(h("optgroup", { label: group }, ...models.filter((each) => each.group === group).map(({ title }) => h("option", {}, title))));
    const counted = (field: HTMLInputElement, lasting: boolean) => () => Number(field.value) >= 1 && change({ k: Math.round(Number(field.value)) }, lasting);
    this.count = h("input", { id: "k", type: "number", min: 1, step: 1, onchange: () => counted(this.count, true)() });
    this.slider = h("input", {
      type: "range", min: 1, step: 1, "aria-label": "Components kept", oninput: () => counted(this.slider, false)(), onchange: () => counted(this.slider, true)(),
    });
    this.scaling = select("scaling", () => change({ standardize: this.scaling.selectedIndex === 0 }, true));
    this.scaling.append(h("option", {}, "standardised"), h("option", {}, "in their own units"));
    this.rotation = select("rotation", () => change({ rotation: this.rotation.value || null }, true));
    this.across = select("across", () => this.turn(0, this.across.selectedIndex));
    this.up = select("up", () => this.turn(1, this.up.selectedIndex));
    this.options = new ModelOptions((options, lasting) => change({ options }, lasting));
    this.fields = {
      model: field("Model", this.model), k: field("Components", this.count, this.slider), scaling: field("Columns", this.scaling),
      rotation: field("Rotation", this.rotation), plane: h("span", { class: "field pair" }, h("label", { for: "across" }, "Across"), this.across, h("label", { for: "up" }, "up"), this.up),
    };
    this.node = h("div", { class: "controls", role: "group", "aria-label": "Model" }, ...Object.values(this.fields), this.options.node);
  }

  /** Another model has options of its own, and as many components as it starts with. */
  private choose({ name, first }: Model): void {
    this.change({ model: name, rotation: null, options: {}, axes: [0, 1], ...(first === null ? {} : { k: first }) }, true);
  }

  update({ model: name, k, standardize, rotation, axes, roles, options }: Question, most: number): void {
    const model = this.models.find((each) => each.name === name)!;
    this.model.selectedIndex = this.models.indexOf(model);
    for (const each of [this.count, this.slider]) {
      each.max = String(most);
      if (document.activeElement !== each || Number(each.value) > most) each.value = String(k);
    }
    this.fields.k.hidden = !model.counted;
    this.fields.scaling.hidden = !model.standardize;
    this.scaling.selectedIndex = standardize ? 0 : 1;
    this.fields.rotation.hidden = !model.rotations.length || k < 2;
    const names = ["", ...model.rotations];
    this.rotation.replaceChildren(...names.map((each) => h("option", { value: each }, each || "none")));
    this.rotation.selectedIndex = names.indexOf(rotation ?? "");
    const active = Object.entries(roles).flatMap(([column, role]) => (role === "active" ? [column] : []));
    this.plane(model.columns ? active : Array.from({ length: k }, (_, i) => String(i + 1)), axes);
    this.options.update(model.options, options ?? {});
  }

  /** What an answer says of the options: the ranges of sliders, and what is shown. */
  explain({ scales, note }: Answer): void {
    this.options.explain(scales ?? {}, note ?? "");
  }

  private plane(names: string[], axes: number[]): void {
    this.fields.plane.hidden = names.length < 2;
    this.axes = axes;
    [this.across, this.up].forEach((each, way) => {
      each.replaceChildren(...names.map((name) => h("option", {}, name)));
      each.selectedIndex = axes[way] ?? -1;
    });
  }

  /** Turns to another axis; one that the other way has changes places with it. */
  private turn(way: number, axis: number): void {
    const axes = [...this.axes];
    if (axes[1 - way] === axis) axes[1 - way] = axes[way];
    axes[way] = axis;
    this.change({ axes }, true);
  }
}

function select(id: string, act: () => void): HTMLSelectElement {
  return h("select", { id, onchange: act });
}

function field(label: string, control: HTMLElement, ...more: HTMLElement[]): HTMLElement {
  return h("span", { class: "field" }, h("label", { for: control.id }, label), control, ...more);
}
