/** Keeps the server as it should be: starts, stops, restarts it, one thing at a time, and again when it has died. */

import { Backoff } from "./backoff";
import type { Clock } from "./clock";
import type { Choice } from "./interpreter";
import { Queue } from "./queue";
import { type Command, ServerEnd, type Session } from "./session";
import type { State } from "./state";

/** What is to be started; no ``command`` where no interpreter will do. */
export interface Plan {
  readonly choice: Choice;
  readonly command?: Command;
}

export interface Parts {
  readonly clock: Clock;
  isEnabled(): boolean;
  plan(): Promise<Plan>;
  open(command: Command): Session;
  /** Called when a session's settings may be others, though the session stays. */
  reconfigure(session: Session): void;
  log(level: "info" | "warn" | "error", text: string): void;
}

export class Server {
  private readonly queue = new Queue();
  private readonly backoff = new Backoff();
  private readonly listeners = new Set<(state: State) => void>();
  private current: State = { phase: "stopped" };
  private running: { session: Session; ready: boolean } | undefined;
  private plan: Plan | undefined;
  private waiting: { restart?: Promise<void>; reconsider?: Promise<void> } = {};
  private cancelTimer = (): void => undefined;
  private disposed = false;

  constructor(private readonly parts: Parts) {}

  get state(): State {
    return this.current;
  }

  /** The session, if it is up. */
  get session(): Session | undefined {
    return this.running?.ready === true ? this.running.session : undefined;
  }

  onDidChange(listener: (state: State) => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  }

  /** Start it, or stop it and start it again; what died before does not count. Calls while one waits are one. */
  restart(): Promise<void> {
    this.backoff.reset();
    this.cancelTimer();
    if (this.running !== undefined && !this.running.ready) this.running.session.kill();
    this.waiting.restart ??= this.queue.run(async () => {
      delete this.waiting.restart;
      await this.down();
      await this.up();
    });
    return this.waiting.restart;
  }

  /** Something has changed that decides what is started: start it anew if it would be another one now. */
  reconsider(): Promise<void> {
    this.waiting.reconsider ??= this.queue.run(async () => {
      delete this.waiting.reconsider;
      if (this.isSuperseded()) return;
      if (!this.parts.isEnabled()) return this.disable();
      const plan = await this.parts.plan();
      const { phase } = this.current;
      const stays = phase === "ready" || phase === "waiting" || phase === "failed";
      if (stays && plan.command !== undefined && isSame(plan, this.plan)) {
        this.plan = plan;
        if (this.current.phase === "ready") this.set({ ...this.current, choice: plan.choice });
        if (this.session !== undefined) this.parts.reconfigure(this.session);
        return;
      }
      this.backoff.reset();
      this.cancelTimer();
      await this.down();
      await this.up(plan);
    });
    return this.waiting.reconsider;
  }

  /** Stop it for good. */
  async dispose(): Promise<void> {
    this.disposed = true;
    this.cancelTimer();
    if (this.running !== undefined && !this.running.ready) this.running.session.kill();
    await this.queue.run(async () => {
      await this.down();
      this.set({ phase: "stopped" });
    });
    this.listeners.clear();
  }

  // -- jobs of the queue -------------------------------------------------------------------------

  private async up(planned?: Plan): Promise<void> {
    if (this.isSuperseded()) return;
    if (!this.parts.isEnabled()) return this.disable();
    this.set({ phase: "starting" });
    const plan = planned ?? (await this.parts.plan());
    if (this.isSuperseded()) return;
    this.plan = plan;
    const { choice, command } = plan;
    if (command === undefined) {
      const kind = choice.rejected.some((each) => each.version !== undefined) ? "too-old" : "no-python";
      this.set({ phase: "failed", failure: { kind, rejected: choice.rejected } });
      return;
    }
    this.set({ phase: "starting", choice });
    const session = this.parts.open(command);
    const running = { session, ready: false };
    this.running = running;
    try {
      await session.start();
    } catch (error) {
      this.running = undefined;
      this.died(choice, error instanceof Error ? error : new Error(String(error)));
      return;
    }
    running.ready = true;
    this.set({ phase: "ready", choice, version: session.version });
    void session.ended.then((end) => this.ended(session, choice, end));
  }

  private async down(): Promise<void> {
    const { running } = this;
    this.running = undefined;
    if (running !== undefined) await running.session.stop();
  }

  private async disable(): Promise<void> {
    this.cancelTimer();
    await this.down();
    this.set({ phase: "disabled" });
  }

  private ended(session: Session, choice: Choice, end: ServerEnd): Promise<void> {
    return this.queue.run(async () => {
      if (this.running?.session !== session) return; // it was stopped
      this.running = undefined;
      this.died(choice, end);
    });
  }

  private died(choice: Choice, why: Error): void {
    if (this.isSuperseded()) return;
    const what = why.message;
    const isFinal = why instanceof ServerEnd && why.final;
    const delay = isFinal ? undefined : this.backoff.died(this.parts.clock.now());
    if (delay === undefined) {
      this.set({ phase: "failed", failure: { kind: "ended", what } });
      return;
    }
    this.parts.log("error", `The server has died: ${what}. It is started again in ${delay / 1000} s.`);
    this.set({ phase: "waiting", choice, what, delay });
    this.cancelTimer = this.parts.clock.after(delay, () => {
      void this.queue.run(async () => {
        if (this.current.phase === "waiting") await this.up();
      });
    });
  }

  /** Whether something that was asked for since makes the present job pointless. */
  private isSuperseded(): boolean {
    return this.disposed || this.waiting.restart !== undefined;
  }

  private set(state: State): void {
    this.current = state;
    for (const listener of this.listeners) listener(state);
  }
}

function isSame(one: Plan, other: Plan | undefined): boolean {
  return JSON.stringify(one.command) === JSON.stringify(other?.command);
}

