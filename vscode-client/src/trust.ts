/** Workspace trust: once it is granted, the server hears of it, and what was out of bounds may be chosen. */

import * as vscode from "vscode";

import type { Server } from "./server";

export function followTrust(server: Server): vscode.Disposable {
  // reconsider() sends the configuration, and with it the trust, where the server stays
  return vscode.workspace.onDidGrantWorkspaceTrust(() => void server.reconsider());
}
