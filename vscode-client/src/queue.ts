/** Jobs that run one after the other, in the order in which they came. */

export class Queue {
  private last: Promise<unknown> = Promise.resolve();

  run<T>(job: () => Promise<T>): Promise<T> {
    const done = this.last.then(job, job);
    this.last = done.catch(() => undefined);
    return done;
  }
}
