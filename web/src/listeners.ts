// Functions that are called when something changes, and forgotten together with the charts that they draw.

let open: (() => void)[] | null = null;

export class Listeners {
  private all = new Set<() => void>();

  add(listener: () => void): void {
    this.all.add(listener);
    open?.push(() => this.all.delete(listener));
  }

  tell(): void {
    for (const listener of [...this.all]) listener();
  }
}

/** What `make` makes, and how to forget all that it made listen: charts that are replaced must not be drawn again. */
export function forgettable<T>(make: () => T): [T, () => void] {
  const outer = open;
  const mine: (() => void)[] = (open = []);
  try {
    return [make(), () => mine.forEach((forget) => forget())];
  } finally {
    open = outer;
  }
}
