/** Runs within the editor (`extensionTestsPath`): opens files, requests what it shows, and writes the results. */

const assert = require("node:assert/strict");
const { readFileSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const vscode = require("vscode");

const { folder, report } = JSON.parse(readFileSync(join(__dirname, "run.json"), "utf8"));
const PATIENCE = 30_000;

async function until(what, look) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const hit = await look();
    if (hit) return hit;
    if (Date.now() > end) throw new Error(`waited for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const uri = (name) => vscode.Uri.file(join(folder, name));
const at = (document, text) => document.positionAt(document.getText().indexOf(text) + text.length);
const ask = (name, document, ...more) => vscode.commands.executeCommand(`vscode.execute${name}`, document.uri, ...more);

async function open(name) {
  const document = await vscode.workspace.openTextDocument(uri(name));
  await vscode.window.showTextDocument(document);
  return document;
}

async function replace(document, old, text) {
  const edit = new vscode.WorkspaceEdit();
  const start = document.getText().indexOf(old);
  edit.replace(document.uri, new vscode.Range(document.positionAt(start), document.positionAt(start + old.length)), text);
  assert.ok(await vscode.workspace.applyEdit(edit));
}

const messages = (document) => vscode.languages.getDiagnostics(document.uri).map((one) => one.message);

const TESTS = {
  async "languages follow from the names of files"() {
    const names = { "main.tf": "opentofu", "prod.tfvars": "opentofu-vars", "net.tftest.hcl": "opentofu-test", "policy.dl": "planner-rules" };
    for (const [name, id] of Object.entries(names)) assert.equal((await open(name)).languageId, id, name);
  },
  async "the server starts with the first file"() {
    const api = await vscode.extensions.all.find((one) => one.packageJSON.name === "planner").activate();
    await api.ready();
    assert.ok(api.client());
    const commands = await vscode.commands.getCommands(true);
    for (const name of ["planner.why", "planner.runCase", "planner.restart"]) assert.ok(commands.includes(name), name);
  },
  async "diagnostics follow an edit"() {
    const document = await open("main.tf");
    await replace(document, "var.size", "var.siz");
    await until("a diagnostic", () => messages(document).some((one) => one.includes("siz")));
    await replace(document, "var.siz ", "var.size ");
    await until("no diagnostic", () => messages(document).length === 0);
  },
  async "completion, hover, definition and symbols"() {
    const document = await open("main.tf");
    const items = (await ask("CompletionItemProvider", document, at(document, "var.s"))).items;
    assert.ok(items.some((one) => (one.label.label ?? one.label) === "size"));
    const hovers = await ask("HoverProvider", document, at(document, "input = var.si"));
    assert.match(hovers.flatMap((one) => one.contents).map((one) => one.value).join(), /number/);
    const places = await ask("DefinitionProvider", document, at(document, "input = var.si"));
    assert.equal((places[0].targetUri ?? places[0].uri).fsPath, join(folder, "variables.tf"));
    const names = (await ask("DocumentSymbolProvider", document)).map((one) => one.name);
    assert.ok(names.includes("terraform_data.web"), names.join());
  },
  async "semantic tokens and formatting"() {
    const document = await open("main.tf");
    const tokens = await vscode.commands.executeCommand("vscode.provideDocumentSemanticTokens", document.uri);
    assert.ok(tokens.data.length > 0);
    const edits = await ask("FormatDocumentProvider", document, { tabSize: 2, insertSpaces: true });
    assert.deepEqual(edits ?? [], []);
  },
  async "a code action declares a variable"() {
    const document = await open("main.tf");
    await replace(document, "var.size", "var.weight");
    await until("a diagnostic", () => messages(document).length > 0);
    const place = at(document, "var.wei");
    const actions = await ask("CodeActionProvider", document, new vscode.Range(place, place));
    const action = actions.find((one) => one.title.startsWith('Declare variable "weight"'));
    assert.ok(action, actions.map((one) => one.title).join());
    assert.ok(await vscode.workspace.applyEdit(action.edit));
    await until("no diagnostic", () => messages(document).length === 0);
    assert.match((await open("variables.tf")).getText(), /variable "weight" \{\n  type = any\n\}/);
    await vscode.commands.executeCommand("workbench.action.files.revert");
    await replace(document, "var.weight", "var.size");
  },
  async "rename reaches the other files"() {
    const document = await open("main.tf");
    const edit = await vscode.commands.executeCommand("vscode.executeDocumentRenameProvider", document.uri, at(document, "input = var.si"), "amount");
    const names = edit.entries().map(([one]) => one.fsPath.slice(folder.length + 1)).sort();
    assert.deepEqual(names, ["main.tf", "prod.tfvars", "variables.tf"]);
  },
  async "a lens shows the plan, and its command the reasons"() {
    const document = await open("main.tf");
    const lens = await until("a lens", async () => (await ask("CodeLensProvider", document)).find((one) => one.command));
    assert.match(lens.command.title, /\+ 1/);
    const text = await vscode.commands.executeCommand(lens.command.command, ...lens.command.arguments);
    assert.match(text, /\*\*Plan:\*\*/);
    await until("the answer", () => vscode.workspace.textDocuments.some((one) => one.uri.scheme === "planner-answer"));
  },
  async "cases of rules run in place"() {
    const document = await open("policy.case");
    const lens = await until("a lens", async () => (await ask("CodeLensProvider", document)).find((one) => one.command));
    const answer = await vscode.commands.executeCommand(lens.command.command, ...lens.command.arguments);
    assert.equal(answer.passed, true, answer.text);
  },
  async "a restart keeps the diagnostics coming"() {
    const document = await open("main.tf");
    await vscode.commands.executeCommand("planner.restart");
    await replace(document, "var.size", "var.siz");
    await until("a diagnostic", () => messages(document).some((one) => one.includes("siz")));
    await replace(document, "var.siz ", "var.size ");
  },
  async "another path of the program restarts the server, a wrong one is reported"() {
    const api = vscode.extensions.all.find((one) => one.packageJSON.name === "planner").exports;
    const settings = vscode.workspace.getConfiguration("planner");
    const former = settings.get("path");
    await settings.update("path", "/nonexistent/planner", vscode.ConfigurationTarget.Global);
    await until("no client", () => api.client() === undefined);
    await settings.update("path", former, vscode.ConfigurationTarget.Global);
    await until("a client", () => api.client());
  },
};

exports.run = async () => {
  const results = {};
  for (const [name, work] of Object.entries(TESTS)) {
    try {
      await work();
      results[name] = "";
    } catch (problem) {
      results[name] = String(problem?.stack ?? problem);
    }
  }
  writeFileSync(report, JSON.stringify(results, null, 1));
};
