// A host for the extension without VS Code: the classes of jest-mock-vscode, events that a test fires,
// and what the extension registers. The language client and the server are the real ones.
"use strict";

const { EventEmitter } = require("node:events");
const Module = require("node:module");
const path = require("node:path");
const { mock } = require("node:test");
const { createVSCodeMock } = require("jest-mock-vscode");

const vscode = createVSCodeMock({ fn: (code) => mock.fn(code ?? (() => undefined)) });
// The classes that jest-mock-vscode lacks and the language client derives from.
vscode.InlayHint ??= class InlayHint {
  constructor(position, label, kind) {
    Object.assign(this, { position, label, kind });
  }
};
vscode.env = { appName: "host of the tests", language: "en", uriScheme: "vscode" };
vscode.CancellationError ??= class CancellationError extends Error {};
// jest-mock-vscode's own refuses the pairs (edit, metadata) that the language client sets.
vscode.WorkspaceEdit = class WorkspaceEdit {
  #edits = new Map();
  set(uri, edits) {
    this.#edits.set(uri.toString(), edits.map((edit) => (Array.isArray(edit) ? edit[0] : edit)));
  }
  get(uri) {
    return this.#edits.get(uri.toString()) ?? [];
  }
};
vscode.Hover ??= class Hover {
  constructor(contents, range) {
    Object.assign(this, { contents: [contents].flat(), range });
  }
};
vscode.CodeActionTriggerKind ??= { Invoke: 1, Automatic: 2 };
vscode.CancellationTokenSource ??= class CancellationTokenSource {
  #emitter = new vscode.EventEmitter();
  token = { isCancellationRequested: false, onCancellationRequested: this.#emitter.event };
  cancel() {
    this.token.isCancellationRequested = true;
    this.#emitter.fire();
  }
  dispose() {
    this.#emitter.dispose();
  }
};
const emitter = new EventEmitter();
emitter.setMaxListeners(100);

function disposable(dispose = () => undefined) {
  return new vscode.Disposable(dispose);
}

// Every `onDid...` of a namespace becomes an event that fire() reaches.
function withEvents(namespace) {
  for (const name of Object.keys(namespace)) {
    if (!/^on(Did|Will)/.test(name)) continue;
    namespace[name] = (listener, self) => {
      const bound = self ? listener.bind(self) : listener;
      emitter.on(name, bound);
      return disposable(() => emitter.off(name, bound));
    };
  }
}
for (const namespace of [vscode.workspace, vscode.window, vscode.languages]) withEvents(namespace);

function fire(name, event) {
  emitter.emit(name, event);
}

// What the extension registered, by the name of the function: [selector, provider].
const providers = {};
for (const name of Object.keys(vscode.languages)) {
  if (!name.startsWith("register")) continue;
  vscode.languages[name] = (selector, provider) => {
    providers[name] = provider;
    return disposable();
  };
}

const commands = {};
vscode.commands.registerCommand = (name, code) => {
  commands[name] = code;
  return disposable();
};
vscode.commands.executeCommand = async () => undefined;

// uri -> diagnostics, of all collections together.
const diagnostics = new Map();
vscode.languages.createDiagnosticCollection = (name) => ({
  name,
  set: (uri, found) => diagnostics.set(uri.toString(), found ?? []),
  delete: (uri) => diagnostics.delete(uri.toString()),
  clear: () => diagnostics.clear(),
  has: (uri) => diagnostics.has(uri.toString()),
  get: (uri) => diagnostics.get(uri.toString()),
  forEach: () => undefined,
  dispose: () => undefined,
});
vscode.languages.match = (selector, document) =>
  [selector].flat().some((filter) => filter.language === document.languageId) ? 10 : 0;

const shown = [];
for (const name of ["showErrorMessage", "showWarningMessage", "showInformationMessage"])
  vscode.window[name] = async (text) => void shown.push(text);
const log = [];
vscode.window.createOutputChannel = (name) => {
  const write = (...words) => void log.push(words.join(" "));
  const channel = { name, logLevel: 2, show() {}, hide() {}, clear() {}, replace() {}, dispose() {} };
  for (const level of ["append", "appendLine", "trace", "debug", "info", "warn", "error"])
    channel[level] = write;
  channel.onDidChangeLogLevel = () => disposable();
  return channel;
};

// name -> value of the settings under "torchport".
const settings = {};
vscode.workspace.getConfiguration = (section) => {
  const values = section === "torchport" ? settings : section ? {} : { torchport: settings };
  return {
    ...values,
    get: (name, fallback) => (name === "torchport" ? settings : (values[name] ?? fallback)),
    has: (name) => name in values,
    inspect: () => undefined,
    update: async () => undefined,
  };
};
vscode.workspace.createFileSystemWatcher = () => ({
  onDidCreate: () => disposable(),
  onDidChange: () => disposable(),
  onDidDelete: () => disposable(),
  dispose() {},
});

// A document of the editor; `replace` changes it as typing does.
function document(file, text, languageId = "python") {
  const uri = vscode.Uri.file(file);
  const offset = (place) => {
    const lines = text.split("\n");
    return lines.slice(0, place.line).join("\n").length + (place.line > 0 ? 1 : 0) + place.character;
  };
  const result = {
    uri,
    fileName: file,
    languageId,
    version: 1,
    isClosed: false,
    isDirty: false,
    isUntitled: false,
    getText: () => text,
    lineAt: (line) => ({ text: text.split("\n")[line] }),
    offsetAt: offset,
    replace(range, fresh) {
      const start = offset(range.start);
      const end = offset(range.end);
      text = text.slice(0, start) + fresh + text.slice(end);
      result.version += 1;
      fire("onDidChangeTextDocument", {
        document: result,
        contentChanges: [{ range, rangeOffset: start, rangeLength: end - start, text: fresh }],
        reason: undefined,
      });
    },
  };
  return result;
}

function open(opened) {
  vscode.workspace.textDocuments.push(opened);
  vscode.window.activeTextEditor = { document: opened };
  vscode.window.visibleTextEditors.push({ document: opened });
  fire("onDidOpenTextDocument", opened);
}

/** Loads the bundle as VS Code does, with this host as its module "vscode". */
function load() {
  const original = Module._load;
  Module._load = function (request, ...rest) {
    return request === "vscode" ? vscode : original.call(this, request, ...rest);
  };
  try {
    return require(path.join(__dirname, "..", "dist", "extension.js"));
  } finally {
    Module._load = original;
  }
}

module.exports = { vscode, fire, providers, commands, diagnostics, shown, log, settings, document, open, load };
