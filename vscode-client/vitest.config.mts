import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

const standIn = (name: string): string => fileURLToPath(new URL(`test/${name}.ts`, import.meta.url));

export default defineConfig({
  // the module of the editor exists in it alone, and the client needs nearly all of that
  resolve: { alias: { "vscode-languageclient/node": standIn("languageclient"), vscode: standIn("vscode") } },
  test: { include: ["test/**/*.test.ts"], testTimeout: 30_000 },
});
