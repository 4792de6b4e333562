import { expect, test } from "vitest";

import { type Answer, type Candidate, candidates, choose, describe as inWords, expand, isNewEnough } from "../src/interpreter";
import { machine } from "./fake";

const commands = (found: readonly Candidate[]): string[] => found.map(({ command, args }) => [command, ...args].join(" "));

const answers = (known: Record<string, readonly [number, number, number] | string>) => {
  const asked: string[] = [];
  const ask = async ({ command }: Candidate): Promise<Answer> => {
    asked.push(command);
    const version = known[command];
    if (version === undefined || typeof version === "string") throw new Error(version ?? "is not there");
    return { executable: `${command}.real`, version };
  };
  return { ask, asked };
};

const candidate = (command: string, source = "PATH"): Candidate => ({ command, args: [], source });

test("the order is: the setting, the Python extension, .venv and venv of the folders, PATH", () => {
  const files = ["/opt/py", "/ws/.venv/bin/python", "/ws2/venv/bin/python", "/usr/bin/python3", "/usr/bin/python3.12"];
  const found = candidates(
    machine(files, { setting: "/opt/py", active: "/conda/bin/python", folders: ["/ws", "/ws2"] }),
  );
  expect(commands(found)).toEqual([
    "/opt/py",
    "/conda/bin/python",
    "/ws/.venv/bin/python",
    "/ws2/venv/bin/python",
    "/usr/bin/python3",
    "/usr/bin/python3.12",
  ]);
  expect(found.map((each) => each.source)).toEqual([
    "setting graphmend.interpreter",
    "Python extension",
    ".venv of the workspace",
    "venv of the workspace",
    "PATH",
    "PATH",
  ]);
});

test("what is found twice is asked once", () => {
  const found = candidates(machine(["/ws/.venv/bin/python"], { active: "/ws/.venv/bin/python" }));
  expect(commands(found)).toEqual(["/ws/.venv/bin/python"]);
});

test("nothing of a workspace that is not trusted is a candidate", () => {
  const files = ["/ws/.venv/bin/python", "/ws/bin/python3", "/usr/bin/python3", "/ws/tools/py"];
  const untrusted = { trusted: false, path: ["/ws/bin", ".", "/usr/bin"], active: "/ws/.venv/bin/python" };
  expect(commands(candidates(machine(files, untrusted)))).toEqual(["/usr/bin/python3"]);
  for (const setting of ["/ws/tools/py", "tools/py", "${workspaceFolder}/tools/py"]) {
    expect(commands(candidates(machine(files, { ...untrusted, setting })))).toEqual(["/usr/bin/python3"]);
  }
});

test("a link into a workspace that is not trusted is no way in", () => {
  const real = (file: string): string => file.replace("/alias", "/ws");
  const places = machine(["/alias/python3"], { trusted: false, path: ["/alias"], real });
  expect(candidates(places)).toEqual([]);
});

test("a folder whose name begins alike is not inside the workspace", () => {
  const places = machine(["/ws-other/python3"], { trusted: false, path: ["/ws-other"] });
  expect(commands(candidates(places))).toEqual(["/ws-other/python3"]);
});

test("relative parts of PATH are passed over, trusted or not", () => {
  expect(candidates(machine(["bin/python3", "./python3"], { path: ["bin", "."] }))).toEqual([]);
});

test("a setting may be a command, the folder of an environment, relative, or have variables", () => {
  const files = ["/usr/bin/python3.11", "/ws/env/bin/python", "/home/me/py", "/e/py"];
  const first = (setting: string): string | undefined =>
    candidates(machine(files, { setting, env: { ENVS: "/e" } }))[0]?.command;
  expect(first("python3.11")).toBe("/usr/bin/python3.11");
  expect(first("env")).toBe("/ws/env/bin/python");
  expect(first("python3.9")).toBe("/ws/python3.9"); // not the bare name, which the system would search for
  expect(first("./env")).toBe("/ws/env/bin/python");
  expect(first("~/py")).toBe("/home/me/py");
  expect(first("${userHome}/py")).toBe("/home/me/py");
  expect(first("${env:ENVS}/py")).toBe("/e/py");
  expect(first("  ")).toBe("/usr/bin/python3.11");
});

test("a command that only the workspace has is none where that is not trusted", () => {
  const places = machine(["/ws/bin/python3.12"], { trusted: false, path: ["/ws/bin"], setting: "python3.12" });
  expect(candidates(places)).toEqual([]);
});

test("a tilde stands for home only at the start", () => {
  expect(expand("~", { folders: [], home: "/h", env: {} })).toBe("/h");
  expect(expand("/a/~b", { folders: [], home: "/h", env: {} })).toBe("/a/~b");
  expect(expand("~b/c", { folders: [], home: "/h", env: {} })).toBe("~b/c");
});

test("the first that is new enough is taken, and later ones are not started", async () => {
  const { ask, asked } = answers({ a: [3, 9, 1], b: "is not there", c: [3, 10, 0], d: [3, 13, 0] });
  const choice = await choose(["a", "b", "c", "d"].map((each) => candidate(each)), ask);
  expect(asked).toEqual(["a", "b", "c"]);
  expect(choice.server).toEqual({ executable: "c.real", version: [3, 10, 0], source: "PATH" });
  expect(choice.rejected.map(({ command, reason }) => `${command} ${reason}`)).toEqual([
    "a is Python 3.9.1, which is too old",
    "b is not there",
  ]);
});

test("with none there is no server, and each reason is kept", async () => {
  const choice = await choose([candidate("a")], answers({ a: [2, 7, 18] }).ask);
  expect(choice.server).toBeUndefined();
  expect(choice.rejected).toEqual([
    { command: "a", source: "PATH", version: "2.7.18", reason: "is Python 2.7.18, which is too old" },
  ]);
});

test.each([
  [[3, 9, 20], false],
  [[3, 10, 0], true],
  [[3, 14, 0], true],
  [[2, 11, 0], false],
  [[4, 0, 0], true],
])("%j is new enough: %s", (version, expected) => {
  expect(isNewEnough(version)).toBe(expected);
});

test("an interpreter in words", () => {
  expect(inWords({ executable: "/p", version: [3, 12, 1], source: "PATH" })).toBe("Python 3.12.1 (/p; from PATH)");
});
