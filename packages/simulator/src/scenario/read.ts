import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type Document } from "yaml";
import { aliasesMax, scenarioBytesMax } from "../limits.ts";
import { checkScenario } from "./check.ts";
import type { Scenario } from "./compile.ts";
import { loadModule } from "./load-module.ts";
import { pathText, type ScenarioProblem, type Place } from "./problem.ts";

export type ScenarioReading =
  | { readonly kind: "scenario"; readonly scenario: Scenario }
  /** `absent`: there is no such file, which is its one problem. */
  | { readonly kind: "wrong" | "absent"; readonly problems: readonly ScenarioProblem[] };

/** A scenario file: YAML (JSON too), or a module with an export named `scenario`, which is run. */
export async function readScenario(file: string): Promise<ScenarioReading> {
  if (!existsSync(file)) return { kind: "absent", problems: [{ file, path: "", what: "is not there" }] };
  const ending = extname(file).toLowerCase();
  if (moduleEndings.includes(ending)) return readModule(file);
  if (!textEndings.includes(ending)) {
    const allowed = [...textEndings, ...moduleEndings].join(", ");
    return wrong(file, `is no scenario by its ending; allowed: ${allowed}`);
  }
  const bytes = await readFile(file).catch((error: unknown) => messageOf(error));
  if (typeof bytes === "string") return wrong(file, `can't be read: ${bytes}`);
  if (bytes.length > scenarioBytesMax)
    return wrong(file, `has ${bytes.length} bytes; a scenario has at most ${scenarioBytesMax}`);
  return parseScenario({ file, text: bytes.toString("utf8") });
}

const textEndings = [".yaml", ".yml", ".json"];
const moduleEndings = [".ts", ".mts", ".js", ".mjs"];

export interface ScenarioText {
  /** For messages only. */
  readonly file: string;
  readonly text: string;
}

export function parseScenario({ file, text }: ScenarioText): ScenarioReading {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  // Behind the first error nothing means what it was meant to.
  const [error] = document.errors;
  if (error !== undefined) {
    const { message, pos } = error;
    return { kind: "wrong", problems: [{ file, ...place(lines, pos[0]), path: "", what: message }] };
  }
  const value = valueOf(document);
  if (value.kind === "endless") return wrong(file, value.why);
  const checked = checkScenario(value.value);
  if (checked.kind === "scenario") return checked;
  const problems = checked.flaws.map(({ at, what }) => ({
    file,
    ...place(lines, offsetOf(document, at)),
    path: pathText(at),
    what,
  }));
  return {
    kind: "wrong",
    problems: problems.toSorted((one, other) => one.line - other.line || one.column - other.column),
  };
}

async function readModule(file: string): Promise<ScenarioReading> {
  let module: unknown;
  try {
    module = await loadModule(file);
  } catch (error) {
    return wrong(file, `can't be loaded: ${messageOf(error)}`);
  }
  if (typeof module !== "object" || module === null || !("scenario" in module))
    return wrong(file, "has no export named `scenario`");
  const checked = checkScenario(module.scenario);
  if (checked.kind === "scenario") return checked;
  return { kind: "wrong", problems: checked.flaws.map(({ at, what }) => ({ file, path: pathText(at), what })) };
}

type Value = { readonly kind: "value"; readonly value: unknown } | { readonly kind: "endless"; readonly why: string };

/** Aliases that multiply are refused by the parser, with an error. */
function valueOf(document: Document): Value {
  try {
    return { kind: "value", value: document.toJS({ maxAliasCount: aliasesMax }) };
  } catch (error) {
    return { kind: "endless", why: messageOf(error) };
  }
}

const wrong = (file: string, what: string): ScenarioReading => ({
  kind: "wrong",
  problems: [{ file, path: "", what }],
});

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function place(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** Where the last step that is there begins: its key in a mapping, its value in a list. */
function offsetOf(document: Document, path: Place): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (pair === undefined) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof step === "number") {
      node = node.items[step];
      offset = startOf(node) ?? offset;
    }
  }
  return offset;
}

const startOf = (node: unknown): number | undefined => {
  const range: Node["range"] = isMap(node) || isSeq(node) || isScalar(node) || isAlias(node) ? node.range : undefined;
  return range?.[0];
};
