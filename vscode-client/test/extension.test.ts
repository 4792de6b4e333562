import { chmod, mkdtemp, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { activate, deactivate } from "../src/extension";
import manifest from "../package.json";
import { LanguageClient } from "./languageclient";
import { channel, commands, events, extensions, item, reset, settings, Uri, window, workspace } from "./vscode";

const PATH = process.env["PATH"];

function context() {
  return { extensionPath: "/ext", extension: { packageJSON: manifest }, subscriptions: [] as { dispose(): void }[] };
}

/** A program that answers like a Python of this version, and otherwise stays until its input ends. */
async function python(folder: string, version: string, name = "python3"): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, name);
  const words = version.replaceAll(".", " ");
  await writeFile(file, `#!/bin/sh\ncase "$*" in *version_info*) echo "graphmend ${words} $0"; exit;; esac\nexec cat\n`);
  await chmod(file, 0o755);
  return file;
}

const clients = (): LanguageClient[] => LanguageClient.made;
const args = (client: LanguageClient | undefined): string[] =>
  (client?.process as unknown as { spawnargs: string[] } | undefined)?.spawnargs ?? [];
const ready = (n: number): Promise<void> =>
  vi.waitFor(() => {
    expect(clients()).toHaveLength(n);
    expect(item.text).toContain("type-hierarchy");
  }, 20_000);

describe.runIf(process.platform !== "win32")("the extension", () => {
  let root: string;

  beforeEach(async () => {
    reset();
    LanguageClient.made.length = 0;
    LanguageClient.start = async () => undefined;
    LanguageClient.stop = async (client) => (client.process as unknown as { stdin: { end(): void } }).stdin.end();
    root = await mkdtemp(join(tmpdir(), "graphmend-"));
    process.env["PATH"] = `${join(root, "bin")}:/usr/bin:/bin`;
    workspace.workspaceFolders = [{ uri: Uri.file(join(root, "ws")), name: "ws" }];
  });

  afterEach(async () => {
    await deactivate();
    process.env["PATH"] = PATH;
  });

  test("starts the bundled server with the interpreter that it finds", async () => {
    const file = await python(join(root, "bin"), "3.12.0");
    activate(context() as never);
    await ready(1);
    expect(args(clients()[0])).toEqual([
      file,
      ...["-I", "-S", "/ext/bundled/server.py", "--import-strategy", "useBundled", "--stdio"],
    ]);
  });

  test("an environment of the workspace comes before PATH, but not where that is not trusted", async () => {
    const outside = await python(join(root, "bin"), "3.12.0");
    const inside = await python(join(root, "ws", ".venv", "bin"), "3.11.0", "python");
    workspace.isTrusted = false;
    activate(context() as never);
    await ready(1);
    expect(args(clients()[0])[0]).toBe(outside);
    workspace.isTrusted = true;
    events.trust.fire();
    await ready(2);
    expect(args(clients()[1])[0]).toBe(inside);
  });

  test("the Python extension is not asked where the workspace is not trusted", async () => {
    await python(join(root, "bin"), "3.12.0");
    const asked = vi.fn(async () => undefined);
    extensions.installed.set("ms-python.python", { isActive: false, activate: asked });
    workspace.isTrusted = false;
    activate(context() as never);
    await ready(1);
    expect(asked).not.toHaveBeenCalled();
    workspace.isTrusted = true;
    await commands.registered.get("graphmend.restart")?.();
    expect(asked).toHaveBeenCalledOnce();
  });

  test("trust that changes no interpreter is told to the server", async () => {
    await python(join(root, "bin"), "3.12.0");
    workspace.isTrusted = false;
    activate(context() as never);
    await ready(1);
    workspace.isTrusted = true;
    events.trust.fire();
    await vi.waitFor(() => expect(clients()[0]?.sendNotification).toHaveBeenCalledOnce(), 20_000);
    expect(clients()[0]?.sendNotification).toHaveBeenCalledWith("workspace/didChangeConfiguration", { settings: null });
    expect(clients()).toHaveLength(1);
  });

  test("another interpreter in the settings restarts the server", async () => {
    await python(join(root, "bin"), "3.12.0");
    const other = await python(join(root, "other"), "3.13.0");
    activate(context() as never);
    await ready(1);
    settings.effective.set("graphmend.interpreter", other);
    events.configuration.fire({ affectsConfiguration: (name) => name === "graphmend.interpreter" });
    await ready(2);
    expect(args(clients()[1])[0]).toBe(other);
  });

  test("a setting that decides nothing does not", async () => {
    await python(join(root, "bin"), "3.12.0");
    activate(context() as never);
    await ready(1);
    events.configuration.fire({ affectsConfiguration: (name) => name === "graphmend.select" });
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(clients()).toHaveLength(1);
    expect(clients()[0]?.sendNotification).not.toHaveBeenCalled();
  });

  test("an interpreter in the settings that is too old: another is used, and one message says so", async () => {
    settings.effective.set("graphmend.interpreter", await python(join(root, "old"), "3.9.1"));
    await python(join(root, "bin"), "3.12.0");
    activate(context() as never);
    await ready(1);
    expect(window.showWarningMessage).toHaveBeenCalledTimes(1);
    expect(window.showWarningMessage.mock.calls[0]?.[0]).toMatch(/but that is Python 3\.9\.1, which is too old\. Python 3\.12\.0/);
  });

  test("with none that is new enough there is one message, and none of VS Code's", async () => {
    process.env["PATH"] = join(root, "bin");
    await python(join(root, "bin"), "3.9.1");
    activate(context() as never);
    await vi.waitFor(() => expect(window.showErrorMessage).toHaveBeenCalledTimes(1), 20_000);
    expect(window.showErrorMessage.mock.calls[0]?.[0]).toContain("Python 3.9.1, which is too old");
    expect(clients()).toHaveLength(0);
    expect(channel.lines.at(-1)).toMatch(/^error GraphMend's server needs Python 3\.10/);
  });

  test("a server that dies is started again", async () => {
    await python(join(root, "bin"), "3.12.0");
    activate(context() as never);
    await ready(1);
    (clients()[0]?.process as unknown as { kill(): void }).kill();
    await ready(2);
    expect(window.showErrorMessage).not.toHaveBeenCalled();
    expect(channel.lines.some((line) => line.startsWith("error The server has died: it was ended by SIGTERM"))).toBe(true);
  });

  test("has every command of its manifest, and takes all away at the end", async () => {
    await python(join(root, "bin"), "3.12.0");
    const own = context();
    activate(own as never);
    await ready(1);
    for (const { command } of manifest.contributes.commands) expect(commands.registered.has(command)).toBe(true);
    await deactivate();
    for (const each of own.subscriptions) each.dispose();
    expect(commands.registered.size).toBe(0);
    expect(channel.dispose).toHaveBeenCalled();
  });

  test("is restarted by its command", async () => {
    await python(join(root, "bin"), "3.12.0");
    activate(context() as never);
    await ready(1);
    await commands.registered.get("graphmend.restart")?.();
    await ready(2);
  });

  test("debug information is there without a server, too", async () => {
    process.env["PATH"] = join(root, "bin");
    activate(context() as never);
    await vi.waitFor(() => expect(window.showErrorMessage).toHaveBeenCalled(), 20_000);
    await commands.registered.get("graphmend.debugInformation")?.();
    const [{ content }] = workspace.openTextDocument.mock.calls[0] as [{ content: string }];
    expect(content).toContain(`GraphMend extension ${manifest.version}`);
    expect(content).toContain("Server: failed");
  });
});

test("the settings of the manifest are those that are known", () => {
  const own = ["enable", "interpreter", "importStrategy", "trace.server"];
  const servers = ["python", "workspaceDiagnostics", "select", "ignore", "entries", "severity", "torchVersion", "runtime", "symbols"];
  const names = Object.keys(manifest.contributes.configuration.properties);
  expect(names.sort()).toEqual([...own, ...servers].map((name) => `graphmend.${name}`).sort());
});

test("what names a program is restricted to trusted workspaces", () => {
  const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  expect(restrictedConfigurations).toEqual(["graphmend.interpreter", "graphmend.python", "graphmend.importStrategy"]);
});
