// Runs long work in slices, one in each pass of the event loop: a short call waits for one at most.

const sliceLength = 2; // ms

const first: (() => void)[] = [];
const queue: (() => void)[] = [];
let isDue = false;

/** Resolves in a later pass of the event loop. Each pass continues one caller, urgent first. */
function nextSlice({ urgent = false }: { urgent?: boolean } = {}): Promise<void> {
  return new Promise((resolve) => {
    (urgent ? first : queue).push(resolve);
    if (!isDue) setImmediate(runNext);
    isDue = true;
  });
}

function runNext(): void {
  const next = first.shift() ?? queue.shift();
  isDue = first.length + queue.length > 0;
  if (isDue) setImmediate(runNext);
  next?.();
}

/** Measures slices. The caller runs `if (slices.isOver()) await slices.next()` at short intervals. */
export function startSlices(options: { urgent?: boolean } = {}) {
  let end = performance.now() + sliceLength;
  return {
    isOver: (): boolean => performance.now() >= end,
    next: async (): Promise<void> => {
      await nextSlice(options);
      end = performance.now() + sliceLength;
    },
  };
}

/** Runs a generator to its end. Other work may run at each `yield`. */
export async function inSlices<T>(steps: Generator<void, T>): Promise<T> {
  const slices = startSlices();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (slices.isOver()) await slices.next();
  }
}

export async function mapInSlices<T, R>(
  list: readonly T[],
  change: (one: T, index: number) => R,
  options: { urgent?: boolean } = {},
): Promise<R[]> {
  const slices = startSlices(options);
  const changed: R[] = [];
  for (const [i, one] of list.entries()) {
    changed.push(change(one, i));
    if (slices.isOver()) await slices.next();
  }
  return changed;
}
