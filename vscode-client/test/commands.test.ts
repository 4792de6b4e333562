import { beforeEach, expect, test } from "vitest";

import { Commands } from "../src/commands";
import { type Report, Results } from "../src/results";
import type { Server } from "../src/server";
import type { State } from "../src/state";
import { commands, reset, Uri, window, workspace } from "./vscode";

const uri = Uri.file("/ws/m.py");
const place = { uri: "file:///ws/m.py", position: { line: 4, character: 7 } };
const selection = { active: { line: 4, character: 7, extra: "not sent" } };

function open(languageId = "python"): void {
  const document = { uri, languageId, lineCount: 10, validateRange: (range: unknown) => range };
  window.activeTextEditor = { document, selection };
}

function made(phase: State["phase"] = "ready") {
  const results = new Results();
  const server = { state: { phase }, session: phase === "ready" ? {} : undefined } as unknown as Server;
  return { results, own: new Commands(server, results) };
}

/** What the commands of VS Code return. */
function returning(results: Record<string, unknown>): void {
  commands.executeCommand.mockImplementation(async (name: unknown) => results[String(name)]);
}

const report = (entry: string, path = "/ws/m.py"): Report => ({
  path,
  entry,
  device: "cpu",
  device_name: "",
  original: { graphs: [{}, {}] },
  mended: null,
  failure: null,
});

beforeEach(() => {
  reset();
  returning({});
});

test.each([
  ["profile", "graphmend.profile"],
  ["insertInputs", "graphmend.insertInputs"],
] as const)("%s is about where the cursor is", async (name, command) => {
  open();
  await made().own[name]();
  expect(commands.executeCommand).toHaveBeenCalledWith(command, place);
});

test.each(["profile", "insertInputs", "fixAll", "verify"] as const)("%s needs a Python file", async (name) => {
  open("json");
  await made().own[name]();
  expect(commands.executeCommand).not.toHaveBeenCalled();
  expect(window.showInformationMessage.mock.calls[0]?.[0]).toMatch(/^GraphMend cannot .*: open a Python file\.$/);
});

test.each([
  ["starting", "the server is still starting"],
  ["waiting", "the server is still starting"],
  ["failed", "the server does not run"],
] as const)("while the server is %s: %s", async (phase, text) => {
  open();
  await made(phase).own.profile();
  await made(phase).own.showReport();
  expect(commands.executeCommand).not.toHaveBeenCalled();
  expect(window.showWarningMessage.mock.calls.map(([said]) => said)).toEqual([
    `GraphMend cannot profile: ${text}.`,
    `GraphMend cannot show a report: ${text}.`,
  ]);
});

const action = (kind: string, more: object = {}) => ({ title: kind, kind: { value: kind }, ...more });

test("fix all applies the edit of the server", async () => {
  open();
  const edit = { edit: true };
  const others = [action("source.fixAll.ruff", { edit: "other" }), action("source.fixAll.graphmend", { edit })];
  returning({ "vscode.executeCodeActionProvider": others });
  await made().own.fixAll();
  expect(commands.executeCommand.mock.calls[0]?.slice(3)).toEqual(["source.fixAll.graphmend", 1]);
  expect(workspace.applyEdit).toHaveBeenCalledWith(edit, { isRefactoring: true });
  expect(window.showInformationMessage).not.toHaveBeenCalled();
});

test("fix all says that there is nothing to fix", async () => {
  open();
  returning({ "vscode.executeCodeActionProvider": [] });
  await made().own.fixAll();
  expect(workspace.applyEdit).not.toHaveBeenCalled();
  expect(window.showInformationMessage.mock.calls[0]?.[0]).toContain("nothing to fix");
});

test("an edit that VS Code refuses is told", async () => {
  open();
  returning({ "vscode.executeCodeActionProvider": [action("source.fixAll.graphmend", { edit: {} })] });
  workspace.applyEdit.mockResolvedValueOnce(false);
  await made().own.fixAll();
  expect(window.showWarningMessage.mock.calls[0]?.[0]).toContain("Try again");
});

const verify = (title: string, ...args: unknown[]) =>
  action("quickfix", { title, command: { command: "graphmend.verify", title, arguments: args } });

test("one fix at the cursor is verified at once", async () => {
  open();
  returning({ "vscode.executeCodeActionProvider": [action("quickfix"), verify("Verify this fix", { do: "offer" })] });
  await made().own.verify();
  expect(window.showQuickPick).not.toHaveBeenCalled();
  expect(commands.executeCommand).toHaveBeenLastCalledWith("graphmend.verify", { do: "offer" });
});

test("of several the user picks", async () => {
  open();
  returning({ "vscode.executeCodeActionProvider": [verify("a", 1), verify("b", 2)] });
  window.showQuickPick.mockImplementationOnce(async (picks) => (picks as unknown[])[1]);
  await made().own.verify();
  expect(commands.executeCommand).toHaveBeenLastCalledWith("graphmend.verify", 2);
});

test("where the user picks none, none is verified", async () => {
  open();
  returning({ "vscode.executeCodeActionProvider": [verify("a", 1), verify("b", 2)] });
  await made().own.verify();
  expect(commands.executeCommand).toHaveBeenCalledTimes(1);
});

test("without a fix it says so", async () => {
  open();
  returning({ "vscode.executeCodeActionProvider": undefined });
  await made().own.verify();
  expect(window.showInformationMessage.mock.calls[0]?.[0]).toContain("no fix to verify at the cursor");
});

test("the report at the cursor, if there is one", async () => {
  open();
  returning({ "graphmend.showReport": { path: "/cache/a.html" } });
  const { own, results } = made();
  results.add(report("Net"));
  await own.showReport();
  expect(commands.executeCommand.mock.calls).toEqual([["graphmend.showReport", place]]);
  expect(window.showQuickPick).not.toHaveBeenCalled();
});

test("else one of this session's, by choice", async () => {
  open();
  const { own, results } = made();
  results.add(report("Net"));
  results.add(report("Other", "/ws/o.py"));
  window.showQuickPick.mockImplementationOnce(async (picks) => (picks as unknown[])[0]);
  await own.showReport();
  expect(window.showQuickPick.mock.calls[0]?.[0]).toMatchObject([
    { label: "Other", description: "o.py", detail: "2 graphs" },
    { label: "Net", description: "m.py" },
  ]);
  expect(commands.executeCommand).toHaveBeenLastCalledWith("graphmend.showReport", { uri: "file:///ws/o.py", entry: "Other" });
});

test("with no editor and no profile there is a message of ours, with an editor that of the server", async () => {
  await made().own.showReport();
  expect(window.showInformationMessage.mock.calls[0]?.[0]).toContain("nothing was profiled yet");
  window.showInformationMessage.mockClear();
  open();
  await made().own.showReport();
  expect(window.showInformationMessage).not.toHaveBeenCalled();
});

test("what a profile returns is kept, what other commands return is not", () => {
  const { own, results } = made();
  own.done("graphmend.verify", report("Net"));
  own.done("graphmend.profile", null);
  expect(results.all).toEqual([]);
  own.done("graphmend.profile", report("Net"));
  expect(results.last?.entry).toBe("Net");
});

test("the menu runs what is chosen", async () => {
  window.showQuickPick.mockImplementationOnce(async (picks) => (picks as { command: string }[]).find((each) => each.command === "graphmend.restart"));
  await made("failed").own.menu();
  expect(commands.executeCommand).toHaveBeenCalledWith("graphmend.restart");
});
