// The questions that were asked, to go back to and forward again.
import { type Question } from "./client";

export class History {
  private asked: Question[];
  private at = 0;

  constructor(first: Question) {
    this.asked = [first];
  }

  get now(): Question {
    return this.asked[this.at];
  }

  /** Remembers a question after the present one; what was undone is forgotten. */
  add(question: Question): void {
    if (same(question, this.now)) return;
    this.asked = [...this.asked.slice(0, this.at + 1), question];
    this.at++;
  }

  /** Puts the question as the server has understood it in place of the present one. */
  settle(question: Question): void {
    this.asked[this.at] = question;
  }

  get undoable(): boolean {
    return this.at > 0;
  }

  get redoable(): boolean {
    return this.at < this.asked.length - 1;
  }

  undo(): Question {
    this.at = Math.max(0, this.at - 1);
    return this.now;
  }

  redo(): Question {
    this.at = Math.min(this.asked.length - 1, this.at + 1);
    return this.now;
  }
}

export function same(a: Question, b: Question): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
