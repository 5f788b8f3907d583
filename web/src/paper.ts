// What draws itself at once when the page is about to be printed: the printer does not wait for a frame.
// Events of our own would not do: browsers hold them back while they print.

const waiting: (() => void)[] = [];

/** Calls `draw` before every print. */
export function beforePaper(draw: () => void): void {
  waiting.push(draw);
}

export function drawForPaper(): void {
  for (const draw of waiting) draw();
}
