/** What a bug report should say. */

import { describe } from "./interpreter";
import { explain } from "./messages";
import type { State } from "./state";

export interface Facts {
  readonly extension: string;
  readonly editor: string;
  readonly system: string;
  readonly trusted: boolean;
  readonly pythonExtension: string | undefined;
  readonly strategy: string;
  readonly state: State;
  /** What the server says of itself; undefined where it does not run. */
  readonly server: string | undefined;
}

export function debugInformation(facts: Facts): string {
  const { state } = facts;
  const choice = "choice" in state ? state.choice : undefined;
  const rejected = choice?.rejected ?? (state.phase === "failed" && "rejected" in state.failure ? state.failure.rejected : []);
  const why = state.phase === "waiting" ? [`  ${state.what}`] : state.phase === "failed" ? [`  ${explain(state.failure)}`] : [];
  return [
    `GraphMend extension ${facts.extension}`,
    `${facts.editor} on ${facts.system}`,
    `Workspace trusted: ${facts.trusted ? "yes" : "no"}`,
    `Python extension: ${facts.pythonExtension ?? "not installed"}`,
    `Import strategy: ${facts.strategy}`,
    `Interpreter of the server: ${choice?.server === undefined ? "none" : describe(choice.server)}`,
    ...rejected.map(({ command, source, reason }) => `  passed over: ${command} (from ${source}) ${reason}`),
    `Server: ${state.phase}`,
    ...why,
    "",
    facts.server ?? "The server does not run.",
    "",
  ].join("\n");
}
