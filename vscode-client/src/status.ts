/** The item in the status bar. */

import * as vscode from "vscode";

import { describe } from "./interpreter";
import { explain } from "./messages";
import { device, graphs, type Report, type Results } from "./results";
import type { Server } from "./server";
import type { State } from "./state";

export const MENU = "graphmend.menu";

export interface Look {
  readonly text: string;
  readonly tooltip: string;
  readonly background?: "statusBarItem.errorBackground" | "statusBarItem.warningBackground";
}

/** What the item shows. */
export function look(state: State, last: Report | undefined): Look {
  switch (state.phase) {
    case "stopped":
      return { text: "$(circle-slash) GraphMend", tooltip: "GraphMend: the server is stopped." };
    case "disabled":
      return { text: "$(circle-slash) GraphMend", tooltip: "GraphMend is off: `graphmend.enable`." };
    case "starting":
      return { text: "$(sync~spin) GraphMend", tooltip: lines("GraphMend: the server is starting.", ...running(state)) };
    case "waiting":
      return {
        text: "$(sync~spin) GraphMend",
        tooltip: lines(
          `GraphMend: the server has died: ${escaped(state.what)}.`,
          `It is started again in ${state.delay / 1000} s.`,
          ...running(state),
        ),
        background: "statusBarItem.warningBackground",
      };
    case "failed":
      return {
        text: "$(error) GraphMend",
        tooltip: lines(escaped(explain(state.failure)), "Click for what can be done."),
        background: "statusBarItem.errorBackground",
      };
    case "ready":
      return {
        text: `$(type-hierarchy-sub) GraphMend${last === undefined ? "" : `: ${graphs(last)}`}`,
        tooltip: lines(
          `**GraphMend** ${escaped(state.version)}: ready.`,
          ...(last === undefined ? [] : [`Last profile: \`${last.entry}\`, ${graphs(last)} (${escaped(device(last))}).`]),
          ...running(state),
        ),
      };
  }
}

export class StatusItem implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private readonly subscriptions: { dispose(): void }[];

  constructor(
    private readonly server: Server,
    private readonly results: Results,
  ) {
    this.item = vscode.window.createStatusBarItem("graphmend.status", vscode.StatusBarAlignment.Right, 90);
    this.item.name = "GraphMend";
    this.item.command = MENU;
    this.subscriptions = [
      this.item,
      server.onDidChange(() => this.update()),
      results.onDidChange(() => this.update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.update()),
    ];
    this.update();
  }

  dispose(): void {
    for (const each of this.subscriptions) each.dispose();
  }

  private update(): void {
    const { text, tooltip, background } = look(this.server.state, this.results.last);
    this.item.text = text;
    this.item.tooltip = new vscode.MarkdownString(tooltip);
    this.item.accessibilityInformation = { label: text.replace(/\$\([^)]*\) ?/g, "") };
    this.item.backgroundColor = background === undefined ? undefined : new vscode.ThemeColor(background);
    // not the active one: that is the log, or none, while one looks at that or at a report
    if (vscode.window.visibleTextEditors.some(({ document }) => document.languageId === "python")) this.item.show();
    else this.item.hide();
  }
}

function running(state: Extract<State, { phase: "starting" | "waiting" | "ready" }>): string[] {
  const { choice } = state;
  if (choice?.server === undefined) return [];
  const passed = choice.rejected.map(({ command, reason }) => `Passed over: \`${command}\` ${escaped(reason)}.`);
  return [`Server: ${escaped(describe(choice.server))}.`, ...passed];
}

function lines(...all: string[]): string {
  return all.join("\n\n");
}

function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+!<>|~]/g, "\\$&");
}
