/** Time, sessions and files that tests command. */

import type { Clock } from "../src/clock";
import type { Places } from "../src/interpreter";
import { ServerEnd, type Session } from "../src/session";

export class FakeClock implements Clock {
  private time = 0;
  private timers: { at: number; action: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(delay: number, action: () => void): () => void {
    const timer = { at: this.time + delay, action };
    this.timers.push(timer);
    return () => (this.timers = this.timers.filter((each) => each !== timer));
  }

  get waiting(): number {
    return this.timers.length;
  }

  async pass(milliseconds: number): Promise<void> {
    this.time += milliseconds;
    const due = this.timers.filter((each) => each.at <= this.time);
    this.timers = this.timers.filter((each) => each.at > this.time);
    for (const { action } of due) action();
    await settle();
  }
}

/** Lets all that is ready run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

export class FakeSession implements Session {
  readonly client = {} as Session["client"];
  readonly version = "9.9.9";
  readonly ended: Promise<ServerEnd>;
  readonly deeds: string[] = [];
  private end: (end: ServerEnd) => void = () => undefined;
  private started: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(readonly answersAtOnce = true) {
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  start(): Promise<void> {
    this.deeds.push("start");
    if (this.answersAtOnce) return Promise.resolve();
    return new Promise((resolve, reject) => (this.started = { resolve, reject }));
  }

  stop(): Promise<void> {
    this.deeds.push("stop");
    this.end(new ServerEnd("it ended with exit code 0", false));
    return Promise.resolve();
  }

  kill(): void {
    this.deeds.push("kill");
    this.die("it was ended by SIGTERM");
  }

  answer(): void {
    this.started?.resolve();
  }

  die(what: string, final = false): void {
    const end = new ServerEnd(what, final);
    this.started?.reject(end);
    this.end(end);
  }
}

/** A machine with these files; all of them are programs. */
export function machine(files: readonly string[], more: Partial<Places> = {}): Places {
  return {
    setting: "",
    active: undefined,
    folders: ["/ws"],
    path: ["/usr/bin"],
    trusted: true,
    windows: false,
    home: "/home/me",
    env: {},
    exists: (file) => files.includes(file),
    real: (file) => file,
    ...more,
  };
}
