// Charts are drawn as wide as the page has laid them out: in the frame that shows them, or at once where somebody waits.

/** Draws a node of this size; `place`: where it was in the window before any of those that came with it was drawn. */
type Fit = (width: number, height: number, place?: DOMRect) => void;

/** Those that have not been laid out yet. */
const fresh = new Map<HTMLElement, Fit>();

/** Calls `fit` with the size of a node once it is on the page, and whenever that changes: what is observed is as large as it
 * says, while to ask the page would have all of it laid out once more for each chart. */
export function whenLaidOut(node: HTMLElement, fit: Fit): void {
  fresh.set(node, fit);
  new ResizeObserver(([{ contentRect: { width, height } }]) => {
    fresh.delete(node);
    fit(Math.round(width), Math.round(height));
  }).observe(node);
}

/** Draws those that have just come onto the page, all of them measured before the first is drawn: they are ready when the
 * next frame begins, and not one late. */
export function drawFresh(): void {
  const found = [...fresh].filter(([node]) => node.isConnected).map(([node, fit]) => [node, fit, node.clientWidth, node.clientHeight, node.getBoundingClientRect()] as const);
  for (const [node, fit, width, height, place] of found) {
    fresh.delete(node);
    if (width > 0) fit(width, height, place);
  }
}
