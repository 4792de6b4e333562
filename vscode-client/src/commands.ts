/** The commands of the palette. */

import * as path from "node:path";

import * as vscode from "vscode";

import { asReport, graphs, type Results } from "./results";
import { PROFILE, VERIFY } from "./running";
import type { Server } from "./server";

export const SHOW_REPORT = "graphmend.showReport";
export const INSERT_INPUTS = "graphmend.insertInputs";
export const DEBUG = "graphmend.printDebugInformation";
const FIX_ALL = "source.fixAll.graphmend";

interface Entry extends vscode.QuickPickItem {
  readonly command: string;
}

/** What a click on the status item offers. */
const MENU: readonly Entry[] = [
  { label: "$(play) Profile on GPU", command: "graphmend.profileOnGpu", detail: "Run the entry at the cursor and measure its graphs" },
  { label: "$(sparkle) Fix All in File", command: "graphmend.fixAll", detail: "Apply every fix that is sure to keep behaviour" },
  { label: "$(beaker) Verify Fix", command: "graphmend.verifyFix", detail: "Run the code with and without the fix at the cursor" },
  { label: "$(graph) Show Report", command: "graphmend.showLastReport" },
  { label: "$(symbol-function) Insert example_inputs()", command: "graphmend.insertExampleInputs" },
  { label: "$(debug-restart) Restart Server", command: "graphmend.restart" },
  { label: "$(output) Show Output", command: "graphmend.showOutput" },
  { label: "$(info) Debug Information", command: "graphmend.debugInformation" },
];

export class Commands {
  constructor(
    private readonly server: Server,
    private readonly results: Results,
  ) {}

  async profile(): Promise<void> {
    const place = this.place("profile");
    if (place !== undefined) await vscode.commands.executeCommand(PROFILE, place);
  }

  async insertInputs(): Promise<void> {
    const place = this.place("insert inputs");
    if (place !== undefined) await vscode.commands.executeCommand(INSERT_INPUTS, place);
  }

  /** Applies what the light bulb offers as "fix all". */
  async fixAll(): Promise<void> {
    const editor = this.editor("fix anything");
    if (editor === undefined) return;
    const { document } = editor;
    const all = new vscode.Range(0, 0, document.lineCount, 0);
    const [fix] = (await actions(document.uri, document.validateRange(all), FIX_ALL, 1)).filter(
      (each) => each.edit !== undefined && each.kind?.value === FIX_ALL,
    );
    if (fix?.edit === undefined) {
      const text = "GraphMend: nothing to fix in this file. Fixes that change behaviour, and prints and log calls, are mended one by one.";
      void vscode.window.showInformationMessage(text);
      return;
    }
    // as the light bulb does it: where a fix makes a second file, both are saved (files.refactoring.autoSave)
    if (!(await vscode.workspace.applyEdit(fix.edit, { isRefactoring: true }))) {
      void vscode.window.showWarningMessage("GraphMend: the document has changed meanwhile. Try again.");
    }
  }

  /** Runs "Verify this fix" of the light bulb at the cursor. */
  async verify(): Promise<void> {
    const editor = this.editor("verify a fix");
    if (editor === undefined) return;
    const { document, selection } = editor;
    const found = await actions(document.uri, selection, vscode.CodeActionKind.QuickFix.value);
    const offered = found.filter((each) => each.command?.command === VERIFY);
    if (offered.length === 0) {
      const text = "GraphMend: there is no fix to verify at the cursor. Put it into an underlined expression that has a quick fix.";
      void vscode.window.showInformationMessage(text);
      return;
    }
    const picks = offered.map((action) => ({ label: action.title, action }));
    const chosen = picks.length === 1 ? picks[0] : await vscode.window.showQuickPick(picks, { placeHolder: "Verify which fix?" });
    const command = chosen?.action.command;
    if (command !== undefined) await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
  }

  /** Shows the last report of what is at the cursor, else of one that the user picks. */
  async showReport(): Promise<void> {
    if (!this.isUp("show a report")) return;
    const place = placeOf(vscode.window.activeTextEditor);
    if (place !== undefined) {
      const shown = await vscode.commands.executeCommand(SHOW_REPORT, place);
      if (shown !== null && shown !== undefined) return; // else the server has said why
    }
    const picks = this.results.all.map((report) => ({
      label: report.entry,
      description: path.basename(report.path),
      detail: graphs(report),
      report,
    }));
    if (picks.length === 0) {
      if (place === undefined) {
        const text = "GraphMend: nothing was profiled yet in this session. Put the cursor into what was profiled before.";
        void vscode.window.showInformationMessage(text);
      }
      return;
    }
    const chosen = await vscode.window.showQuickPick(picks, { placeHolder: "Show which report?" });
    if (chosen === undefined) return;
    const { path: file, entry } = chosen.report;
    await vscode.commands.executeCommand(SHOW_REPORT, { uri: vscode.Uri.file(file).toString(), entry });
  }

  async menu(): Promise<void> {
    const chosen = await vscode.window.showQuickPick([...MENU], { title: "GraphMend" });
    if (chosen !== undefined) await vscode.commands.executeCommand(chosen.command);
  }

  /** Keeps what the server's commands return. */
  done(command: string, result: unknown): void {
    const report = command === PROFILE ? asReport(result) : undefined;
    if (report !== undefined) this.results.add(report);
  }

  private place(what: string): object | undefined {
    return placeOf(this.editor(what));
  }

  /** The editor that a command is about; undefined, said to the user, where there is none. */
  private editor(what: string): vscode.TextEditor | undefined {
    if (!this.isUp(what)) return undefined;
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId === "python") return editor;
    void vscode.window.showInformationMessage(`GraphMend cannot ${what}: open a Python file.`);
    return undefined;
  }

  private isUp(what: string): boolean {
    if (this.server.session !== undefined) return true;
    const { phase } = this.server.state;
    const why = phase === "starting" || phase === "waiting" ? "the server is still starting" : "the server does not run";
    void vscode.window.showWarningMessage(`GraphMend cannot ${what}: ${why}.`);
    return false;
  }
}

/** Where the cursor is, as the server takes it. */
function placeOf(editor: vscode.TextEditor | undefined): { uri: string; position: object } | undefined {
  if (editor?.document.languageId !== "python") return undefined;
  const { line, character } = editor.selection.active; // UTF-16, as the client has agreed with the server
  return { uri: editor.document.uri.toString(), position: { line, character } };
}

async function actions(uri: vscode.Uri, range: vscode.Range, kind: string, resolve = 0): Promise<vscode.CodeAction[]> {
  const command = "vscode.executeCodeActionProvider";
  const found = await vscode.commands.executeCommand<vscode.CodeAction[] | undefined>(command, uri, range, kind, resolve);
  return found ?? [];
}
