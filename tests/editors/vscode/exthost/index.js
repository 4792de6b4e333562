// Extension-host tests: VS Code loads this file and calls run() in the real extension host, beside the extension under test, with
// the real module `vscode`.  The workspace is that of the day; graphmend.python is a Python with torch.

const assert = require("node:assert/strict");
const path = require("node:path");
const vscode = require("vscode");

const ID = "graphmend.graphmend";
const WHERE = "Compute both sides and select with torch.where";
const LIMIT_MS = 60_000;

async function until(what, test, limit = LIMIT_MS) {
  for (const end = Date.now() + limit; Date.now() < end; ) {
    const value = await test();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`waited ${limit / 1000} s for ${what}`);
}

const run = (command, ...values) => vscode.commands.executeCommand(command, ...values);

const first = new Map();

async function shown(name) {
  const file = path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, name);
  const document = await vscode.workspace.openTextDocument(file);
  if (!first.has(name)) first.set(name, document.getText());
  await vscode.window.showTextDocument(document);
  return document;
}

const found = (document, source = "GraphMend") =>
  vscode.languages.getDiagnostics(document.uri).filter((each) => each.source === source);

const codes = (document) => found(document).map(({ code, range }) => [code.value ?? code, range.start.line + 1]);

const diagnosed = (document, count) =>
  until(`${count} diagnostics`, () => found(document).length === count && found(document));

/** As it was at first, so that tests do not depend on each other.  (A fix that makes a file saves all that it changes.) */
async function reverted(document) {
  const edit = new vscode.WorkspaceEdit();
  const text = first.get(path.basename(document.uri.fsPath));
  edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), text);
  await vscode.workspace.applyEdit(edit);
}

const configuration = (document) => vscode.workspace.getConfiguration("graphmend", document);

async function withSetting(document, name, value, test) {
  await configuration(document).update(name, value, vscode.ConfigurationTarget.Workspace);
  try {
    await test();
  } finally {
    await configuration(document).update(name, undefined, vscode.ConfigurationTarget.Workspace);
  }
}

const tests = {
  async "the extension activates for a Python file, and its server starts"() {
    const document = await shown("router.py");
    const extension = vscode.extensions.getExtension(ID);
    await until("the extension", () => extension.isActive);
    await diagnosed(document, 4);
  },

  async "the commands of the palette are registered, and those of the server"() {
    const commands = new Set(await vscode.commands.getCommands(true));
    const { contributes } = vscode.extensions.getExtension(ID).packageJSON;
    const own = contributes.commands.map((each) => each.command);
    assert.equal(own.length, 8);
    for (const name of [...own, "graphmend.profile", "graphmend.verify", "graphmend.explain", "graphmend.showReport"]) {
      assert.ok(commands.has(name), name);
    }
  },

  async "each setting has a default and a description"() {
    const { contributes } = vscode.extensions.getExtension(ID).packageJSON;
    for (const [name, setting] of Object.entries(contributes.configuration.properties)) {
      assert.ok("default" in setting, name);
      assert.ok((setting.markdownDescription ?? setting.description).length > 10, name);
    }
  },

  async "diagnostics have codes, links to their pages, and evidence"() {
    const document = await shown("router.py");
    const all = await diagnosed(document, 4);
    assert.deepEqual(codes(document), [["GM301", 22], ["GM101", 26], ["GM202", 30], ["GM101", 31]]);
    assert.ok(all.every((each) => each.severity === vscode.DiagnosticSeverity.Warning));
    assert.match(String(all[1].code.target), /gb0170/);
    assert.ok(all[1].relatedInformation.some((each) => /annotated as a tensor/.test(each.message)));
  },

  async "quick fixes: the safe one is preferred, and it mends"() {
    const document = await shown("router.py");
    const [, { range }] = await diagnosed(document, 4);
    const actions = await run("vscode.executeCodeActionProvider", document.uri, range, undefined, 10);
    const ours = actions.filter((each) => each.title.startsWith("GraphMend (GM101)"));
    const fix = ours.find((each) => each.title.includes(WHERE));
    assert.ok(fix.isPreferred);
    assert.deepEqual(ours.filter((each) => each.isPreferred), [fix]);
    assert.ok(ours.some((each) => each.title.includes("Ignore on this line")));
    assert.ok(ours.some((each) => each.command?.command === "graphmend.verify"));
    await vscode.workspace.applyEdit(fix.edit);
    assert.match(document.getText(), /logits = torch\.where\(/);
    await diagnosed(document, 3);
    await reverted(document);
    await diagnosed(document, 4);
  },

  async "what is refused says why"() {
    const document = await shown("router.py");
    const [, , , { range }] = await diagnosed(document, 4);
    const actions = await run("vscode.executeCodeActionProvider", document.uri, range);
    const why = actions.find((each) => each.title.includes("Why no fix?"));
    const text = await run(why.command.command, ...why.command.arguments);
    assert.match(text, /changes a container/);
  },

  async "fix all, by its kind and by the command"() {
    const document = await shown("router.py");
    await diagnosed(document, 4);
    const all = new vscode.Range(0, 0, document.lineCount, 0);
    const actions = await run("vscode.executeCodeActionProvider", document.uri, all, "source.fixAll.graphmend", 1);
    assert.deepEqual(actions.map((each) => each.kind.value), ["source.fixAll.graphmend"]);
    await run("graphmend.fixAll");
    await diagnosed(document, 2);
    assert.deepEqual(codes(document).map(([code]) => code), ["GM202", "GM101"]);
    await reverted(document);
    await diagnosed(document, 4);
  },

  async "the hover explains"() {
    const document = await shown("router.py");
    await diagnosed(document, 4);
    const hovers = await run("vscode.executeHoverProvider", document.uri, new vscode.Position(25, 14));
    const text = hovers.flatMap((each) => each.contents.map((content) => content.value)).join("\n");
    assert.match(text, /known only on the device/);
    assert.match(text, /torch\.where/);
  },

  async "settings reach the server"() {
    const document = await shown("router.py");
    await diagnosed(document, 4);
    await withSetting(document, "severity", { GM2: "hint" }, async () => {
      await until("a hint", () => found(document).some((each) => each.severity === vscode.DiagnosticSeverity.Hint));
      assert.match(await run("graphmend.printDebugInformation"), /severity = .*'GM202': 'hint'/);
    });
    await until("no hint", () => found(document).every((each) => each.severity === vscode.DiagnosticSeverity.Warning));
    assert.match(await run("graphmend.printDebugInformation"), /python = '.+python'\n +trusted = True/);
  },

  async "a disabled extension checks nothing; enabled again it does"() {
    const document = await shown("router.py");
    await diagnosed(document, 4);
    await withSetting(document, "enable", false, () => diagnosed(document, 0));
    await diagnosed(document, 4);
  },

  async "lenses profile what they stand above"() {
    const document = await shown("gate.py");
    await diagnosed(document, 1);
    const lenses = await run("vscode.executeCodeLensProvider", document.uri, 10);
    const ours = lenses.filter((each) => each.command.command === "graphmend.profile");
    assert.deepEqual(ours.map((each) => each.range.start.line), [6]);
    assert.match(ours[0].command.title, /^Profile on (GPU|CPU)$/);
  },

  async "a profile returns its report, and leaves a hint, diagnostics and a page"() {
    const document = await shown("gate.py");
    await diagnosed(document, 1);
    const report = await run("graphmend.profile", { uri: document.uri.toString(), entry: "Gate", timing: false });
    assert.equal(report.failure, null);
    assert.equal(report.original.graphs.length, 2);
    assert.equal(report.mended.graphs.length, 1);
    const all = new vscode.Range(0, 0, document.lineCount, 0);
    const hints = await until("a hint", async () => {
      const some = await run("vscode.executeInlayHintProvider", document.uri, all);
      return some.length > 0 && some;
    });
    assert.deepEqual(hints.map((each) => each.label), ["2 graphs, 1 break -> mended: 1 graph"]);
    const [measured] = await until("a measured break", () => {
      const some = found(document, "torch.compile");
      return some.length > 0 && some;
    });
    assert.equal(measured.range.start.line, 15);
    await run("graphmend.showReport", { uri: document.uri.toString(), entry: "Gate" });
    const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const tab = await until("the report", () => tabs().find((each) => /Gate/.test(each.label) && "viewType" in (each.input ?? {})));
    assert.match(tab.input.viewType, /graphmend\.report/);
    await vscode.window.tabGroups.close(tab);
  },

  async "example_inputs() is inserted for what has none"() {
    const text = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n";
    const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "net.py");
    await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
    const document = await shown("net.py");
    vscode.window.activeTextEditor.selection = new vscode.Selection(6, 8, 6, 8);
    await until("the stub", async () => {
      await run("graphmend.insertExampleInputs");
      return document.getText().includes("def example_inputs(");
    });
    await reverted(document);
  },

  async "the server is restarted"() {
    const document = await shown("router.py");
    await diagnosed(document, 4);
    await run("graphmend.restart");
    assert.match(await run("graphmend.printDebugInformation"), /router\.py version/);
    await diagnosed(document, 4);
  },
};

exports.run = async () => {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    const begun = Date.now();
    try {
      await test();
      console.log(`ok   ${((Date.now() - begun) / 1000).toFixed(1)} s  ${name}`);
    } catch (error) {
      failed += 1;
      console.error(`FAIL ${name}\n${error.stack}`);
    }
  }
  if (failed > 0) throw new Error(`${failed} tests failed`);
};
