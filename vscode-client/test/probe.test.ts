import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { ask, parse } from "../src/probe";

const posix = process.platform !== "win32";

async function program(text: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), "graphmend-")), "python3");
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
  return file;
}

const candidate = (command: string) => ({ command, args: [], source: "test" });

test("the answer is read from among other lines", () => {
  expect(parse("hello\r\ngraphmend 3 11 7 /opt/my python/bin/python3\r\n", "x")).toEqual({
    executable: "/opt/my python/bin/python3",
    version: [3, 11, 7],
  });
});

test("a Python that does not know where it is, is called by its command", () => {
  expect(parse("graphmend 3 11 7 \n", "/p")?.executable).toBe("/p");
});

test("anything else is no answer", () => {
  expect(parse("Python 3.11.7", "x")).toBeUndefined();
});

test.runIf(posix)("a program that answers", async () => {
  const file = await program('echo "graphmend 3 12 4 $0"; echo "$@" >&2');
  expect(await ask(candidate(file))).toEqual({ executable: file, version: [3, 12, 4] });
});

test.runIf(posix)("the environment is kept out", async () => {
  const file = await program('case "$*" in "-I -S -c "*) echo "graphmend 3 12 4 $PWD";; esac');
  const answer = await ask(candidate(file));
  expect(answer.executable).not.toBe(process.cwd());
});

test.runIf(posix)("why one cannot be used is said", async () => {
  const broken = await program("echo 'Unable to load libpython' >&2; exit 3");
  await expect(ask(candidate(broken))).rejects.toThrow("cannot be used: Unable to load libpython");
  await expect(ask(candidate(await program("exit 3")))).rejects.toThrow("cannot be used (3)");
  await expect(ask(candidate(await program("echo hello")))).rejects.toThrow("is not a Python");
  await expect(ask(candidate(join(tmpdir(), "graphmend-none")))).rejects.toThrow("is not there");
});

test.runIf(posix)("one that does not answer is given up", async () => {
  const file = await program("exec sleep 60");
  await expect(ask(candidate(file), 200)).rejects.toThrow("did not answer within 0.2 s");
});

test.runIf(posix)("one that may not be started", async () => {
  const file = await program("exit 0");
  await chmod(file, 0o644);
  await expect(ask(candidate(file))).rejects.toThrow("may not be started");
});
