/** A stand-in for the module ``vscode``: what src/ uses at run time, and what the tests look at. */

import { vi } from "vitest";

type Listener<T> = (event: T) => unknown;

export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>): { dispose(): void } => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };
  fire(event: T): void {
    for (const listener of [...this.listeners]) listener(event);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
  ) {}
  static file(path: string): Uri {
    return new Uri("file", path);
  }
  static parse(text: string): Uri {
    const [, scheme = "", path = ""] = /^(\w+):(?:\/\/)?(.*)$/.exec(text) ?? [];
    return new Uri(scheme, decodeURIComponent(path));
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}://${encodeURI(this.path)}`;
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Range {
  readonly start: Position;
  readonly end: Position;
  constructor(a: number, b: number, c: number, d: number) {
    this.start = new Position(a, b);
    this.end = new Position(c, d);
  }
}

export class ThemeColor {
  constructor(readonly id: string) {}
}

export class MarkdownString {
  constructor(readonly value: string) {}
}

export const CodeActionKind = { QuickFix: { value: "quickfix" } };
export const ProgressLocation = { Notification: 15 };
export const StatusBarAlignment = { Right: 2 };
export const ViewColumn = { Beside: -2 };
export const version = "1.93.0";
export const env = { appName: "Test Code" };

/** Values of settings: what holds, and what the user's own settings say. */
export const settings = { effective: new Map<string, unknown>(), user: new Map<string, unknown>() };

export const events = {
  trust: new EventEmitter<void>(),
  configuration: new EventEmitter<{ affectsConfiguration(name: string): boolean }>(),
  folders: new EventEmitter<void>(),
  visibleEditors: new EventEmitter<unknown>(),
  extensions: new EventEmitter<void>(),
};

export const workspace = {
  isTrusted: true,
  workspaceFolders: [] as { uri: Uri; name: string }[],
  getConfiguration: (section: string) => ({
    get: (name: string, fallback?: unknown) => settings.effective.get(`${section}.${name}`) ?? fallback,
    inspect: (name: string) => ({ globalValue: settings.user.get(`${section}.${name}`) }),
  }),
  onDidGrantWorkspaceTrust: events.trust.event,
  onDidChangeConfiguration: events.configuration.event,
  onDidChangeWorkspaceFolders: events.folders.event,
  applyEdit: vi.fn(async (..._: unknown[]) => true),
  openTextDocument: vi.fn(async (options: unknown) => options),
};

export const channel = {
  lines: [] as string[],
  debug: (text: string) => channel.lines.push(`debug ${text}`),
  info: (text: string) => channel.lines.push(`info ${text}`),
  warn: (text: string) => channel.lines.push(`warn ${text}`),
  error: (text: string) => channel.lines.push(`error ${text}`),
  show: vi.fn(),
  dispose: vi.fn(),
};

export const item = { text: "", tooltip: undefined as unknown, command: "", show: vi.fn(), hide: vi.fn(), dispose: vi.fn() };

export interface Panel {
  title: string;
  viewColumn: number | undefined;
  options: unknown;
  webview: { html: string };
  reveal: ReturnType<typeof vi.fn>;
  dispose(): void;
  onDidDispose(listener: () => void): void;
}

export const panels: Panel[] = [];

export const window = {
  activeTextEditor: undefined as unknown,
  visibleTextEditors: [] as unknown[],
  onDidChangeVisibleTextEditors: events.visibleEditors.event,
  createOutputChannel: vi.fn(() => channel),
  createStatusBarItem: vi.fn(() => item),
  showErrorMessage: vi.fn(async (..._: unknown[]): Promise<string | undefined> => undefined),
  showWarningMessage: vi.fn(async (..._: unknown[]): Promise<string | undefined> => undefined),
  showInformationMessage: vi.fn(async (..._: unknown[]): Promise<string | undefined> => undefined),
  showQuickPick: vi.fn(async (_: unknown): Promise<unknown> => undefined),
  showTextDocument: vi.fn(),
  withProgress: vi.fn(),
  createWebviewPanel(_id: string, title: string, _where: unknown, options: unknown): Panel {
    let ended = (): void => undefined;
    const panel: Panel = {
      title,
      viewColumn: undefined,
      options,
      webview: { html: "" },
      reveal: vi.fn(),
      dispose: () => ended(),
      onDidDispose: (listener) => (ended = listener),
    };
    panels.push(panel);
    return panel;
  },
};

export const commands = {
  registered: new Map<string, (...args: unknown[]) => unknown>(),
  executeCommand: vi.fn(async (..._: unknown[]): Promise<unknown> => undefined),
  registerCommand(name: string, action: (...args: unknown[]) => unknown) {
    commands.registered.set(name, action);
    return { dispose: () => commands.registered.delete(name) };
  },
};

export const extensions = {
  installed: new Map<string, unknown>(),
  getExtension: (id: string) => extensions.installed.get(id),
  onDidChange: events.extensions.event,
};

/** As if nothing had happened. */
export function reset(): void {
  settings.effective.clear();
  settings.user.clear();
  workspace.isTrusted = true;
  workspace.workspaceFolders = [];
  window.activeTextEditor = undefined;
  window.visibleTextEditors = [];
  extensions.installed.clear();
  commands.registered.clear();
  channel.lines.length = 0;
  panels.length = 0;
  vi.clearAllMocks();
}
