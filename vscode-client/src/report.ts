/** Reports of profiles, as pages in an editor of their own. */

import { readFile } from "node:fs/promises";

import * as vscode from "vscode";
import type { Middleware, ShowDocumentParams } from "vscode-languageclient/node";

import { page, title } from "./page";

/** Whether the server wants a report of its own shown: anything else is left to the default. */
export function isReport(params: ShowDocumentParams): boolean {
  const uri = vscode.Uri.parse(params.uri);
  return params.external === true && uri.scheme === "file" && uri.path.endsWith(".html");
}

/** One panel a report: the same one again shows it in the panel that is there. */
export class Reports implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();

  constructor(
    private readonly log: (text: string) => void,
    private readonly read: (file: string) => Promise<string> = (file) => readFile(file, "utf8"),
  ) {}

  readonly middleware: NonNullable<NonNullable<Middleware["window"]>["showDocument"]> = async (params, _token, next) => {
    if (!isReport(params)) return next(params, _token);
    return { success: await this.show(vscode.Uri.parse(params.uri)) };
  };

  async show(uri: vscode.Uri): Promise<boolean> {
    let html;
    try {
      html = await this.read(uri.fsPath);
    } catch (error) {
      this.log(`the report cannot be read: ${String(error)}`);
      return false;
    }
    const key = uri.toString();
    const panel = this.panels.get(key) ?? this.open(key);
    panel.title = title(html);
    panel.webview.html = page(html);
    panel.reveal(panel.viewColumn ?? vscode.ViewColumn.Beside, true);
    return true;
  }

  dispose(): void {
    for (const panel of [...this.panels.values()]) panel.dispose();
  }

  private open(key: string): vscode.WebviewPanel {
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel("graphmend.report", "GraphMend", where, {
      enableScripts: false,
      enableForms: false,
      enableCommandUris: false,
      localResourceRoots: [],
      enableFindWidget: true,
    });
    panel.onDidDispose(() => this.panels.delete(key));
    this.panels.set(key, panel);
    return panel;
  }
}
