import { expect, test } from "vitest";

import { Backoff, DELAYS, MOST, WINDOW } from "../src/backoff";
import { debounced, within } from "../src/clock";
import { Queue } from "../src/queue";
import { FakeClock, settle } from "./fake";

test("longer each time, then never", () => {
  const backoff = new Backoff();
  expect([0, 1, 2, 3, 4].map((now) => backoff.died(now))).toEqual([...DELAYS, undefined]);
});

test("only the deaths of the last minutes count", () => {
  const backoff = new Backoff();
  for (let i = 0; i < MOST - 1; i++) backoff.died(0);
  expect(backoff.died(WINDOW)).toBe(DELAYS[0]);
});

test("a reset forgets", () => {
  const backoff = new Backoff();
  for (let i = 0; i < MOST; i++) backoff.died(0);
  backoff.reset();
  expect(backoff.died(0)).toBe(DELAYS[0]);
});

test("jobs of a queue do not overlap, and one that fails does not stop the next", async () => {
  const queue = new Queue();
  const seen: string[] = [];
  const job = (name: string, error?: Error) => async () => {
    seen.push(`${name} begins`);
    await settle();
    seen.push(`${name} ends`);
    if (error !== undefined) throw error;
    return name;
  };
  const first = queue.run(job("a", new Error("no")));
  const second = queue.run(job("b"));
  await expect(first).rejects.toThrow("no");
  expect(await second).toBe("b");
  expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends"]);
});

test("calls in quick succession are one", async () => {
  const clock = new FakeClock();
  let calls = 0;
  const call = debounced(clock, 500, () => (calls += 1));
  call();
  await clock.pass(400);
  call();
  await clock.pass(400);
  expect(calls).toBe(0);
  await clock.pass(100);
  expect(calls).toBe(1);
  call();
  call.cancel();
  await clock.pass(1000);
  expect(calls).toBe(1);
});

test("what comes in time counts, and leaves no timer", async () => {
  const clock = new FakeClock();
  expect(await within(clock, 100, Promise.resolve("x"))).toBe("x");
  expect(clock.waiting).toBe(0);
  const late = within(clock, 100, new Promise(() => undefined));
  await clock.pass(100);
  expect(await late).toBeUndefined();
});
