// A workspace that is not trusted: findings and fixes, but nothing of it is started.

import fs from "node:fs";
import path from "node:path";

export const untrusted = {
  name: "untrusted",
  file: "router.py",
  trust: true,
  setUp({ folder, parent, python }) {
    // What would be started: an environment's Python, also named by the workspace's settings, that leaves a trace.
    const trace = path.join(parent, "ran");
    const trap = path.join(folder, ".venv", "bin", "python");
    fs.mkdirSync(path.dirname(trap), { recursive: true });
    fs.writeFileSync(trap, `#!/bin/sh\necho "$@" >> '${trace}'\nexec '${python}' "$@"\n`, { mode: 0o755 });
    fs.writeFileSync(path.join(folder, ".venv", "pyvenv.cfg"), "home = /usr/bin\n");
    fs.mkdirSync(path.join(folder, ".vscode"));
    const settings = { "graphmend.interpreter": trap, "graphmend.python": trap, "graphmend.ignore": ["GM202"] };
    fs.writeFileSync(path.join(folder, ".vscode", "settings.json"), JSON.stringify(settings));
    return { trap, trace };
  },
  async day(vs, { set }) {
    // one finding less: settings that start nothing do count
    await vs.squiggles("warning", 3);
    await vs.shot("opened");

    await vs.clickLens("Profile on GPU", 11);
    await vs.notification("which is not trusted");
    await vs.shot("refused");
    await vs.dismiss();
    await vs.goto(26, 14);
    await vs.command("GraphMend: Profile on GPU");
    await vs.notification("which is not trusted");
    await vs.dismiss();
    await vs.quickfix("Verify this fix");
    await vs.notification("which is not trusted");
    await vs.dismiss();
    await vs.goto(26, 14);
    await vs.quickfix("Compute both sides and select with torch.where");
    await vs.shows("torch.where(");
    await vs.save();
    await vs.restarted(() => vs.command("GraphMend: Restart Server"));
    await vs.squiggles("warning", 2);
    await vs.workers("none");
    await vs.notStarted(set.trace);

    // once it is trusted, that same Python is the server's: the trap does work
    await vs.command("Workspaces: Manage Workspace Trust");
    await vs.click(".workspace-trust-editor .monaco-button", "Trust");
    await vs.started(set.trace);
    await vs.shot("trusted");
  },
};
