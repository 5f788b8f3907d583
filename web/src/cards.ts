// Cards beside and below each other.
import { h } from "./dom";

const LINE = 4;

/** Cards in columns without holes: each spans as many thin lines of a grid as it is high. */
export function pack(cards: HTMLElement[]): HTMLElement {
  const slots = cards.map((each) => h("div", { class: `slot ${each.dataset.wide ?? ""}` }, each));
  const observer = new ResizeObserver((entries) => {
    for (const { target, borderBoxSize: [{ blockSize }] } of entries)
      target.parentElement!.style.gridRow = `span ${Math.ceil((blockSize + 16) / LINE)}`;
  });
  for (const each of cards) observer.observe(each);
  return h("div", { class: "cards" }, ...slots);
}
