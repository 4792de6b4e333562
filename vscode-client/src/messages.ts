/** What the user is told when the server cannot run: one message, with what can be done. */

import * as vscode from "vscode";

import type { Rejected } from "./interpreter";
import type { Failure } from "./state";

export const SELECT = "Select Interpreter";
export const SETTINGS = "Open Settings";
export const OUTPUT = "Show Output";
export const RESTART = "Restart";

/** A failure in words. */
export function explain(failure: Failure): string {
  switch (failure.kind) {
    case "no-python":
      return failure.rejected.length === 0
        ? "GraphMend found no Python. Its server needs Python 3.10 or later."
        : `GraphMend found no Python that works: ${each(failure.rejected)}. Its server needs Python 3.10 or later.`;
    case "too-old":
      return `GraphMend's server needs Python 3.10 or later, and found none: ${each(failure.rejected)}.`;
    case "ended":
      return `GraphMend's server does not stay up: ${failure.what}.`;
  }
}

/** The buttons that go with it. */
export function buttons(failure: Failure, hasPythonExtension: boolean): string[] {
  if (failure.kind === "ended") return [RESTART, OUTPUT];
  return [...(hasPythonExtension ? [SELECT] : []), SETTINGS, OUTPUT];
}

export interface Deeds {
  hasPythonExtension(): boolean;
  restart(): void;
  showOutput(): void;
}

/** Shows failures; one that is on the screen is not shown again beside itself. */
export class Messages {
  private readonly shown = new Set<string>();

  constructor(private readonly deeds: Deeds) {}

  async failed(failure: Failure): Promise<void> {
    const text = explain(failure);
    if (this.shown.has(text)) return;
    this.shown.add(text);
    try {
      const choices = buttons(failure, this.deeds.hasPythonExtension());
      this.act(await vscode.window.showErrorMessage(text, ...choices));
    } finally {
      this.shown.delete(text);
    }
  }

  /** The setting names an interpreter that was passed over. */
  async passedOver({ command, reason }: Rejected, instead: string): Promise<void> {
    const text = `GraphMend: graphmend.interpreter is ${command}, but that ${reason}. ${instead} is used.`;
    if (this.shown.has(text)) return;
    this.shown.add(text); // for good: it is the same at each start
    this.act(await vscode.window.showWarningMessage(text, SETTINGS, OUTPUT));
  }

  private act(chosen: string | undefined): void {
    switch (chosen) {
      case SELECT:
        void vscode.commands.executeCommand("python.setInterpreter");
        break;
      case SETTINGS:
        void vscode.commands.executeCommand("workbench.action.openSettings", "graphmend.interpreter");
        break;
      case OUTPUT:
        this.deeds.showOutput();
        break;
      case RESTART:
        this.deeds.restart();
        break;
    }
  }
}

function each(rejected: readonly Rejected[]): string {
  return rejected.map(({ command, reason }) => `${command} ${reason}`).join("; ");
}
