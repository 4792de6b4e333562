// The day, in sessions: each has a VS Code of its own, so that one that fails hides nothing of the others.

import path from "node:path";

import { look } from "./look.mjs";
import { measure } from "./measure.mjs";
import { all, fixes } from "./mend.mjs";
import { notebook } from "./notebooks.mjs";
import { pictures } from "./pictures.mjs";
import { clean, nopython, oldpython } from "./pythons.mjs";
import { interpreter, server } from "./servers.mjs";
import { untrusted } from "./trust.mjs";

const exthost = {
  name: "exthost",
  tests: path.resolve(import.meta.dirname, "..", "exthost", "index.js"),
  setUp: ({ python }) => ({ settings: { "graphmend.python": python } }),
};

export const SESSIONS = [
  look,
  fixes,
  all,
  measure,
  notebook,
  server,
  interpreter,
  untrusted,
  nopython,
  oldpython,
  clean,
  exthost,
];

export const PICTURES = pictures;
