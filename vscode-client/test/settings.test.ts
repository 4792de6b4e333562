import { beforeEach, expect, test, vi } from "vitest";
import type { ConfigurationParams } from "vscode-languageclient/node";

import { answer, configurationMiddleware, ownSettings } from "../src/settings";
import { reset, settings, Uri, workspace } from "./vscode";

beforeEach(reset);

const section = {
  enable: true,
  interpreter: "/py",
  importStrategy: "useBundled",
  trace: { server: "messages" },
  python: "",
  workspaceDiagnostics: "openFiles",
  select: null,
  entries: ["train"],
};

test("the server is told its own settings only, and of those what is set", () => {
  expect(answer(section, true, undefined)).toEqual({
    workspaceDiagnostics: "openFiles",
    entries: ["train"],
    trusted: true,
  });
});

test("the user's Python is that of the setting, else that of the Python extension", () => {
  expect(answer({ ...section, python: "/mine" }, true, "/theirs")).toMatchObject({ python: "/mine" });
  expect(answer(section, true, "/theirs")).toMatchObject({ python: "/theirs" });
});

test("an untrusted workspace has no Python", () => {
  expect(answer({ ...section, python: "/mine" }, false, "/theirs")).toEqual({
    workspaceDiagnostics: "openFiles",
    entries: ["train"],
    trusted: false,
  });
});

test.each([null, undefined, "text", 3])("a section that is %j still says whether the workspace is trusted", (given) => {
  expect(answer(given, true, undefined)).toEqual({ trusted: true });
});

async function asked(params: ConfigurationParams, found: unknown[], pythonFor: (uri: unknown) => Promise<string | undefined>) {
  const middleware = configurationMiddleware(pythonFor);
  const next = vi.fn(async () => found);
  return middleware.configuration?.(params, {} as never, next as never);
}

test("each folder has its own Python, and other sections are left alone", async () => {
  const pythonFor = vi.fn(async (scope: unknown) => (scope === undefined ? "/base" : `${(scope as Uri).fsPath}/py`));
  const items = [{ section: "graphmend" }, { section: "graphmend", scopeUri: "file:///a" }, { section: "editor" }];
  expect(await asked({ items }, [{}, {}, { tabSize: 4 }], pythonFor)).toEqual([
    { python: "/base", trusted: true },
    { python: "/a/py", trusted: true },
    { tabSize: 4 },
  ]);
});

test("where the workspace is not trusted, the Python extension is not even asked", async () => {
  workspace.isTrusted = false;
  const pythonFor = vi.fn(async () => "/x");
  expect(await asked({ items: [{ section: "graphmend" }] }, [{}], pythonFor)).toEqual([{ trusted: false }]);
  expect(pythonFor).not.toHaveBeenCalled();
});

test("the notice of a change carries no values: they would come past the middleware", () => {
  const next = vi.fn(async () => undefined);
  void configurationMiddleware(async () => undefined).didChangeConfiguration?.(["graphmend"], next);
  expect(next).toHaveBeenCalledWith(undefined);
});

test("what decides which program is started comes from the user alone where the workspace is not trusted", () => {
  settings.effective.set("graphmend.interpreter", "/ws/evil");
  settings.effective.set("graphmend.importStrategy", "fromEnvironment");
  settings.user.set("graphmend.interpreter", "/usr/bin/python3");
  expect(ownSettings()).toMatchObject({ interpreter: "/ws/evil", importStrategy: "fromEnvironment" });
  workspace.isTrusted = false;
  expect(ownSettings()).toEqual({ enable: true, interpreter: "/usr/bin/python3", importStrategy: "useBundled" });
});

test("a strategy that is none is the bundled one", () => {
  settings.effective.set("graphmend.importStrategy", "nonsense");
  expect(ownSettings().importStrategy).toBe("useBundled");
});
