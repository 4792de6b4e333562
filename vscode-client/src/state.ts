/** What the server is doing, for the status bar, messages and bug reports. */

import type { Choice, Rejected } from "./interpreter";

export type Failure =
  | { kind: "no-python"; rejected: readonly Rejected[] }
  | { kind: "too-old"; rejected: readonly Rejected[] }
  | { kind: "ended"; what: string };

export type State =
  | { phase: "stopped" }
  | { phase: "disabled" }
  | { phase: "starting"; choice?: Choice }
  | { phase: "ready"; choice: Choice; version: string }
  | { phase: "waiting"; choice: Choice; what: string; delay: number }
  | { phase: "failed"; failure: Failure };
