/** A stand-in for ``vscode-languageclient/node``: what src/ uses at run time. */

import { vi } from "vitest";

export class ResponseError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export const LSPErrorCodes = { RequestCancelled: -32800, ContentModified: -32801 };
export const ErrorCodes = { PendingResponseRejected: -32097, ConnectionInactive: -32096 };
export const ErrorAction = { Continue: 1, Shutdown: 2 };
export const CloseAction = { DoNotRestart: 1, Restart: 2 };
export const RevealOutputChannelOn = { Never: 4 };
export const ExecuteCommandRequest = { type: "workspace/executeCommand" };
export const DidChangeConfigurationNotification = { type: "workspace/didChangeConfiguration" };
export const WorkDoneProgressCancelNotification = { type: "window/workDoneProgress/cancel" };
export const WorkDoneProgress = { type: "progress" };

interface Process {
  stderr: NodeJS.ReadableStream;
}

interface Options {
  stdioOptions: { stderr(input: NodeJS.ReadableStream): void };
}

/** Starts the process as the real one does; what it then does is up to the test. */
export class LanguageClient {
  static readonly made: LanguageClient[] = [];
  static start: (client: LanguageClient) => Promise<void> = async () => undefined;
  static stop: (client: LanguageClient) => Promise<void> = async () => undefined;
  readonly initializeResult = { serverInfo: { name: "graphmend", version: "1.2.3" } };
  readonly shown: unknown[] = [];
  readonly sendNotification = vi.fn(async () => undefined);
  process: Process | undefined;

  constructor(
    readonly id: string,
    readonly name: string,
    private readonly serverOptions: () => Promise<{ process: Process; detached: boolean }>,
    readonly clientOptions: Options,
  ) {
    LanguageClient.made.push(this);
  }

  async start(): Promise<void> {
    const { process } = await this.serverOptions();
    this.process = process;
    if (process.stderr) this.clientOptions.stdioOptions.stderr(process.stderr);
    await LanguageClient.start(this);
  }

  stop(): Promise<void> {
    return LanguageClient.stop(this);
  }

  error(message: string, data?: unknown, showNotification?: boolean | "force"): void {
    this.shown.push([message, data, showNotification]);
  }
}
