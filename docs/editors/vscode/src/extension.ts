/** Starts the language server for the files of a workspace and shows the answers of its commands. */

import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions, State } from "vscode-languageclient/node";

const PATTERNS = [
  "*.{tf,tofu,tfvars,dl,case}",
  "*.{tf,tofu,tfvars,tftest,tofutest}.json",
  "*.{tftest,tofutest,tfquery,tfcomponent,tfdeploy,tfstack,batch}.hcl",
];
const ANSWERS = "planner-answer";

let client: LanguageClient | undefined;
let log: vscode.LogOutputChannel;
/** The end of the last restart: restarts run one after another, so a server is not stopped while it starts. */
let turn: Promise<void> = Promise.resolve();

/** Provides answers of the server as documents for the Markdown preview. */
class Answers implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changes = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changes.event;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  async show(title: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: ANSWERS, path: `/${title.replace(/[/\\]/g, "_")}.md` });
    this.texts.set(uri.toString(), text);
    this.changes.fire(uri);
    await vscode.commands.executeCommand("markdown.showPreviewToSide", uri);
  }
}

const answers = new Answers();

export interface Api {
  /** The running client; undefined if the server could not be started. */
  client(): LanguageClient | undefined;
  /** The end of the last start or restart. */
  ready(): Promise<void>;
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  log = vscode.window.createOutputChannel("planner", { log: true });
  context.subscriptions.push(
    log,
    vscode.workspace.registerTextDocumentContentProvider(ANSWERS, answers),
    vscode.commands.registerCommand("planner.restart", restart),
    vscode.commands.registerCommand("planner.log", () => log.show()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const names = ["planner.path", "planner.arguments", "planner.plan"];
      if (names.some((name) => event.affectsConfiguration(name))) void restart();
    }),
  );
  await restart();
  return { client: () => client, ready: () => turn };
}

export function deactivate(): Promise<void> {
  turn = turn.then(stop);
  return turn;
}

function restart(): Promise<void> {
  turn = turn.then(stop).then(start);
  return turn;
}

async function stop(): Promise<void> {
  const former = client;
  client = undefined;
  if (former !== undefined && former.state !== State.Stopped) {
    await former.stop().catch((problem: unknown) => log.warn(String(problem)));
  }
  await former?.dispose().catch(() => undefined);
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("planner");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const command = settings.get("path", "planner").replaceAll("${workspaceFolder}", folder ?? ".");
  const server: ServerOptions = { command, args: settings.get("arguments", ["lsp"]), options: { cwd: folder } };
  const options: LanguageClientOptions = {
    documentSelector: PATTERNS.map((name) => ({ scheme: "file", pattern: `**/${name}` })),
    initializationOptions: { plan: settings.get("plan", "offline"), showsResults: true },
    outputChannel: log,
    middleware: { executeCommand: run },
  };
  const starting = new LanguageClient("planner", "planner", server, options);
  try {
    await starting.start();
    client = starting;
  } catch (problem) {
    log.error(String(problem));
    void failed(command);
  }
}

/** Runs a command of a code lens on the server and shows its answer. */
async function run(command: string, words: unknown[], next: (command: string, words: unknown[]) => unknown): Promise<unknown> {
  const answer = await next(command, words);
  if (command === "planner.why" && typeof answer === "string") {
    await answers.show(String(words[1]), `# ${String(words[1])}\n\n${answer}\n`);
  } else if (command === "planner.runCase") {
    const { passed, text } = answer as { passed: boolean; text: string };
    log.info(text);
    const show = passed ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
    void show(text.trim());
  }
  return answer;
}

async function failed(command: string): Promise<void> {
  const message =
    `The language server could not be started: ${command} lsp. ` +
    "Install it with pip install 'planner-iac[lsp]', or set planner.path.";
  const choice = await vscode.window.showErrorMessage(message, "Open settings", "Show log");
  if (choice === "Open settings") await vscode.commands.executeCommand("workbench.action.openSettings", "planner.path");
  if (choice === "Show log") log.show();
}
