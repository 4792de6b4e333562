/** Where Pythons may be on this machine. */

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

import * as vscode from "vscode";

import type { Places } from "./interpreter";

export function places(setting: string, active: string | undefined): Places {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((each) => each.uri.scheme === "file");
  return {
    setting,
    active,
    folders: folders.map((each) => each.uri.fsPath),
    path: (process.env["PATH"] ?? "").split(path.delimiter).filter((each) => each !== ""),
    trusted: vscode.workspace.isTrusted,
    windows: process.platform === "win32",
    home: os.homedir(),
    env: process.env,
    exists: isFile,
    real,
  };
}

function isFile(file: string): boolean {
  try {
    return fs.statSync(file).isFile();
  } catch {
    return process.platform === "win32" && isAlias(file);
  }
}

/** Pythons of the Microsoft Store are links that only the system can follow. */
function isAlias(file: string): boolean {
  try {
    return fs.lstatSync(file).isSymbolicLink();
  } catch {
    return false;
  }
}

function real(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}
