import { beforeEach, expect, test } from "vitest";

import type { Choice } from "../src/interpreter";
import { type Plan, Server } from "../src/server";
import type { State } from "../src/state";
import { FakeClock, FakeSession, settle } from "./fake";

function planned(executable: string): Plan {
  const choice: Choice = { server: { executable, version: [3, 12, 0], source: "PATH" }, rejected: [] };
  return { choice, command: { command: executable, args: [], cwd: "/" } };
}

class World {
  readonly clock = new FakeClock();
  readonly sessions: FakeSession[] = [];
  readonly opened: string[] = [];
  readonly phases: string[] = [];
  readonly logged: string[] = [];
  readonly reconfigured: unknown[] = [];
  enabled = true;
  answersAtOnce = true;
  plan: Plan = planned("/py");
  planning: Promise<void> = Promise.resolve();
  plans = 0;

  readonly server = new Server({
    clock: this.clock,
    isEnabled: () => this.enabled,
    plan: async () => {
      this.plans += 1;
      await this.planning;
      return this.plan;
    },
    open: (command) => {
      this.opened.push(command.command);
      const session = new FakeSession(this.answersAtOnce);
      this.sessions.push(session);
      return session;
    },
    reconfigure: (session) => this.reconfigured.push(session),
    log: (level, text) => this.logged.push(`${level} ${text}`),
  });

  constructor() {
    this.server.onDidChange((state: State) => this.phases.push(state.phase));
  }

  get last(): FakeSession {
    const session = this.sessions.at(-1);
    if (session === undefined) throw new Error("nothing was opened");
    return session;
  }

  /** How many sessions are up or coming up. */
  get alive(): number {
    return this.sessions.filter(({ deeds }) => !deeds.includes("stop") && !deeds.includes("kill")).length;
  }
}

let world: World;

beforeEach(() => {
  world = new World();
});

test("it starts", async () => {
  await world.server.restart();
  expect(world.phases).toEqual(["starting", "starting", "ready"]);
  expect(world.server.state).toMatchObject({ phase: "ready", version: "9.9.9" });
  expect(world.server.session).toBe(world.last);
});

test("a session that is not up yet is not given out", async () => {
  world.answersAtOnce = false;
  const done = world.server.restart();
  await settle();
  expect(world.server.session).toBeUndefined();
  world.last.answer();
  await done;
  expect(world.server.session).toBe(world.last);
});

test("restarting stops the old session before the new one is opened", async () => {
  await world.server.restart();
  await world.server.restart();
  expect(world.sessions.map(({ deeds }) => deeds)).toEqual([["start", "stop"], ["start"]]);
});

test("many restarts at once are one", async () => {
  await Promise.all([world.server.restart(), world.server.restart(), world.server.restart()]);
  expect(world.sessions).toHaveLength(1);
});

test("a restart while one is starting ends that one and says nothing of it", async () => {
  world.answersAtOnce = false;
  const first = world.server.restart();
  await settle();
  world.answersAtOnce = true;
  await Promise.all([first, world.server.restart()]);
  expect(world.sessions.map(({ deeds }) => deeds)).toEqual([["start", "kill"], ["start"]]);
  expect(world.logged).toEqual([]);
  expect(world.server.state.phase).toBe("ready");
  expect(world.phases).not.toContain("waiting");
});

test("a restart while the interpreter is being looked for opens one session, not two", async () => {
  let go = (): void => undefined;
  world.planning = new Promise((resolve) => (go = resolve));
  const first = world.server.restart();
  await settle();
  const second = world.server.restart();
  go();
  await Promise.all([first, second]);
  expect(world.sessions).toHaveLength(1);
});

test("when it dies it is started again: after 1, 2, 4 and 8 seconds, and then not", async () => {
  await world.server.restart();
  for (const delay of [1000, 2000, 4000, 8000]) {
    world.last.die("it ended with exit code 1");
    await settle();
    expect(world.server.state).toMatchObject({ phase: "waiting", delay, what: "it ended with exit code 1" });
    expect(world.server.session).toBeUndefined();
    await world.clock.pass(delay - 1);
    expect(world.server.state.phase).toBe("waiting");
    await world.clock.pass(1);
    expect(world.server.state.phase).toBe("ready");
  }
  world.last.die("it ended with exit code 1");
  await settle();
  expect(world.server.state).toEqual({
    phase: "failed",
    failure: { kind: "ended", what: "it ended with exit code 1" },
  });
  expect(world.sessions).toHaveLength(5);
  expect(world.phases.filter((each) => each === "failed")).toHaveLength(1);
  expect(world.clock.waiting).toBe(0);
});

test("one that dies while it starts is treated in the same way", async () => {
  world.answersAtOnce = false;
  void world.server.restart();
  for (const delay of [1000, 2000, 4000, 8000]) {
    await settle();
    world.last.die("it ended with exit code 2");
    await settle();
    await world.clock.pass(delay);
  }
  world.last.die("it ended with exit code 2");
  await settle();
  expect(world.server.state.phase).toBe("failed");
  expect(world.sessions).toHaveLength(5);
});

test("an end that would come again is not tried again", async () => {
  world.answersAtOnce = false;
  void world.server.restart();
  await settle();
  world.last.die("there is no server", true);
  await settle();
  expect(world.server.state.phase).toBe("failed");
  expect(world.sessions).toHaveLength(1);
});

test("deaths that are long ago do not count", async () => {
  await world.server.restart();
  for (let i = 0; i < 8; i++) {
    world.last.die("it ended with exit code 1");
    await settle();
    await world.clock.pass(8000);
    await world.clock.pass(60_000);
  }
  expect(world.server.state.phase).toBe("ready");
});

test("after it was given up a restart begins anew", async () => {
  await world.server.restart();
  for (let i = 0; i < 5; i++) {
    world.last.die("x");
    await settle();
    await world.clock.pass(8000);
  }
  expect(world.server.state.phase).toBe("failed");
  await world.server.restart();
  world.last.die("x");
  await settle();
  expect(world.server.state).toMatchObject({ phase: "waiting", delay: 1000 });
});

test("a restart while it waits starts at once, and the timer starts no second one", async () => {
  await world.server.restart();
  world.last.die("x");
  await settle();
  await world.server.restart();
  await world.clock.pass(60_000);
  expect(world.sessions).toHaveLength(2);
  expect(world.server.state.phase).toBe("ready");
});

test("a session that was stopped and then ends is no death", async () => {
  await world.server.restart();
  await world.server.restart();
  await settle();
  expect(world.phases).not.toContain("waiting");
});

test("without an interpreter it fails, and says whether one was too old", async () => {
  world.plan = { choice: { rejected: [{ command: "a", source: "PATH", reason: "is not there" }] } };
  await world.server.restart();
  expect(world.server.state).toMatchObject({ phase: "failed", failure: { kind: "no-python" } });
  world.plan = { choice: { rejected: [{ command: "a", source: "PATH", version: "3.9.0", reason: "is too old" }] } };
  await world.server.restart();
  expect(world.server.state).toMatchObject({ phase: "failed", failure: { kind: "too-old" } });
  expect(world.sessions).toHaveLength(0);
});

test("another interpreter: stopped, and started with that", async () => {
  await world.server.restart();
  world.plan = planned("/other");
  await world.server.reconsider();
  expect(world.opened).toEqual(["/py", "/other"]);
  expect(world.sessions[0]?.deeds).toEqual(["start", "stop"]);
  expect(world.plans).toBe(2);
});

test("the same interpreter: only the configuration is sent again", async () => {
  await world.server.restart();
  await world.server.reconsider();
  expect(world.sessions).toHaveLength(1);
  expect(world.reconfigured).toEqual([world.last]);
});

test("the same interpreter while a dead server waits: neither started early nor given another life", async () => {
  await world.server.restart();
  world.last.die("x");
  await settle();
  await world.server.reconsider();
  expect(world.server.state.phase).toBe("waiting");
  await world.clock.pass(1000);
  expect(world.server.state.phase).toBe("ready");
  expect(world.sessions).toHaveLength(2);
});

test("a timer that ends while another interpreter is looked for starts no second session", async () => {
  await world.server.restart();
  world.last.die("x");
  await settle();
  let go = (): void => undefined;
  world.planning = new Promise((resolve) => (go = resolve));
  world.plan = planned("/other");
  const changed = world.server.reconsider();
  await settle();
  await world.clock.pass(1000);
  go();
  await changed;
  await settle();
  expect(world.opened).toEqual(["/py", "/other"]);
  expect(world.server.session).toBe(world.last);
});

test("an interpreter that is found later starts it", async () => {
  world.plan = { choice: { rejected: [] } };
  await world.server.restart();
  world.plan = planned("/py");
  await world.server.reconsider();
  expect(world.server.state.phase).toBe("ready");
});

test("an interpreter that goes away stops it", async () => {
  await world.server.restart();
  world.plan = { choice: { rejected: [] } };
  await world.server.reconsider();
  expect(world.server.state.phase).toBe("failed");
  expect(world.sessions[0]?.deeds).toEqual(["start", "stop"]);
});

test("changes while it starts lead to one session with the last interpreter", async () => {
  let go = (): void => undefined;
  world.planning = new Promise((resolve) => (go = resolve));
  const all = [world.server.restart(), world.server.reconsider(), world.server.restart(), world.server.reconsider()];
  await settle();
  world.plan = planned("/last");
  all.push(world.server.reconsider());
  go();
  await Promise.all(all);
  expect(world.server.session).toBe(world.last);
  expect(world.opened.at(-1)).toBe("/last");
  expect(world.alive).toBe(1);
});

test("switched off it stops, and switched on it starts", async () => {
  await world.server.restart();
  world.enabled = false;
  await world.server.reconsider();
  expect(world.server.state.phase).toBe("disabled");
  await world.server.restart();
  expect(world.sessions).toHaveLength(1);
  world.enabled = true;
  await world.server.reconsider();
  expect(world.server.state.phase).toBe("ready");
});

test("at the end it stops, whatever it was doing, and starts no more", async () => {
  world.answersAtOnce = false;
  const starting = world.server.restart();
  await settle();
  await Promise.all([world.server.dispose(), starting]);
  expect(world.sessions[0]?.deeds).toContain("kill");
  await world.server.restart();
  expect(world.sessions).toHaveLength(1);
  expect(world.server.state.phase).toBe("stopped");
});

test("at the end no timer is left", async () => {
  await world.server.restart();
  world.last.die("x");
  await settle();
  await world.server.dispose();
  expect(world.clock.waiting).toBe(0);
});

test("whatever is asked for in whatever order, at most one session lives", async () => {
  let seed = 7;
  const random = (n: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * n);
  };
  for (let i = 0; i < 400; i++) {
    const deeds = [
      () => void world.server.restart(),
      () => void world.server.reconsider(),
      () => void (world.plan = planned(`/py${random(3)}`)),
      () => void (world.answersAtOnce = random(2) === 0),
      () => world.sessions.at(-1)?.answer(),
      () => world.sessions.at(-1)?.die("x"),
      () => world.clock.pass(random(10_000)),
      () => void (world.enabled = random(5) > 0),
      settle,
    ];
    await deeds[random(deeds.length)]?.();
    const living = world.sessions.filter(({ deeds: done }) => !done.includes("stop") && !done.includes("kill"));
    const dead = await Promise.all(living.map((each) => Promise.race([each.ended.then(() => true), settle().then(() => false)])));
    expect(dead.filter((each) => !each).length).toBeLessThanOrEqual(1);
  }
  world.enabled = world.answersAtOnce = true;
  world.last.answer();
  await world.server.restart();
  expect(world.server.state.phase).toBe("ready");
});
