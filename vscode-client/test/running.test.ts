import { beforeEach, expect, test, vi } from "vitest";

import { executeCommandMiddleware, PROFILE, said, VERIFY } from "../src/running";
import { settle } from "./fake";
import { ErrorCodes, LSPErrorCodes, ResponseError } from "./languageclient";
import { reset, window } from "./vscode";

beforeEach(reset);

type Value = { kind: string; title?: string; message?: string; percentage?: number; cancellable?: boolean };

/** A client whose one request is answered by the test. */
class Client {
  answer: (result: unknown) => void = () => undefined;
  fail: (error: Error) => void = () => undefined;
  say: (value: Value) => void = () => undefined;
  listening = 0;
  token: unknown;
  readonly sent: unknown[] = [];
  sendRequest(_type: unknown, params: { workDoneToken: unknown }): Promise<unknown> {
    this.sent.push(params);
    this.token = params.workDoneToken;
    return new Promise((resolve, reject) => {
      this.answer = resolve;
      this.fail = reject;
    });
  }
  readonly sendNotification = vi.fn();
  onProgress(_type: unknown, _token: unknown, handler: (value: Value) => void) {
    this.say = handler;
    this.listening += 1;
    return { dispose: () => (this.listening -= 1) };
  }
}

/** The notification of VS Code. */
function notification() {
  const reports: unknown[] = [];
  let cancel = (): void => undefined;
  let open = 0;
  window.withProgress.mockImplementation(async (_options: unknown, task: (progress: unknown, token: unknown) => Promise<void>) => {
    open += 1;
    const token = { onCancellationRequested: (listener: () => void) => (cancel = listener) };
    await task({ report: (step: unknown) => reports.push(step) }, token);
    open -= 1;
  });
  return { reports, cancel: () => cancel(), isOpen: () => open > 0 };
}

function made(client: Client | undefined) {
  const done = vi.fn();
  const next = vi.fn(async () => "next");
  const middleware = executeCommandMiddleware(() => client as never, done);
  const run = (command: string, args: unknown[] = [{}]): Promise<unknown> => middleware(command, args, next as never) as Promise<unknown>;
  return { done, next, run };
}

test("short commands go their usual way", async () => {
  const { done, next, run } = made(new Client());
  expect(await run("graphmend.explain")).toBe("next");
  expect(next).toHaveBeenCalledWith("graphmend.explain", [{}]);
  expect(done).toHaveBeenCalledWith("graphmend.explain", "next");
  expect(window.withProgress).not.toHaveBeenCalled();
});

test.each([PROFILE, VERIFY])("%s shows its progress until it is done", async (command) => {
  const shown = notification();
  const client = new Client();
  const { done, next, run } = made(client);
  const result = run(command, [{ uri: "u" }]);
  expect(client.sent).toEqual([{ command, arguments: [{ uri: "u" }], workDoneToken: client.token }]);
  expect(window.withProgress).not.toHaveBeenCalled(); // it may be refused yet
  client.say({ kind: "begin", title: "GraphMend: profiling Net", cancellable: true, percentage: 0 });
  expect(window.withProgress.mock.calls[0]?.[0]).toEqual({ location: 15, title: "GraphMend: profiling Net", cancellable: true });
  client.say({ kind: "report", message: "counting graphs", percentage: 10 });
  client.say({ kind: "report", message: "timing", percentage: 40 });
  client.say({ kind: "report", percentage: 30 });
  expect(shown.reports.slice(-3)).toEqual([
    { message: "counting graphs", increment: 10 },
    { message: "timing", increment: 30 },
    { message: "timing", increment: 0 },
  ]);
  expect(shown.isOpen()).toBe(true);
  client.say({ kind: "end" });
  await settle();
  expect(shown.isOpen()).toBe(false);
  client.answer({ entry: "Net" });
  expect(await result).toEqual({ entry: "Net" });
  expect(done).toHaveBeenCalledWith(command, { entry: "Net" });
  expect(next).not.toHaveBeenCalled();
  expect(client.listening).toBe(0);
});

test("its button cancels under the same token", async () => {
  const shown = notification();
  const client = new Client();
  void made(client).run(PROFILE);
  client.say({ kind: "begin", title: "x", cancellable: true });
  shown.cancel();
  expect(client.sendNotification).toHaveBeenCalledWith("window/workDoneProgress/cancel", { token: client.token });
});

test("a server that dies meanwhile leaves no notification, and no message: there is one already", async () => {
  const shown = notification();
  const client = new Client();
  const { done, run } = made(client);
  const result = run(PROFILE);
  client.say({ kind: "begin", title: "x", cancellable: true });
  client.fail(new ResponseError(ErrorCodes.PendingResponseRejected, "disposed"));
  expect(await result).toBeUndefined();
  expect(shown.isOpen()).toBe(false);
  expect(done).not.toHaveBeenCalled();
  expect(window.showWarningMessage).not.toHaveBeenCalled();
});

test("without a server the command goes the usual way", async () => {
  expect(await made(undefined).run(PROFILE)).toBe("next");
});

test("an error is told in words, and does not become VS Code's", async () => {
  const { next, run } = made(new Client());
  next.mockRejectedValueOnce(new ResponseError(-32602, "graphmend.insertInputs: u is not open"));
  expect(await run("graphmend.insertInputs")).toBeUndefined();
  expect(window.showWarningMessage).toHaveBeenCalledWith("GraphMend: graphmend.insertInputs: u is not open");
});

test.each([
  [new ResponseError(LSPErrorCodes.ContentModified, "x"), "GraphMend: the document has changed meanwhile. Try again."],
  [new ResponseError(LSPErrorCodes.RequestCancelled, "x"), undefined],
  [new ResponseError(ErrorCodes.ConnectionInactive, "x"), undefined],
  [new Error("boom"), "GraphMend: boom"],
  ["text", "GraphMend: text"],
])("%s", (error, text) => {
  expect(said(error)).toBe(text);
});
