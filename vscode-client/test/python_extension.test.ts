import { beforeEach, expect, test, vi } from "vitest";

import { ID, PythonExtension } from "../src/python_extension";
import { FakeClock, settle } from "./fake";
import { EventEmitter, events, extensions, reset, Uri } from "./vscode";

beforeEach(reset);

class Api {
  readonly changes = new EventEmitter<unknown>();
  path = "/env";
  resolve: (path: string) => Promise<{ executable: { uri: Uri | undefined } } | undefined> = async (path) => ({
    executable: { uri: Uri.file(`${path}/bin/python`) },
  });
  readonly environments = {
    getActiveEnvironmentPath: (resource?: Uri) => ({ id: "x", path: resource?.fsPath ?? this.path }),
    resolveEnvironment: vi.fn(({ path }: { path: string }) => this.resolve(path)),
    onDidChangeActiveEnvironmentPath: this.changes.event,
  };
}

function install(exports: unknown, activation?: Promise<unknown>): void {
  extensions.installed.set(ID, { isActive: activation === undefined, exports, activate: () => activation });
}

function made() {
  const clock = new FakeClock();
  const logged: string[] = [];
  const python = new PythonExtension(clock, (text) => logged.push(text));
  const changed = vi.fn();
  python.onDidChange(changed);
  return { clock, logged, python, changed };
}

test("without the extension nothing is known, and nothing is said of it", async () => {
  const { python, logged } = made();
  expect(await python.active()).toBeUndefined();
  expect(python.isInstalled).toBe(false);
  expect(logged).toEqual([]);
});

test("the executable of the selected environment, for each resource", async () => {
  install(new Api());
  const { python } = made();
  expect(await python.active()).toBe("/env/bin/python");
  expect(await python.active(Uri.file("/folder") as never)).toBe("/folder/bin/python");
});

test("it is activated if need be", async () => {
  install(undefined, Promise.resolve(new Api()));
  expect(await made().python.active()).toBe("/env/bin/python");
});

test("an environment is resolved once, until it cannot be", async () => {
  const api = new Api();
  install(api);
  const { python } = made();
  await python.active();
  await python.active();
  expect(api.environments.resolveEnvironment).toHaveBeenCalledTimes(1);
  api.path = "/broken";
  api.resolve = async () => undefined;
  expect(await python.active()).toBeUndefined();
  api.resolve = async (path) => ({ executable: { uri: Uri.file(`${path}/bin/python`) } });
  expect(await python.active()).toBe("/broken/bin/python");
});

test("an environment without a Python has none", async () => {
  const api = new Api();
  api.resolve = async () => ({ executable: { uri: undefined } });
  install(api);
  expect(await made().python.active()).toBeUndefined();
});

test("a change is passed on", async () => {
  const api = new Api();
  install(api);
  const { python, changed } = made();
  await python.active();
  api.changes.fire({});
  expect(changed).toHaveBeenCalledOnce();
});

test("what takes long is not waited for, and is passed on when it comes", async () => {
  const api = new Api();
  let answer = (_: { executable: { uri: Uri } }): void => undefined;
  api.resolve = () => new Promise((resolve) => (answer = resolve));
  install(api);
  const { python, clock, changed } = made();
  const active = python.active();
  await settle();
  await clock.pass(2000);
  expect(await active).toBeUndefined();
  expect(changed).not.toHaveBeenCalled();
  answer({ executable: { uri: Uri.file("/late/python") } });
  await settle();
  expect(changed).toHaveBeenCalledOnce();
  expect(await python.active()).toBe("/late/python");
});

test("an extension that takes long to start is not waited for, either", async () => {
  let started = (_: unknown): void => undefined;
  install(undefined, new Promise((resolve) => (started = resolve)));
  const { python, clock, changed, logged } = made();
  const active = python.active();
  await settle();
  await clock.pass(10_000);
  expect(await active).toBeUndefined();
  expect(logged).toEqual(["the Python extension takes long to start; going on without it for now"]);
  started(new Api());
  await settle();
  expect(changed).toHaveBeenCalledOnce();
});

test.each([
  ["does not start", () => install(undefined, Promise.reject(new Error("boom"))), "did not start: Error: boom"],
  ["is too old", () => install({}), "is too old"],
])("one that %s is done without, and the log says so", async (_, installed, text) => {
  installed();
  const { python, logged } = made();
  expect(await python.active()).toBeUndefined();
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain(text);
});

test("one that throws is done without", async () => {
  const api = new Api();
  api.environments.getActiveEnvironmentPath = () => {
    throw new Error("boom");
  };
  install(api);
  const { python, logged } = made();
  expect(await python.active()).toBeUndefined();
  expect(logged[0]).toContain("boom");
});

test("when it is installed later, that is a change", () => {
  const { changed } = made();
  events.extensions.fire();
  expect(changed).not.toHaveBeenCalled();
  install(new Api());
  events.extensions.fire();
  expect(changed).toHaveBeenCalledOnce();
});
