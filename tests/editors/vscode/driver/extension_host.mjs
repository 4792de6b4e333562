// Runs a file of tests in the extension host of the workbench, as @vscode/test-electron would in a desktop's.

import fs from "node:fs";
import path from "node:path";

import { allowExtensionTests, remoteUri } from "./browser.mjs";

/** The page's functions that VS Code calls with each line that the tests print, and with their exit code at the end. */
export function host(vs, tests, id) {
  const extensions = vs.server.extensions;
  const folder = fs.readdirSync(extensions).find((name) => name.startsWith(`${id}-`));
  let done;
  const ended = new Promise((resolve) => (done = resolve));
  const lines = [];
  return {
    lines,
    ended,
    async prepare(page) {
      await page.exposeFunction("codeAutomationExit", (code) => done(code));
      await page.exposeFunction("codeAutomationLog", (_kind, values) => {
        // The workbench's own lines come in the same way; browser.log has all of them.
        const text = (Array.isArray(values) ? values : [values]).join(" ");
        if (!/^(ok|FAIL|Error:) /.test(text)) return;
        lines.push(text);
        fs.appendFileSync(path.join(vs.out, "steps.log"), `${text}\n`);
      });
      await allowExtensionTests(page);
    },
    payload: () => [
      ["extensionDevelopmentPath", remoteUri(vs.server.url, path.join(extensions, folder))],
      ["extensionTestsPath", remoteUri(vs.server.url, path.resolve(tests))],
    ],
  };
}
