/** Time, so that tests can have their own. */

export interface Clock {
  now(): number;
  /** Calls ``action`` after so many milliseconds; the answer cancels that. */
  after(delay: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delay, action) {
    const timer = setTimeout(action, delay);
    return () => clearTimeout(timer);
  },
};

/** What ``promise`` gives, or undefined after so many milliseconds. */
export async function within<T>(clock: Clock, limit: number, promise: Promise<T>): Promise<T | undefined> {
  let cancel = (): void => undefined;
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(limit, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel();
  }
}

/** A function that calls ``action`` once it has not been called for so many milliseconds. */
export function debounced(clock: Clock, delay: number, action: () => void): (() => void) & { cancel(): void } {
  let cancel = (): void => undefined;
  const call = (): void => {
    cancel();
    cancel = clock.after(delay, action);
  };
  return Object.assign(call, { cancel: () => cancel() });
}
