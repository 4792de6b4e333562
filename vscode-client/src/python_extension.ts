/** The Python extension, where it is installed: which environment is selected, and when that changes. */

import * as vscode from "vscode";

import { type Clock, within } from "./clock";

export const ID = "ms-python.python";

const ACTIVATION = 10_000;
const ANSWER = 1_500;

/** The part of its API that is used here; its own types are a package that need not be installed. */
export interface PythonApi {
  readonly ready?: Promise<void>;
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly id: string; readonly path: string };
    resolveEnvironment(environment: { readonly id: string; readonly path: string }): Promise<
      { readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined
    >;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

export class PythonExtension implements vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  /** Another environment was selected, or what is selected is known only now. */
  readonly onDidChange = this.changes.event;

  private readonly subscriptions: vscode.Disposable[] = [this.changes];
  private readonly resolved = new Map<string, Promise<string | undefined>>();
  private loading: Promise<PythonApi | undefined> | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly log: (text: string) => void,
  ) {
    this.subscriptions.push(
      vscode.extensions.onDidChange(() => {
        if (this.loading !== undefined || !this.isInstalled) return;
        this.changes.fire();
      }),
    );
  }

  get isInstalled(): boolean {
    return vscode.extensions.getExtension(ID) !== undefined;
  }

  /** The executable of the environment that is selected for a resource; undefined where that is not known in time. */
  async active(resource?: vscode.Uri): Promise<string | undefined> {
    const api = await this.load();
    if (api === undefined) return undefined;
    let environment;
    try {
      environment = api.environments.getActiveEnvironmentPath(resource);
    } catch (error) {
      this.log(`the Python extension does not say which environment is selected: ${String(error)}`);
      return undefined;
    }
    const known = this.resolved.get(environment.path) ?? this.resolve(api, environment);
    this.resolved.set(environment.path, known);
    let late = true;
    const answer = await within(this.clock, ANSWER, known.finally(() => (late = false)));
    if (late) void known.then((executable) => executable !== undefined && this.changes.fire());
    return answer;
  }

  dispose(): void {
    for (const each of this.subscriptions) each.dispose();
  }

  private async resolve(api: PythonApi, environment: { id: string; path: string }): Promise<string | undefined> {
    try {
      const found = await api.environments.resolveEnvironment(environment);
      if (found?.executable.uri !== undefined) return found.executable.uri.fsPath;
    } catch (error) {
      this.log(`the Python extension cannot resolve ${environment.path}: ${String(error)}`);
    }
    this.resolved.delete(environment.path);
    return undefined;
  }

  private async load(): Promise<PythonApi | undefined> {
    if (!this.isInstalled) return undefined;
    this.loading ??= this.activate();
    let late = true;
    const api = await within(this.clock, ACTIVATION, this.loading.finally(() => (late = false)));
    if (late) {
      this.log("the Python extension takes long to start; going on without it for now");
      void this.loading.then((found) => found !== undefined && this.changes.fire());
    }
    return api;
  }

  private async activate(): Promise<PythonApi | undefined> {
    const extension = vscode.extensions.getExtension<Partial<PythonApi>>(ID);
    if (extension === undefined) return undefined;
    try {
      const api = extension.isActive ? extension.exports : await extension.activate();
      await api.ready;
      if (api.environments === undefined) {
        this.log("the Python extension is too old to say which environment is selected");
        return undefined;
      }
      this.subscriptions.push(
        api.environments.onDidChangeActiveEnvironmentPath(() => this.changes.fire()),
      );
      return api as PythonApi;
    } catch (error) {
      this.log(`the Python extension did not start: ${String(error)}`);
      return undefined;
    }
  }
}
