// Starts `torchport server` for VS Code. Everything else is the server's.
import { existsSync } from "node:fs";
import * as path from "node:path";
import { commands, type ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

/** The program of the setting, else the one in the extension, else the one on PATH. */
export function programOf(extension: string, setting: string): string {
  if (setting !== "") return setting;
  const carried = path.join(extension, "bundled", "bin", "torchport");
  return existsSync(carried) ? carried : "torchport";
}

const options: LanguageClientOptions = {
  documentSelector: [
    { scheme: "file", language: "python" },
    { scheme: "untitled", language: "python" },
    { scheme: "file", language: "dockerfile" },
    { scheme: "file", language: "cmake" },
    { scheme: "file", pattern: "**/*requirements*.{txt,in}" },
    { scheme: "file", pattern: "**/constraints.txt" },
    { scheme: "file", pattern: "**/environment*.{yml,yaml}" },
    { scheme: "file", pattern: "**/pyproject.toml" },
  ],
  synchronize: { configurationSection: "torchport" },
};

async function start(context: ExtensionContext): Promise<void> {
  const setting = workspace.getConfiguration("torchport").get<string>("path", "");
  const command = programOf(context.extensionPath, setting);
  client = new LanguageClient("torchport", "torchport", { command, args: ["server"] }, options);
  try {
    await client.start();
  } catch (error) {
    void window.showErrorMessage(
      `torchport: ${command} cannot be started (${String(error)}). The setting torchport.path names the program.`,
    );
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  if (running?.isRunning()) await running.stop();
}

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("torchport.restart", async () => {
      await stop();
      await start(context);
    }),
    workspace.onDidChangeConfiguration(async (change) => {
      if (!change.affectsConfiguration("torchport.path")) return;
      await stop();
      await start(context);
    }),
  );
  await start(context);
}

export function deactivate(): Promise<void> {
  return stop();
}
