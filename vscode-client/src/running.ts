/** The server's commands: those that run the user's code show their progress where it can be cancelled. */

import { randomUUID } from "node:crypto";

import * as vscode from "vscode";
import {
  ExecuteCommandRequest,
  type LanguageClient,
  LSPErrorCodes,
  ErrorCodes,
  type Middleware,
  ResponseError,
  WorkDoneProgress,
  WorkDoneProgressCancelNotification,
} from "vscode-languageclient/node";

export const PROFILE = "graphmend.profile";
export const VERIFY = "graphmend.verify";

const LONG: ReadonlySet<string> = new Set([PROFILE, VERIFY]);

type Begun = { readonly title: string; readonly cancellable?: boolean };
type Step = { readonly message?: string; readonly percentage?: number };

/** ``client`` is that of the moment; ``done`` is told what a command returned. */
export function executeCommandMiddleware(
  client: () => LanguageClient | undefined,
  done: (command: string, result: unknown) => void,
): NonNullable<Middleware["executeCommand"]> {
  return async (command, args, next) => {
    const running = client();
    const isLong = LONG.has(command) && running !== undefined;
    try {
      const result: unknown = isLong ? await withProgress(running, command, args) : await next(command, args);
      done(command, result);
      return result;
    } catch (error) {
      const text = said(error);
      if (text !== undefined) void vscode.window.showWarningMessage(text);
      return undefined;
    }
  };
}

/** What to tell the user of a request that failed; undefined where he hears of it elsewhere. */
export function said(error: unknown): string | undefined {
  if (error instanceof ResponseError) {
    switch (error.code) {
      case ErrorCodes.PendingResponseRejected: // the server has gone, which has its own message
      case ErrorCodes.ConnectionInactive:
      case LSPErrorCodes.RequestCancelled:
        return undefined;
      case LSPErrorCodes.ContentModified:
        return "GraphMend: the document has changed meanwhile. Try again.";
    }
  }
  return `GraphMend: ${error instanceof Error ? error.message : String(error)}`;
}

/**
 * The client's own progress stands in the status bar, where nothing can be cancelled. So such a command brings a token
 * of its own, and what the server says under it is shown as a notification with a button.
 */
async function withProgress(client: LanguageClient, command: string, args: unknown[]): Promise<unknown> {
  const workDoneToken = `graphmend-${randomUUID()}`;
  const shown = new Shown(() =>
    client.sendNotification(WorkDoneProgressCancelNotification.type, { token: workDoneToken }),
  );
  const listening = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
    if (value.kind === "begin") shown.begin(value);
    else if (value.kind === "report") shown.report(value);
    else shown.end();
  });
  try {
    return await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: args, workDoneToken });
  } finally {
    listening.dispose();
    shown.end();
  }
}

class Shown {
  private end_: (() => void) | undefined;
  private progress: vscode.Progress<{ message?: string; increment?: number }> | undefined;
  private percentage = 0;
  private last: Step = {};

  constructor(private readonly cancel: () => void) {}

  begin({ title, cancellable }: Begun & Step): void {
    if (this.end_ !== undefined) return;
    const ended = new Promise<void>((resolve) => (this.end_ = resolve));
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: cancellable === true };
    void vscode.window.withProgress(options, (progress, token) => {
      this.progress = progress;
      token.onCancellationRequested(() => this.cancel());
      this.report(this.last);
      return ended;
    });
  }

  report(step: Step): void {
    this.last = { ...this.last, ...step };
    if (this.progress === undefined) return;
    const { message, percentage } = this.last;
    const increment = Math.max(0, (percentage ?? 0) - this.percentage);
    this.percentage += increment;
    this.progress.report({ ...(message === undefined ? {} : { message }), increment });
  }

  end(): void {
    this.end_?.();
  }
}
