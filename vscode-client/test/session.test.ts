import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { levelOf } from "../src/log";
import { ProcessSession, type ServerEnd } from "../src/session";
import { LanguageClient } from "./languageclient";
import { channel, reset } from "./vscode";

beforeEach(() => {
  reset();
  LanguageClient.made.length = 0;
  LanguageClient.start = async () => undefined;
  LanguageClient.stop = async () => undefined;
});

const never = (): Promise<void> => new Promise(() => undefined);
/** As the real client does it: the connection closes, and that is all that it knows. */
const whenClosed = (client: LanguageClient): Promise<void> =>
  new Promise((_, reject) => client.process?.stderr.on("close", () => reject(new Error("connection got disposed"))));

async function session(text: string): Promise<ProcessSession> {
  const file = join(await mkdtemp(join(tmpdir(), "graphmend-")), "server");
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
  return new ProcessSession({ command: file, args: ["--stdio"], cwd: tmpdir() }, {}, channel as never);
}

const failure = (starting: Promise<void>): Promise<Error> =>
  starting.then(
    () => Promise.reject(new Error("it started")),
    (error: Error) => error,
  );

describe.runIf(process.platform !== "win32")("the process", () => {
  test("starts, and stops without being told twice", async () => {
    const running = await session("read line; exit 0");
    LanguageClient.stop = async (client) => {
      (client.process as unknown as { stdin: { end(text: string): void } }).stdin.end("exit\n");
    };
    await running.start();
    expect(running.version).toBe("1.2.3");
    await running.stop();
    expect((await running.ended).message).toBe("it ended with exit code 0");
  });

  test("that does not stop is ended", async () => {
    const running = await session("exec sleep 60");
    await running.start();
    await running.stop();
    expect((await running.ended).message).toBe("it was ended by SIGTERM");
  });

  test("that ends by itself is noticed", async () => {
    const running = await session("exit 7");
    await running.start();
    expect((await running.ended).message).toBe("it ended with exit code 7");
  });

  test("that dies at its start says with which code, and what it wrote last", async () => {
    LanguageClient.start = whenClosed;
    const running = await session("echo 'ERROR: no pygls' >&2; exit 1");
    expect((await failure(running.start())).message).toBe("it ended with exit code 1 (ERROR: no pygls)");
  });

  test.each([
    [3, true],
    [4, true],
    [1, false],
  ])("with exit code %i: the same would happen again: %s", async (code, final) => {
    LanguageClient.start = whenClosed;
    const running = await session(`exit ${code}`);
    expect(((await failure(running.start())) as ServerEnd).final).toBe(final);
  });

  test("that answers nonsense is ended", async () => {
    LanguageClient.start = async () => {
      throw new Error("Unsupported position encoding");
    };
    const running = await session("exec sleep 60");
    expect((await failure(running.start())).message).toBe("Unsupported position encoding");
    expect((await running.ended).message).toBe("it was ended by SIGTERM");
  });

  test("that is killed while it starts", async () => {
    LanguageClient.start = (client) => Promise.race([never(), whenClosed(client)]);
    const running = await session("exec sleep 60");
    const failed = failure(running.start());
    await new Promise((resolve) => setTimeout(resolve, 100));
    running.kill();
    expect((await failed).message).toBe("it was ended by SIGTERM");
  });

  test("writes to the log at the levels of its lines", async () => {
    const running = await session("printf 'GraphMend: server 0.1.0\\nWARNING:x:careful\\n  more\\nERROR:x:bad\\n' >&2");
    await running.start();
    await running.ended;
    expect(channel.lines.slice(1)).toEqual([
      "info GraphMend: server 0.1.0",
      "warn WARNING:x:careful",
      "warn   more",
      "error ERROR:x:bad",
    ]);
  });

  test("has neither its environment changed nor more than its arguments", async () => {
    const running = await session('echo "$* $PYTHONPATH $PYTHONUTF8" >&2');
    await running.start();
    await running.ended;
    expect(channel.lines[1]).toBe("info --stdio  ");
  });
});

test("a program that is not there", async () => {
  LanguageClient.start = never;
  const missing = new ProcessSession({ command: join(tmpdir(), "graphmend-none"), args: [], cwd: tmpdir() }, {}, channel as never);
  void missing.start().catch(() => undefined);
  expect((await missing.ended).message).toMatch(/could not be started: spawn .* ENOENT/);
});

test("the client shows no messages of its own", async () => {
  new ProcessSession({ command: "x", args: [], cwd: "/" }, {}, channel as never);
  const [client] = LanguageClient.made;
  client?.error("couldn't create connection to server.", "why", "force");
  expect(client?.shown).toEqual([["couldn't create connection to server.", "why", false]]);
});

test.each([
  ["WARNING:pygls:slow", "warn"],
  ["CRITICAL:x:y", "error"],
  ["Traceback (most recent call last):", "error"],
  ["GraphMend: server 0.1.0", "info"],
  ["  File x", undefined],
  ["NOTE: nothing", undefined],
])("%s is at the level %s", (line, level) => {
  expect(levelOf(line)).toBe(level);
});
