// The shelf: every column in the place of its role. Columns are dragged to another, or given one by their own list.
import { h } from "../dom";
import { type Question, type ShelfColumn } from "./client";

/** What the places are called, and what a column does there. */
const PLACES: Record<string, [string, string]> = {
  active: ["Active", "makes the components"],
  supplementary: ["Supplementary", "is compared with the components"],
  colour: ["Colour", "colours the rows, and is compared with the components"],
  name: ["Names", "names the rows"],
  weight: ["Weight", "weights the rows: 3 counts as three copies"],
  ignore: ["Ignored", "takes no part"],
};

/** Roles that one column has at most: another one that gets it sends the first away. */
const SINGLE = ["name", "weight"];

/** The most columns of a place that are listed; of more, the field above finds the others. */
const LISTED = 200;

type Move = (roles: Record<string, string>) => void;

export class Shelf {
  readonly node: HTMLElement;
  private places = new Map<string, HTMLElement>();
  private field: HTMLInputElement;
  private roles: Record<string, string> = {};

  constructor(
    private columns: ShelfColumn[],
    private order: string[],
    private moved: Move,
  ) {
    this.field = h("input", { id: "filter", type: "search", placeholder: "part of a name", autocomplete: "off", oninput: () => this.show() });
    const places = h("div", { id: "places" }, h("div", { class: "field" }, h("label", { for: "filter" }, "Find"), this.field), ...order.map((role) => this.place(role)));
    const fold = h("button", { type: "button", class: "fold", "aria-controls": "places", "aria-expanded": "false", onclick: () => {
      fold.setAttribute("aria-expanded", String(this.node.classList.toggle("open")));
    } }, "Choose columns");
    this.node = h("aside", { class: "shelf", "aria-label": "Columns" }, h("div", { class: "head" }, h("h2", {}, "Columns"), fold), places);
  }

  update({ roles }: Question): void {
    if (JSON.stringify(roles) === JSON.stringify(this.roles)) return;
    this.roles = roles;
    this.show();
  }

  private place(role: string): HTMLElement {
    const [, words] = PLACES[role];
    const inside = h("div", {});
    this.places.set(role, inside);
    const over = (on: boolean) => (event: DragEvent): void => {
      if (on) event.preventDefault();
      node.classList.toggle("over", on);
    };
    const node = h("section", {
      class: "place", "data-role": role, title: `A column here ${words}`, ondragover: over(true), ondragleave: over(false),
      ondrop: (event: DragEvent) => {
        over(false)(event);
        event.preventDefault();
        const name = event.dataTransfer?.getData("text/plain") ?? "";
        if (this.columns.some((column) => column.name === name && possible(column, role))) this.move([name], role);
      },
    }, inside);
    return node;
  }

  private show(): void {
    const focused = (document.activeElement as HTMLElement | null)?.dataset.column;
    const wanted = this.field.value.trim().toLowerCase();
    for (const role of this.order) {
      const mine = this.columns.filter((column) => this.roles[column.name] === role);
      const found = mine.filter(({ name }) => name.toLowerCase().includes(wanted));
      this.places.get(role)!.replaceChildren(this.head(role, mine.length, found), ...this.list(found));
    }
    // The list of a column has moved with it: the keyboard goes on from there.
    if (focused) this.node.querySelector<HTMLElement>(`[data-column="${CSS.escape(focused)}"]`)?.focus();
  }

  private head(role: string, count: number, found: ShelfColumn[]): HTMLElement {
    const [title] = PLACES[role];
    const number = found.length < count ? `${found.length} of ${count}` : String(count);
    const others = this.order.filter((other) => other !== role && !SINGLE.includes(other));
    const all = h("select", { class: "all", "aria-label": `Move all ${found.length} columns shown in ${title}`, onchange: () => {
      const to = others[all.selectedIndex - 1];
      this.move(found.filter((column) => possible(column, to)).map(({ name }) => name), to);
    } }, h("option", {}, "move all to …"), ...others.map((other) => h("option", {}, PLACES[other][0])));
    return h("div", { class: "head" }, h("h3", {}, title, h("span", { class: "count" }, ` ${number}`)), ...(found.length > 1 ? [all] : []));
  }

  private list(found: ShelfColumn[]): HTMLElement[] {
    if (!found.length) return [];
    const more = found.length > LISTED ? [h("p", { class: "note" }, `and ${found.length - LISTED} more, which the field above finds`)] : [];
    return [h("ul", {}, ...found.slice(0, LISTED).map((column) => this.chip(column))), ...more];
  }

  private chip(column: ShelfColumn): HTMLElement {
    const { name, numeric, reason, missing, usable } = column;
    const role = h("select", { "aria-label": `Role of ${name}`, "data-column": name, disabled: !usable, onchange: () => this.move([name], this.order[role.selectedIndex]) },
      ...this.order.map((each) => h("option", { disabled: !possible(column, each) }, PLACES[each][0])));
    role.selectedIndex = this.order.indexOf(this.roles[name]);
    const words = [reason, missing ? `${missing.toLocaleString("en")} missing` : ""].filter(Boolean).join("; ");
    return h("li", {
      class: usable ? "chip" : "chip unusable", draggable: String(usable), ondragstart: (event: DragEvent) => event.dataTransfer?.setData("text/plain", name),
    }, h("span", { class: "kind", title: numeric ? "numbers" : "text", "aria-hidden": "true" }, numeric ? "#" : "a"),
    h("span", { class: "name" }, name.trim() || "(no name)", ...(words ? [h("small", {}, words)] : [])), role);
  }

  private move(names: string[], role: string): void {
    const roles = { ...this.roles };
    const moved = SINGLE.includes(role) ? names.slice(0, 1) : names;
    if (SINGLE.includes(role)) for (const [name, own] of Object.entries(roles)) if (own === role) roles[name] = "ignore";
    for (const name of moved) roles[name] = role;
    this.moved(roles);
  }
}

/** Whether a column can have a role: text makes no components, and weights no rows. */
function possible({ numeric, usable }: ShelfColumn, role: string): boolean {
  return role === "ignore" || (usable && (numeric || (role !== "active" && role !== "weight")));
}
