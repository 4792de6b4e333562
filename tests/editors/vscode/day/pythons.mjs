// Which Python there is: none, one that is too old, the system's alone.

import fs from "node:fs";
import path from "node:path";

const HERE = import.meta.dirname;
const SYSTEM = ["/usr/local/bin", "/usr/bin", "/bin"];

/** A folder with all commands of the system but Python's. */
function withoutPython(folder) {
  fs.mkdirSync(folder);
  for (const from of SYSTEM.toReversed().filter((each) => fs.existsSync(each))) {
    for (const name of fs.readdirSync(from)) {
      const link = path.join(folder, name);
      if (/^(python|pypy|py$)/.test(name) || fs.existsSync(link)) continue;
      fs.rmSync(link, { force: true });
      fs.symlinkSync(path.join(from, name), link);
    }
  }
  return folder;
}

export const nopython = {
  name: "nopython",
  file: "router.py",
  setUp: ({ parent }) => ({ env: { PATH: withoutPython(path.join(parent, "bin")) } }),
  async day(vs, { python }) {
    await vs.notification("GraphMend found no Python");
    await vs.notifications("GraphMend found no Python");
    await vs.hasButton("Open Settings");
    await vs.status("GraphMend");
    await vs.shot("message");
    await vs.answer("Open Settings");
    await vs.see(".settings-editor");
    await vs.key("Escape"); // newer versions show it above all else

    await vs.settings({ "graphmend.interpreter": python });
    await vs.open("router.py");
    await vs.squiggles("warning", 4);
    await vs.serverRunsOn(python);
  },
};

export const oldpython = {
  name: "oldpython",
  file: "router.py",
  setUp({ parent, python }) {
    const bin = withoutPython(path.join(parent, "bin"));
    // A Python that says it is 3.8, and is in all else this one.
    const code = [
      `#!${python}`,
      "import sys",
      'sys.version_info = (3, 8, 18, "final", 0)',
      "sys.executable = __file__",
      'exec(sys.argv[sys.argv.index("-c") + 1])',
    ];
    fs.writeFileSync(path.join(bin, "python3"), `${code.join("\n")}\n`, { mode: 0o755 });
    return { env: { PATH: bin } };
  },
  async day(vs) {
    await vs.notification("needs Python 3.10 or later, and found none");
    await vs.notifications("is Python 3.8.18");
    await vs.hasButton("Open Settings");
    await vs.servers(0);
    await vs.shot("message");
  },
};

export const clean = {
  name: "clean",
  workspace: path.resolve(HERE, "..", "..", "..", "..", "examples"),
  folderName: "examples",
  file: "captioner.py",
  size: { width: 1280, height: 1900 }, // all of it in view
  setUp: () => ({ env: { PATH: SYSTEM.join(":") } }),
  async day(vs) {
    await vs.squiggles("info", 4);
    await vs.squiggles("warning", 1); // a print in a loop costs the whole function
    await vs.goto(27, 20);
    await vs.quickfix("Compute both sides and select with torch.where");
    await vs.shows("torch.where(");
    await vs.squiggles("info", 3);
    await vs.command("GraphMend: Fix All in File");
    await vs.shows("@graph_effect");
    await vs.onDisk("_graphmend.py");
    await vs.shot("fixed");
    await vs.command("GraphMend: Debug Information");
    await vs.shows("from PATH)");
    await vs.shows("Import strategy: useBundled");
    await vs.shot("debug");
    await vs.command("GraphMend: Show Output");
    await vs.outputHas("bundled/libs, Python 3");
    await vs.notifications();
  },
};
