/** Highlighting without the server: the scopes of selected words; files must end outside all brackets. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import test from "node:test";

const require = createRequire(import.meta.url);
const { INITIAL, Registry, parseRawGrammar } = require("vscode-textmate");
const { OnigScanner, OnigString, loadWASM } = require("vscode-oniguruma");

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const wasm = readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
const onigLib = loadWASM(wasm.buffer).then(() => ({
  createOnigScanner: (patterns) => new OnigScanner(patterns),
  createOnigString: (text) => new OnigString(text),
}));
const files = { "source.opentofu": "opentofu", "source.planner-rules": "rules" };
const registry = new Registry({
  onigLib,
  loadGrammar: async (scope) => {
    const path = join(root, "syntaxes", `${files[scope]}.json`);
    return parseRawGrammar(readFileSync(path, "utf8"), path);
  },
});

async function scopesOf(scope, text) {
  const grammar = await registry.loadGrammar(scope);
  let stack = INITIAL;
  const words = [];
  for (const line of text.split("\n")) {
    const result = grammar.tokenizeLine(line, stack);
    stack = result.ruleStack;
    for (const token of result.tokens) {
      words.push([line.slice(token.startIndex, token.endIndex), token.scopes.join(" ")]);
    }
  }
  return { words, depth: stack.depth };
}

const CONFIGURATION = `# first
resource "aws_vpc" "main" {
  cidr = cidrsubnet(var.range, 4, 1) // second
  tags = { Name = "a-\${local.name}-$\${b}", other : true }
  text = <<-EOT
    %{ if var.on }# no comment %{ endif }
  EOT
  dynamic "rule" {
    for_each = [for k, v in module.net.rules : v if k != null]
    content { port = 8080 }
  }
}
`;

test("words of a configuration", async () => {
  const { words, depth } = await scopesOf("source.opentofu", CONFIGURATION);
  const of = (word) => words.filter(([text]) => text.trim() === word).map(([, scopes]) => scopes);
  assert.match(of("# first")[0], /comment\.line/);
  assert.match(of("// second")[0], /comment\.line/);
  assert.match(of("resource")[0], /keyword\.other\.block/);
  assert.match(of('"aws_vpc"')[0], /entity\.name\.type/);
  assert.match(of("cidr")[0], /variable\.other\.property/);
  assert.match(of("cidrsubnet")[0], /support\.function/);
  assert.match(of("var")[0], /variable\.language/);
  assert.match(of("name")[0], /string\.quoted.*variable\.other\.member/);
  assert.match(of("Name")[0], /variable\.other\.property/);
  assert.match(of("other")[0], /variable\.other\.property/);
  assert.match(of("true")[0], /constant\.language/);
  assert.match(of("$${")[0], /constant\.character\.escape/);
  assert.match(of("if")[0], /heredoc.*keyword\.control/);
  assert.match(of("for")[0], /keyword\.control/);
  assert.match(of("8080")[0], /constant\.numeric/);
  assert.ok(words.every(([text, scopes]) => !text.includes("no comment") || !scopes.includes("comment.")));
  assert.equal(depth, 1);
});

test("words of rules", async () => {
  const text = '/// doc\n.decl lonely(object: text)\n@name("a")\nlonely(O) :- resource(O, _), N = count : { a(O) }, not b(1). // end\n';
  const { words, depth } = await scopesOf("source.planner-rules", text);
  const of = (word) => words.filter(([one]) => one.trim() === word).map(([, scopes]) => scopes);
  assert.match(of("/// doc")[0], /comment\.block\.documentation/);
  assert.match(of(".decl")[0], /keyword\.other\.directive/);
  assert.match(of("lonely")[0], /entity\.name\.function/);
  assert.match(of("text")[0], /storage\.type/);
  assert.match(of("O")[0], /variable\.other/);
  assert.match(of("count")[0], /support\.function\.aggregate/);
  assert.match(of("not")[0], /keyword\.control/);
  assert.match(of("1")[0], /constant\.numeric/);
  assert.equal(depth, 1);
});

/** The files of a directory with these endings. */
function* below(folder, endings) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules") yield* below(path, endings);
    else if (entry.isFile() && endings.some((ending) => entry.name.endsWith(ending))) yield path;
  }
}

/** Directories with configurations and rules: those of this repository, or of PLANNER_FILES. */
const folder = process.env.PLANNER_FILES ?? join(root, "..", "..", "..", "examples");

for (const [scope, endings] of [["source.opentofu", [".tf", ".tofu", ".tfvars", ".hcl"]], ["source.planner-rules", [".dl", ".case"]]]) {
  test(`files in ${folder} end outside all brackets: ${endings.join(", ")}`, async () => {
    const open = [];
    let count = 0;
    for (const path of below(folder, endings)) {
      count += 1;
      if ((await scopesOf(scope, readFileSync(path, "utf8"))).depth !== 1) open.push(path);
    }
    assert.deepEqual(open, []);
    assert.ok(count > 0 || process.env.PLANNER_FILES);
  });
}
