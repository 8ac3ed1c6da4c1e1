// The bundled extension with the real language client and the real server, in a host that is not VS
// Code: what a user sees of each feature.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { after, before, test } = require("node:test");
const host = require("./host.cjs");

const { vscode } = host;
const root = path.join(__dirname, "..");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "torchport-vscode-"));
const CUDA = "import torch\n\nx = torch.zeros(3).cuda()\nprint(x)\n";
let extension;

async function until(what, condition) {
  for (let i = 0; i < 1000; i += 1) {
    const value = condition();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`no ${what} within 10 s; shown: ${host.shown}; log: ${host.log}`);
}

function opened(name, text) {
  const document = host.document(path.join(folder, name), text);
  host.open(document);
  return document;
}

function codes(document) {
  return host.diagnostics.get(document.uri.toString())?.map((found) => found.code);
}

function token() {
  return new vscode.CancellationTokenSource().token;
}

function range(line, from, to) {
  return new vscode.Range(new vscode.Position(line, from), new vscode.Position(line, to));
}

before(async () => {
  Object.defineProperty(vscode.workspace, "workspaceFolders", {
    value: [{ uri: vscode.Uri.file(folder), name: "project", index: 0 }],
    configurable: true,
  });
  extension = host.load();
  await extension.activate({ extensionPath: root, subscriptions: [] });
  assert.deepEqual(host.shown, []);
});

after(async () => {
  await extension.deactivate();
  fs.rmSync(folder, { recursive: true });
});

test("it carries the program of this version", () => {
  const program = path.join(root, "bundled", "bin", "torchport");
  const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  assert.match(execFileSync(program, ["--version"], { encoding: "utf8" }), new RegExp(version));
});

test("findings follow what is typed", async () => {
  const document = opened("typed.py", "import torch\nx = torch.zeros(3)\n");
  await until("empty diagnostics", () => codes(document)?.length === 0);
  document.replace(range(1, 18, 18), ".cuda()");
  await until("finding", () => codes(document)?.[0] === "TP101");
  document.replace(range(1, 18, 25), "");
  await until("empty diagnostics", () => codes(document)?.length === 0);
});

test("a finding has a fix, and a comment that ignores it", async () => {
  const document = opened("fixed.py", CUDA);
  const [found] = await until("finding", () => host.diagnostics.get(document.uri.toString()));
  const actions = await host.providers.registerCodeActionsProvider.provideCodeActions(
    document,
    found.range,
    { diagnostics: [found], only: undefined, triggerKind: 1 },
    token(),
  );
  const titles = actions.map((action) => action.title);
  assert.ok(titles.some((title) => title.includes("device=DEVICE")), titles.join("; "));
  assert.ok(titles.some((title) => title.includes("ignore TP101")), titles.join("; "));
  const fix = actions.find((action) => action.title.includes("device=DEVICE"));
  assert.equal(fix.isPreferred, true);
  const edits = fix.edit.get(document.uri);
  for (const edit of edits.toReversed()) document.replace(edit.range, edit.newText);
  assert.ok(document.getText().includes("x = torch.zeros(3, device=DEVICE)\n"));
  await until("empty diagnostics", () => codes(document)?.length === 0);
});

test("hover says where a variable lives", async () => {
  const document = opened("hover.py", CUDA);
  await until("finding", () => codes(document)?.length === 1);
  const place = new vscode.Position(3, 6);
  const hover = await host.providers.registerHoverProvider.provideHover(document, place, token());
  const text = hover.contents.map((part) => part.value ?? part).join("\n");
  assert.match(text, /`x`: a tensor on \*\*cuda\*\*/);
  assert.match(text, /from line 3/);
});

test("settings of the editor are used when they change", async () => {
  const document = opened("settings.py", CUDA);
  await until("finding", () => codes(document)?.length === 1);
  host.settings.ignore = ["TP101"];
  host.fire("onDidChangeConfiguration", { affectsConfiguration: (name) => name === "torchport" });
  await until("empty diagnostics", () => codes(document)?.length === 0);
  assert.deepEqual(host.shown, []);
  host.settings.ignore = [];
  host.fire("onDidChangeConfiguration", { affectsConfiguration: (name) => name === "torchport" });
  await until("finding", () => codes(document)?.length === 1);
});

test("the server starts anew by a command, and a program that is missing is named", async () => {
  const document = opened("restart.py", CUDA);
  await until("finding", () => codes(document)?.length === 1);
  host.diagnostics.clear();
  await host.commands["torchport.restart"]();
  await until("finding", () => codes(document)?.length === 1);
  host.settings.path = "/nowhere/torchport";
  await host.commands["torchport.restart"]();
  assert.ok(host.shown.some((text) => text.includes("/nowhere/torchport cannot be started")));
  host.settings.path = "";
  await host.commands["torchport.restart"]();
});
