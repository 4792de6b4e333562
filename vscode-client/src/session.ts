/** One run of the server: its process, and the client that talks to it. */

import { type ChildProcess, spawn } from "node:child_process";
import * as readline from "node:readline";
import type { Readable } from "node:stream";

import type * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";

import { type Level, levelOf } from "./log";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** That the process has ended, and how; with ``final``, the same would happen again. */
export class ServerEnd extends Error {
  constructor(
    what: string,
    readonly final: boolean,
  ) {
    super(what);
  }
}

/** What the supervisor of the server needs of one run. */
export interface Session {
  readonly client: LanguageClient;
  /** Done once the server has answered; rejects if it does not get that far. */
  start(): Promise<void>;
  /** Ends it politely, and if that takes too long, not. */
  stop(): Promise<void>;
  /** Ends the process at once. */
  kill(): void;
  readonly ended: Promise<ServerEnd>;
  /** The server's own version, once it has started. */
  readonly version: string;
}

/** Exit codes of bundled/server.py: the interpreter is too old, there is no server to start. */
const FINAL: ReadonlySet<number> = new Set([3, 4]);

const PATIENCE = 2_000;
const START_LIMIT = 60_000;
const GRACE = 1_000;

/** A client that leaves messages to the user to the one who owns it. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

export class ProcessSession implements Session {
  readonly client: LanguageClient;
  readonly ended: Promise<ServerEnd>;
  private settle: (end: ServerEnd) => void = () => undefined;
  private process: ChildProcess | undefined;
  private stopping = false;
  /** The last line of an error that it wrote. */
  private last = "";

  constructor(
    private readonly command: Command,
    options: LanguageClientOptions,
    private readonly channel: vscode.LogOutputChannel,
  ) {
    this.ended = new Promise((resolve) => (this.settle = resolve));
    this.client = new QuietClient("graphmend", "GraphMend", async () => ({ process: this.spawn(), detached: true }), {
      ...options,
      outputChannel: channel,
      stdioOptions: { stdout: () => undefined, stderr: (input) => this.listen(input) },
    });
  }

  get version(): string {
    return this.client.initializeResult?.serverInfo?.version ?? "";
  }

  async start(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const say = (): void => reject(new Error(`it did not answer within ${START_LIMIT / 1000} s`));
      timer = setTimeout(say, START_LIMIT);
    });
    const started = this.client.start().catch(async (error: unknown) => {
      // the connection closes before the process is known to have ended, and that says more
      throw (await this.isGone(GRACE)) ? await this.ended : error;
    });
    started.catch(() => undefined);
    try {
      await Promise.race([started, late]);
    } catch (error) {
      this.kill();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async stop(): Promise<void> {
    this.stopping = true;
    try {
      await this.client.stop(PATIENCE);
    } catch (error) {
      this.channel.debug(`stopping: ${String(error)}`);
    }
    if (!(await this.isGone(PATIENCE))) this.kill();
  }

  kill(): void {
    const { process } = this;
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return;
    process.kill();
    setTimeout(() => process.exitCode === null && process.signalCode === null && process.kill("SIGKILL"), PATIENCE).unref();
  }

  private async isGone(limit: number): Promise<boolean> {
    if (this.process === undefined) return true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), limit)));
    const gone = await Promise.race([this.ended.then(() => true), late]);
    clearTimeout(timer);
    return gone;
  }

  private spawn(): ChildProcess {
    const { command, args, cwd } = this.command;
    this.channel.info(`starting ${[command, ...args].join(" ")}`);
    const child = spawn(command, args, {
      cwd,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    this.process = child;
    child.on("error", (error) => this.end(`it could not be started: ${error.message}`));
    // "close" comes after the last of its output, which a process of its own may hold open for longer
    child.on("exit", (code, signal) => setTimeout(() => this.end(exited(code, signal), code), 200));
    child.on("close", (code, signal) => this.end(exited(code, signal), code));
    // writing to a process that is gone is no error of ours: its end is reported anyway
    child.stdin.on("error", (error) => this.channel.debug(`writing to the server: ${error.message}`));
    return child;
  }

  private end(what: string, code: number | null = null): void {
    const said = !this.stopping && this.last !== "" ? `${what} (${this.last})` : what;
    this.settle(new ServerEnd(said, code !== null && FINAL.has(code)));
  }

  private listen(input: Readable): void {
    let level: Level = "info";
    readline.createInterface({ input, crlfDelay: Infinity }).on("line", (line) => {
      level = levelOf(line) ?? level;
      this.channel[level](line);
      if (level === "error" && line.trim() !== "") this.last = line.trim();
    });
  }
}

function exited(code: number | null, signal: NodeJS.Signals | null): string {
  return signal !== null ? `it was ended by ${signal}` : `it ended with exit code ${code ?? "unknown"}`;
}
