// Steps on the files of the workspace and on processes.

import fs from "node:fs";
import path from "node:path";

export function diskSteps(vs) {
  const full = (name) => path.join(vs.folder, name);
  const bytes = (name) => (fs.existsSync(full(name)) ? fs.readFileSync(full(name)) : undefined);
  const text = (name) => bytes(name)?.toString("utf8");
  const first = new Map();
  const remember = (dir) => {
    for (const item of fs.readdirSync(path.join(vs.folder, dir), { withFileTypes: true })) {
      const name = path.join(dir, item.name);
      if (item.isDirectory()) remember(name);
      else if (item.isFile()) first.set(name, bytes(name));
    }
  };
  remember("");

  return {
    diskHas: (name, part) => vs.until(`${part} in ${name}`, () => text(name)?.includes(part)),
    diskLacks: (name, part) => vs.until(`no ${part} in ${name}`, () => text(name)?.includes(part) === false),
    /** Byte for byte as it was when the session began. */
    diskSame: (name) => vs.until(`the first bytes in ${name}`, () => bytes(name)?.equals(first.get(name))),
    onDisk: (name) => vs.until(`a file ${name}`, () => bytes(name) !== undefined),
    notOnDisk(name) {
      if (bytes(name) !== undefined) throw new Error(`there is a file ${name}: ${text(name)}`);
    },
    write(name, content) {
      fs.mkdirSync(path.dirname(full(name)), { recursive: true });
      fs.writeFileSync(full(name), content);
    },
    settings: (settings) => vs.server.change(settings),

    /** Cells of a notebook, by their id, are as they were. */
    cellsSame(name, ids) {
      const cells = (content) => JSON.parse(content.toString("utf8")).cells.filter((cell) => ids.includes(cell.id));
      const [now, then] = [cells(bytes(name)), cells(first.get(name))];
      if (then.length !== ids.length) throw new Error(`${name} has not all of ${ids.join(", ")}`);
      const sources = (all) => JSON.stringify(all.map((cell) => [cell.id, cell.source]));
      if (sources(now) !== sources(then)) throw new Error(`${sources(now)} is not ${sources(then)}`);
    },
  };
}
