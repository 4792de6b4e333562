/** Settings: those that are the extension's own, and what the server is told. */

import * as vscode from "vscode";
import type { ConfigurationParams, Middleware } from "vscode-languageclient/node";

export const SECTION = "graphmend";

export type ImportStrategy = "useBundled" | "fromEnvironment";

export interface OwnSettings {
  readonly enable: boolean;
  readonly interpreter: string;
  readonly importStrategy: ImportStrategy;
}

/** Settings that the server does not know. */
const OWN = new Set(["enable", "interpreter", "importStrategy", "trace"]);

export function ownSettings(): OwnSettings {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const strategy = userValue<string>(settings, "importStrategy", "useBundled");
  return {
    enable: settings.get<boolean>("enable", true),
    interpreter: userValue<string>(settings, "interpreter", ""),
    importStrategy: strategy === "fromEnvironment" ? strategy : "useBundled",
  };
}

/**
 * A setting that decides what is started. VS Code leaves out what a workspace that is not trusted says; so does this,
 * lest that hang on one line of package.json.
 */
function userValue<T>(settings: vscode.WorkspaceConfiguration, name: string, fallback: T): T {
  if (vscode.workspace.isTrusted) return settings.get<T>(name, fallback);
  const found = settings.inspect<T>(name);
  return found?.globalValue ?? found?.defaultValue ?? fallback;
}

/** What the server is told of one section: its own settings, the user's Python, and whether the workspace is trusted. */
export function answer(section: unknown, trusted: boolean, python: string | undefined): Record<string, unknown> {
  const given = typeof section === "object" && section !== null ? Object.entries(section) : [];
  const told = Object.fromEntries(given.filter(([name, value]) => !OWN.has(name) && value !== null && value !== ""));
  if (!trusted) delete told["python"];
  else if (told["python"] === undefined && python !== undefined) told["python"] = python;
  return { ...told, trusted };
}

/** The middleware of the client for all that concerns settings. ``pythonFor`` names the user's Python for a folder. */
export function configurationMiddleware(
  pythonFor: (scope: vscode.Uri | undefined) => Promise<string | undefined>,
): NonNullable<Middleware["workspace"]> {
  return {
    async configuration(params, token, next) {
      const found = await next(params, token);
      if (!Array.isArray(found)) return found;
      return Promise.all(found.map((each: unknown, index) => complete(params, index, each, pythonFor)));
    },
    // No values with the notice: the server asks for them, and gets the answers above.
    didChangeConfiguration: (_sections, next) => next(undefined),
  };
}

async function complete(
  params: ConfigurationParams,
  index: number,
  section: unknown,
  pythonFor: (scope: vscode.Uri | undefined) => Promise<string | undefined>,
): Promise<unknown> {
  const item = params.items[index];
  if (item?.section !== SECTION) return section;
  const { isTrusted } = vscode.workspace;
  const scope = item.scopeUri === undefined ? undefined : vscode.Uri.parse(item.scopeUri);
  return answer(section, isTrusted, isTrusted ? await pythonFor(scope) : undefined);
}
