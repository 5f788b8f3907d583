// Light or dark: the style sheet decides, and what is drawn with colours of its own is drawn again when that changes.
import { Listeners } from "./listeners";

const waiting = new Listeners();

/** Paper is white whatever the screen is. */
let printing = false;

export function dark(): boolean {
  return !printing && getComputedStyle(document.documentElement).getPropertyValue("color-scheme").trim() === "dark";
}

/** Calls `draw` whenever the page turns light or dark. */
export function onTheme(draw: () => void): void {
  waiting.add(draw);
}

function turned(): void {
  waiting.tell();
}

export function turn(): void {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  turned();
}

export function paper(): boolean {
  return printing;
}

/** While the page is printed, and after: as wide as a sheet, so that what is drawn fills it. */
export function onPaper(now: boolean): void {
  if (printing === now) return;
  printing = now;
  document.documentElement.classList.toggle("paper", now);
  turned();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", turned);
