// The processes of this machine, as Linux shows them; one that is gone meanwhile is nothing.

import fs from "node:fs";

function read(pid, what) {
  try {
    return fs.readFileSync(`/proc/${pid}/${what}`, "utf8");
  } catch {
    return "";
  }
}

export const processes = () => fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);

export const commandLine = (pid) => read(pid, "cmdline").split("\0");

/** Whether it is in a process group and alive.  Behind the name, which may hold anything, stand: state, parent, group. */
export function inGroup(pid, group) {
  const [state, , its] = (read(pid, "stat").split(") ").at(-1) ?? "").split(" ");
  return state !== "Z" && Number(its) === group;
}
