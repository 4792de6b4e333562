// The part of the Python extension's API that others use to follow the selected environment, as its documentation has it.

const vscode = require("vscode");

exports.activate = (context) => {
  const known = vscode.workspace.getConfiguration("standin").get("interpreters", []);
  const changes = new vscode.EventEmitter();
  let active = known[0];
  const described = (path) => ({ id: path, path });

  context.subscriptions.push(
    changes,
    vscode.commands.registerCommand("python.setInterpreter", async () => {
      const chosen = await vscode.window.showQuickPick(known, { placeHolder: "Select Interpreter" });
      if (chosen === undefined) return;
      active = chosen;
      changes.fire({ ...described(chosen), resource: undefined });
    }),
  );
  return {
    ready: Promise.resolve(),
    environments: {
      known: known.map(described),
      getActiveEnvironmentPath: () => described(active),
      resolveEnvironment: async ({ path }) => ({
        ...described(path),
        executable: { uri: vscode.Uri.file(path), bitness: "64-bit", sysPrefix: "" },
      }),
      onDidChangeActiveEnvironmentPath: changes.event,
    },
  };
};
