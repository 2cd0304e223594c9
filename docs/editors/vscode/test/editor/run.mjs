/**
 * Tests in the real editor: `node test/editor/run.mjs PLANNER CODE_SERVER CHROMIUM`, after `npm run build`.
 * code-server (`npm install code-server`) runs Visual Studio Code on a server; a headless Chromium displays it.
 */

import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const SECONDS = 180;
const [planner, codeServer, chromium] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const extension = resolve(here, "..", "..");
const base = mkdtempSync(join(tmpdir(), "planner-editor-"));

const FILES = {
  "main.tf": 'resource "terraform_data" "web" {\n  input = var.size # of it\n}\n',
  "variables.tf": 'variable "size" {\n  type    = number\n  default = 1\n}\n',
  "prod.tfvars": "size = 2\n",
  "net.tftest.hcl": 'run "a" {\n  command = plan\n}\n',
  "policy.dl": '/// big(addr): a resource. Example: big("a.b")\n.decl big(addr: instance)\n\n@name("big")\nbig(A) :- change(A, _, _, _, _, _).\n',
  "policy.case": '.case "nothing"\n.want none big.\n',
  "terraform.tfstate": '{"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "a", "outputs": {}, "resources": []}\n',
};

/** The test is copied together with the extension, so it reads the paths of its files from a file next to it. */
function prepare() {
  const folder = join(base, "workspace");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const user = join(base, "user", "User");
  mkdirSync(user, { recursive: true });
  const settings = {
    "planner.path": planner,
    "security.workspace.trust.enabled": false,
    "files.autoSave": "off",
    "extensions.autoCheckUpdates": false,
    "telemetry.telemetryLevel": "off",
    "workbench.startupEditor": "none",
  };
  writeFileSync(join(user, "settings.json"), JSON.stringify(settings));
  const suite = join(base, "suite");
  mkdirSync(suite);
  writeFileSync(join(suite, "suite.cjs"), readFileSync(join(here, "suite.cjs")));
  writeFileSync(join(suite, "run.json"), JSON.stringify({ folder, report: join(base, "report.json") }));
  return { folder, suite: join(suite, "suite.cjs") };
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const children = [];
const start = (command, words) => {
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  children.push(child);
  return () => output;
};

async function answers(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

const { folder, suite } = prepare();
const port = await freePort();
const place = `127.0.0.1:${port}`;
const log = start(codeServer, [
  "--auth", "none", "--bind-addr", place, "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust",
  "--config", join(base, "config.yaml"), "--user-data-dir", join(base, "user"), "--extensions-dir", join(base, "extensions"),
]);
let failed = 1;
try {
  const end = Date.now() + SECONDS * 1000;
  const pause = () => new Promise((resolve) => setTimeout(resolve, 200));
  while (!(await answers(`http://${place}/healthz`)) && Date.now() < end) await pause();
  const remote = (path) => `vscode-remote://${place}${path}`;
  const payload = JSON.stringify([
    ["extensionDevelopmentPath", remote(extension)],
    ["extensionTestsPath", remote(suite)],
  ]);
  const address = `http://${place}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(payload)}`;
  const page = start(chromium, [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", `--user-data-dir=${join(base, "chromium")}`, address,
  ]);
  const report = join(base, "report.json");
  while (!existsSync(report) && Date.now() < end) await pause();
  if (existsSync(report)) {
    const results = Object.entries(JSON.parse(readFileSync(report, "utf8")));
    for (const [name, problem] of results) console.log(`${problem ? "not ok" : "ok"} - ${name}${problem ? `\n${problem}` : ""}`);
    failed = results.filter(([, problem]) => problem).length;
  } else {
    console.log(`The editor wrote no results.\n${log()}\n${page()}`);
  }
} finally {
  for (const child of children) {
    try {
      process.kill(-child.pid);
    } catch {
      // has ended
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  if (!process.env.KEEP) rmSync(base, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(failed ? 1 : 0);
