// The day, in sessions: each has a VS Code of its own, so that one that fails hides nothing of the others.

import { all, fixes } from "./mend.mjs";

export const SESSIONS = [fixes, all];
