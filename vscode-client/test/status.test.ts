import { beforeEach, expect, test, vi } from "vitest";

import { debugInformation } from "../src/debug";
import { buttons, explain, Messages } from "../src/messages";
import { asReport, device, graphs, type Report, Results } from "../src/results";
import type { Server } from "../src/server";
import type { State } from "../src/state";
import { look, StatusItem } from "../src/status";
import { commands, events, item, type MarkdownString, reset, window } from "./vscode";

beforeEach(reset);

const choice = {
  server: { executable: "/opt/py_3", version: [3, 12, 1], source: "PATH" },
  rejected: [{ command: "/old", source: "Python extension", version: "3.9.0", reason: "is Python 3.9.0, which is too old" }],
} as const;

const ready: State = { phase: "ready", choice, version: "0.1.0" };

function report(more: Partial<Report> = {}): Report {
  const arm = { graphs: [{}, {}, {}, {}] };
  return {
    path: "/ws/m.py",
    entry: "Net",
    device: "cuda",
    device_name: "NVIDIA H200",
    original: arm,
    mended: { graphs: [{}] },
    failure: null,
    ...more,
  };
}

test("ready: the last result, the interpreter and what was passed over", () => {
  const { text, tooltip, background } = look(ready, report());
  expect(text).toBe("$(type-hierarchy-sub) GraphMend: 4 graphs -> 1");
  expect(background).toBeUndefined();
  expect(tooltip).toContain("**GraphMend** 0.1.0: ready.");
  expect(tooltip).toContain("`Net`, 4 graphs -> 1 (NVIDIA H200)");
  expect(tooltip).toContain("Python 3.12.1 \\(/opt/py\\_3; from PATH\\)");
  expect(tooltip).toContain("`/old` is Python 3.9.0, which is too old");
  expect(look(ready, undefined).text).toBe("$(type-hierarchy-sub) GraphMend");
});

test.each<[State, string, string | undefined]>([
  [{ phase: "stopped" }, "$(circle-slash) GraphMend", undefined],
  [{ phase: "disabled" }, "$(circle-slash) GraphMend", undefined],
  [{ phase: "starting" }, "$(sync~spin) GraphMend", undefined],
  [{ phase: "waiting", choice, what: "it ended", delay: 2000 }, "$(sync~spin) GraphMend", "statusBarItem.warningBackground"],
  [{ phase: "failed", failure: { kind: "ended", what: "it ended" } }, "$(error) GraphMend", "statusBarItem.errorBackground"],
])("%j", (state, text, background) => {
  expect(look(state, report())).toMatchObject({ text, ...(background === undefined ? {} : { background }) });
  expect(look(state, report()).background).toBe(background);
});

test("waiting says when, failed says why", () => {
  const waiting: State = { phase: "waiting", choice, what: "it ended with exit code 1", delay: 2000 };
  expect(look(waiting, undefined).tooltip).toContain("started again in 2 s");
  const failed: State = { phase: "failed", failure: { kind: "ended", what: "it ended with exit code 1" } };
  expect(look(failed, undefined).tooltip).toContain("exit code 1");
});

test("the item follows the server, the results and the editor", () => {
  let state: State = { phase: "starting" };
  let changed = (): void => undefined;
  const server = {
    get state() {
      return state;
    },
    onDidChange: (listener: () => void) => {
      changed = listener;
      return { dispose: () => undefined };
    },
  } as unknown as Server;
  const results = new Results();
  const status = new StatusItem(server, results);
  expect(item.hide).toHaveBeenCalled();
  expect(item.show).not.toHaveBeenCalled();
  window.visibleTextEditors = [{ document: { languageId: "log" } }, { document: { languageId: "python" } }];
  events.visibleEditors.fire(undefined);
  expect(item.show).toHaveBeenCalled();
  expect(item.text).toBe("$(sync~spin) GraphMend");
  state = ready;
  changed();
  results.add(report({ mended: null }));
  expect(item.text).toBe("$(type-hierarchy-sub) GraphMend: 4 graphs");
  expect((item.tooltip as MarkdownString).value).toContain("ready");
  status.dispose();
  expect(item.dispose).toHaveBeenCalled();
});

test("results: the newest first, one an entry, and none that failed", () => {
  const results = new Results();
  results.add(report());
  results.add(report({ entry: "Other" }));
  results.add(report({ device: "cpu", mended: null }));
  results.add(report({ entry: "Bad", original: null, failure: { kind: "inputs", message: "none" } }));
  expect(results.all.map(({ entry }) => entry)).toEqual(["Net", "Other"]);
  expect(results.last && device(results.last)).toBe("CPU");
});

test("words of a report", () => {
  expect(graphs(report({ original: { graphs: [{}] }, mended: null }))).toBe("1 graph");
  expect(graphs(report({ original: { graphs: [] } }))).toBe("0 graphs -> 1");
  expect(device(report({ device_name: "" }))).toBe("GPU");
  expect(device(report({ device: "" }))).toBe("");
});

test.each([null, undefined, 3, {}, { entry: "x" }])("%j is no report", (result) => {
  expect(asReport(result)).toBeUndefined();
});

const rejected = [{ command: "/usr/bin/python3", source: "PATH", version: "3.9.2", reason: "is Python 3.9.2, which is too old" }];

test("failures in words", () => {
  expect(explain({ kind: "no-python", rejected: [] })).toBe(
    "GraphMend found no Python. Its server needs Python 3.10 or later.",
  );
  expect(explain({ kind: "too-old", rejected })).toBe(
    "GraphMend's server needs Python 3.10 or later, and found none: /usr/bin/python3 is Python 3.9.2, which is too old.",
  );
  expect(explain({ kind: "ended", what: "it ended with exit code 1" })).toContain("it ended with exit code 1");
});

test("the buttons are those that help", () => {
  expect(buttons({ kind: "no-python", rejected: [] }, true)).toEqual(["Select Interpreter", "Open Settings", "Show Output"]);
  expect(buttons({ kind: "too-old", rejected }, false)).toEqual(["Open Settings", "Show Output"]);
  expect(buttons({ kind: "ended", what: "" }, true)).toEqual(["Restart", "Show Output"]);
});

test.each([
  ["Restart", "restart"],
  ["Show Output", "showOutput"],
])("the button %s", async (button, deed) => {
  const deeds = { hasPythonExtension: () => false, restart: vi.fn(), showOutput: vi.fn() };
  window.showErrorMessage.mockResolvedValueOnce(button);
  await new Messages(deeds).failed({ kind: "ended", what: "x" });
  expect(deeds[deed as "restart"]).toHaveBeenCalledOnce();
});

test.each([
  ["Select Interpreter", ["python.setInterpreter"]],
  ["Open Settings", ["workbench.action.openSettings", "graphmend.interpreter"]],
])("the button %s", async (button, command) => {
  window.showErrorMessage.mockResolvedValueOnce(button);
  const deeds = { hasPythonExtension: () => true, restart: vi.fn(), showOutput: vi.fn() };
  await new Messages(deeds).failed({ kind: "no-python", rejected: [] });
  expect(commands.executeCommand).toHaveBeenCalledWith(...command);
});

test("a message that is on the screen is not shown twice; closed, it may come again", async () => {
  const messages = new Messages({ hasPythonExtension: () => false, restart: vi.fn(), showOutput: vi.fn() });
  let close = (_: undefined): void => undefined;
  window.showErrorMessage.mockReturnValueOnce(new Promise((resolve) => (close = resolve)));
  const first = messages.failed({ kind: "ended", what: "x" });
  await messages.failed({ kind: "ended", what: "x" });
  expect(window.showErrorMessage).toHaveBeenCalledTimes(1);
  close(undefined);
  await first;
  await messages.failed({ kind: "ended", what: "x" });
  expect(window.showErrorMessage).toHaveBeenCalledTimes(2);
});

test("that the setting is passed over is said once", async () => {
  const messages = new Messages({ hasPythonExtension: () => false, restart: vi.fn(), showOutput: vi.fn() });
  const [first] = rejected;
  if (first === undefined) throw new Error("none");
  await messages.passedOver(first, "Python 3.12.1 (/p; from PATH)");
  await messages.passedOver(first, "Python 3.12.1 (/p; from PATH)");
  expect(window.showWarningMessage).toHaveBeenCalledTimes(1);
  expect(window.showWarningMessage.mock.calls[0]?.[0]).toBe(
    "GraphMend: graphmend.interpreter is /usr/bin/python3, but that is Python 3.9.2, which is too old. " +
      "Python 3.12.1 (/p; from PATH) is used.",
  );
});

const facts = {
  extension: "0.1.0",
  editor: "Code 1.93.0",
  system: "Linux",
  trusted: true,
  pythonExtension: undefined,
  strategy: "useBundled",
};

test("a bug report has the interpreter, why it was chosen, and what the server says", () => {
  const text = debugInformation({ ...facts, state: ready, server: "graphmend-lsp 0.1.0\nmore" });
  expect(text).toContain("Python extension: not installed");
  expect(text).toContain("Interpreter of the server: Python 3.12.1 (/opt/py_3; from PATH)");
  expect(text).toContain("passed over: /old (from Python extension) is Python 3.9.0");
  expect(text.endsWith("graphmend-lsp 0.1.0\nmore\n")).toBe(true);
});

test("and without a server why there is none", () => {
  const state: State = { phase: "failed", failure: { kind: "too-old", rejected } };
  const text = debugInformation({ ...facts, state, server: undefined });
  expect(text).toContain("Server: failed\n  GraphMend's server needs Python 3.10");
  expect(text).toContain("passed over: /usr/bin/python3 (from PATH)");
  expect(text).toContain("The server does not run.");
});
