/** When a server that died is started again: soon at first, then later, and not for ever. */

export const DELAYS: readonly number[] = [1000, 2000, 4000, 8000];
export const MOST = 5;
export const WINDOW = 3 * 60 * 1000;

export class Backoff {
  private deaths: number[] = [];

  /** The server has died: milliseconds to wait before the next start, or undefined to give up. */
  died(now: number): number | undefined {
    this.deaths = this.deaths.filter((each) => now - each < WINDOW);
    this.deaths.push(now);
    if (this.deaths.length >= MOST) return undefined;
    return DELAYS[Math.min(this.deaths.length, DELAYS.length) - 1];
  }

  /** The user wants it anew: what was does not count. */
  reset(): void {
    this.deaths = [];
  }
}
