// Model, components, scaling, rotation and plane: each change is a new question.
import { h } from "../dom";
import { type Model, type Question } from "./client";

/** `lasting`: whether it is a step that can be undone; a slider on its way is not. */
type Change = (change: Partial<Question>, lasting: boolean) => void;

export class Controls {
  readonly node: HTMLElement;
  private model: HTMLSelectElement;
  private count: HTMLInputElement;
  private slider: HTMLInputElement;
  private scaling: HTMLSelectElement;
  private rotation: HTMLSelectElement;
  private across: HTMLSelectElement;
  private up: HTMLSelectElement;
  private fields: Record<string, HTMLElement>;
  private axes: number[] = [];

  constructor(
    private models: Model[],
    private change: Change,
  ) {
    this.model = select("model", () => change({ model: models[this.model.selectedIndex].name, rotation: null }, true));
    this.model.append(...models.map(({ title }) => h("option", {}, title)));
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
    this.fields = {
      model: field("Model", this.model), k: field("Components", this.count, this.slider), scaling: field("Columns", this.scaling),
      rotation: field("Rotation", this.rotation), plane: h("span", { class: "field pair" }, h("label", { for: "across" }, "Across"), this.across, h("label", { for: "up" }, "up"), this.up),
    };
    this.node = h("div", { class: "controls", role: "group", "aria-label": "Model" }, ...Object.values(this.fields));
  }

  update({ model: name, k, standardize, rotation, axes }: Question, most: number): void {
    const model = this.models.find((each) => each.name === name)!;
    this.model.selectedIndex = this.models.indexOf(model);
    this.fields.model.hidden = this.models.length < 2;
    for (const each of [this.count, this.slider]) {
      each.max = String(most);
      if (document.activeElement !== each || Number(each.value) > most) each.value = String(k);
    }
    this.fields.scaling.hidden = !model.standardize;
    this.scaling.selectedIndex = standardize ? 0 : 1;
    this.fields.rotation.hidden = !model.rotations.length || k < 2;
    const names = ["", ...model.rotations];
    this.rotation.replaceChildren(...names.map((each) => h("option", { value: each }, each || "none")));
    this.rotation.selectedIndex = names.indexOf(rotation ?? "");
    this.fields.plane.hidden = k < 2;
    this.axes = axes;
    [this.across, this.up].forEach((each, way) => {
      each.replaceChildren(...Array.from({ length: k }, (_, i) => h("option", {}, String(i + 1))));
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
