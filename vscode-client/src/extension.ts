/** The extension: puts the parts together. */

import * as os from "node:os";

import * as vscode from "vscode";
import {
  CloseAction,
  DidChangeConfigurationNotification,
  ErrorAction,
  type LanguageClientOptions,
  RevealOutputChannelOn,
} from "vscode-languageclient/node";

import { debounced, systemClock } from "./clock";
import { Commands, DEBUG } from "./commands";
import { debugInformation } from "./debug";
import { candidates, choose, describe, searched } from "./interpreter";
import { serverCommand } from "./launch";
import { explain, Messages } from "./messages";
import { places } from "./places";
import { ask } from "./probe";
import { ID, PythonExtension } from "./python_extension";
import { Reports } from "./report";
import { Results } from "./results";
import { executeCommandMiddleware } from "./running";
import { type Plan, Server } from "./server";
import { ProcessSession } from "./session";
import { configurationMiddleware, ownSettings, SECTION } from "./settings";
import { MENU, StatusItem } from "./status";

const SETTLE = 500;

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const channel = vscode.window.createOutputChannel("GraphMend", { log: true });
  const python = new PythonExtension(systemClock, (text) => channel.warn(text));
  const reports = new Reports((text) => channel.error(text));
  const results = new Results();

  const plan = async (): Promise<Plan> => {
    const { interpreter, importStrategy } = ownSettings();
    const active = vscode.workspace.isTrusted ? await python.active() : undefined;
    const known = places(interpreter, active);
    const choice = await choose(candidates(known), ask);
    for (const { command, source, reason } of choice.rejected) channel.info(`passed over: ${command} (from ${source}) ${reason}`);
    if (choice.server === undefined) {
      channel.info(`looked for a Python in: ${searched(known).join(", ")}`);
      return { choice };
    }
    channel.info(`interpreter of the server: ${describe(choice.server)}`);
    return { choice, command: serverCommand(context.extensionPath, choice.server, importStrategy) };
  };

  const own: Server = new Server({
    clock: systemClock,
    plan,
    isEnabled: () => ownSettings().enable,
    open: (command) => new ProcessSession(command, options, channel),
    reconfigure: ({ client }) =>
      void client.sendNotification(DidChangeConfigurationNotification.type, { settings: null }).catch(() => undefined),
    log: (level, text) => channel[level](text),
  });
  server = own;
  const commands = new Commands(own, results);
  const messages = new Messages({
    hasPythonExtension: () => python.isInstalled,
    restart: () => void own.restart(),
    showOutput: () => channel.show(),
  });

  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "python" },
      { scheme: "untitled", language: "python" },
      { notebook: { notebookType: "jupyter-notebook" }, language: "python" },
      { notebook: { notebookType: "interactive" }, language: "python" },
    ],
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    // the server is started again by its owner, with a delay
    errorHandler: {
      error: (_error, _message, count) => ({
        action: (count ?? 0) <= 3 ? ErrorAction.Continue : ErrorAction.Shutdown,
        handled: true,
      }),
      closed: () => ({
        action: CloseAction.DoNotRestart,
        handled: true,
        message: "The connection to the server is closed.",
      }),
    },
    initializationFailedHandler: () => false,
    middleware: {
      workspace: configurationMiddleware((scope) => python.active(scope)),
      window: { showDocument: reports.middleware },
      executeCommand: executeCommandMiddleware(
        () => own.session?.client,
        (command, result) => commands.done(command, result),
      ),
    },
  };

  const debug = async (): Promise<void> => {
    const { state } = own;
    const said = own.session && (await vscode.commands.executeCommand<string | undefined>(DEBUG));
    const extension = vscode.extensions.getExtension(ID);
    const content = debugInformation({
      extension: String((context.extension.packageJSON as { version?: unknown }).version),
      editor: `${vscode.env.appName} ${vscode.version}`,
      system: `${os.type()} ${os.release()} ${process.arch}`,
      trusted: vscode.workspace.isTrusted,
      pythonExtension: extension && String((extension.packageJSON as { version?: unknown }).version),
      strategy: ownSettings().importStrategy,
      state,
      server: said,
    });
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language: "plaintext" }));
  };

  const reconsider = debounced(systemClock, SETTLE, () => void own.reconsider());
  const register = vscode.commands.registerCommand;
  context.subscriptions.push(
    channel,
    python,
    reports,
    new StatusItem(own, results),
    own.onDidChange((state) => {
      if (state.phase === "failed") {
        channel.error(explain(state.failure));
        void messages.failed(state.failure);
      }
      if (state.phase !== "ready") return;
      const wanted = state.choice.rejected.find(({ source }) => source.startsWith("setting"));
      if (wanted !== undefined && state.choice.server) void messages.passedOver(wanted, describe(state.choice.server));
    }),
    python.onDidChange(reconsider),
    // what was out of bounds may be chosen now, and the server is to hear of it; the settings of the workspace follow
    vscode.workspace.onDidGrantWorkspaceTrust(reconsider),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const decisive = ["enable", "interpreter", "importStrategy"].map((name) => `${SECTION}.${name}`);
      if (decisive.some((name) => event.affectsConfiguration(name))) reconsider();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(reconsider),
    { dispose: () => reconsider.cancel() },
    register("graphmend.profileOnGpu", () => commands.profile()),
    register("graphmend.verifyFix", () => commands.verify()),
    register("graphmend.fixAll", () => commands.fixAll()),
    register("graphmend.showLastReport", () => commands.showReport()),
    register("graphmend.insertExampleInputs", () => commands.insertInputs()),
    register("graphmend.restart", () => own.restart()),
    register("graphmend.showOutput", () => channel.show()),
    register("graphmend.debugInformation", debug),
    register(MENU, () => commands.menu()),
  );
  void own.restart(); // not awaited: a server that cannot start is no failure of the extension's
}

export async function deactivate(): Promise<void> {
  const ending = server;
  server = undefined;
  await ending?.dispose();
}
