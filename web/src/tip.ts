// Words beside the pointer, that stay inside what they belong to.
import { h } from "./dom";

const GAP = 14;

export class Tip {
  readonly node = h("div", { class: "tip", hidden: true });

  hide(): void {
    this.node.hidden = true;
  }

  /** The first of the lines is a name, and pictures stand below them. The place and the room for it are in pixels of the
   * parent. */
  show([name, ...lines]: string[], px: number, py: number, width: number, height: number, pictures: HTMLElement[] = []): void {
    const { node } = this;
    node.hidden = false;
    node.replaceChildren(h("strong", {}, name), ...lines.map((line) => h("div", {}, line)), ...pictures);
    node.style.maxWidth = `${Math.min(288, width - 4)}px`;
    node.style.left = node.style.top = "0";
    const { offsetWidth, offsetHeight } = node;
    const left = px + GAP + offsetWidth > width ? px - GAP - offsetWidth : px + GAP;
    const top = py + GAP + offsetHeight > height ? py - GAP - offsetHeight : py + GAP;
    node.style.left = `${Math.max(0, Math.min(left, width - offsetWidth))}px`;
    node.style.top = `${Math.max(0, top)}px`;
  }
}
