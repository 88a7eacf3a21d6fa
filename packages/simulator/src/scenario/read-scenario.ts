import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type Document } from "yaml";
import { aliasesMax, scenarioBytesMax } from "../limits.ts";
import { type Scenario, type CompileOutcome, compileScenario } from "./compile-scenario.ts";
import {
  formatPath,
  type ScenarioProblem,
  type Place,
  type Flaw,
  collectFlaws,
  scenarioForm,
} from "./scenario-form.ts";
import { pathToFileURL } from "node:url";

export type ReadScenarioOutcome =
  | { readonly kind: "scenario"; readonly scenario: Scenario }
  /** `absent`: there is no such file, which is the only problem. */
  | { readonly kind: "wrong" | "absent"; readonly problems: readonly ScenarioProblem[] };

/** Reads a scenario file: YAML (JSON too), or a module with an export named `scenario`, which is run. */
export async function readScenario(file: string): Promise<ReadScenarioOutcome> {
  if (!existsSync(file)) return { kind: "absent", problems: [{ file, path: "", what: "is not there" }] };
  const ending = extname(file).toLowerCase();
  if (moduleEndings.includes(ending)) return readModule(file);
  if (!textEndings.includes(ending)) {
    const allowed = [...textEndings, ...moduleEndings].join(", ");
    return wrongScenario(file, `is no scenario by its ending; allowed: ${allowed}`);
  }
  const bytes = await readFile(file).catch((error: unknown) => errorMessage(error));
  if (typeof bytes === "string") return wrongScenario(file, `can't be read: ${bytes}`);
  if (bytes.length > scenarioBytesMax)
    return wrongScenario(file, `has ${bytes.length} bytes; a scenario has at most ${scenarioBytesMax}`);
  return parseScenario({ file, text: bytes.toString("utf8") });
}

const textEndings = [".yaml", ".yml", ".json"];
const moduleEndings = [".ts", ".mts", ".js", ".mjs"];

interface ScenarioText {
  /** For messages only. */
  readonly file: string;
  readonly text: string;
}

export function parseScenario({ file, text }: ScenarioText): ReadScenarioOutcome {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  // After the first error the rest of the document means nothing.
  const [error] = document.errors;
  if (error !== undefined) {
    const { message, pos } = error;
    return { kind: "wrong", problems: [{ file, ...linePosition(lines, pos[0]), path: "", what: message }] };
  }
  const value = toPlainValue(document);
  if (value.kind === "endless") return wrongScenario(file, value.why);
  const checked = checkScenario(value.value);
  if (checked.kind === "scenario") return checked;
  const problems = checked.flaws.map(({ at, what }) => ({
    file,
    ...linePosition(lines, findOffset(document, at)),
    path: formatPath(at),
    what,
  }));
  return {
    kind: "wrong",
    problems: problems.toSorted((one, other) => one.line - other.line || one.column - other.column),
  };
}

async function readModule(file: string): Promise<ReadScenarioOutcome> {
  let module: unknown;
  try {
    module = await loadModule(file);
  } catch (error) {
    return wrongScenario(file, `can't be loaded: ${errorMessage(error)}`);
  }
  if (typeof module !== "object" || module === null || !("scenario" in module))
    return wrongScenario(file, "has no export named `scenario`");
  const checked = checkScenario(module.scenario);
  if (checked.kind === "scenario") return checked;
  return { kind: "wrong", problems: checked.flaws.map(({ at, what }) => ({ file, path: formatPath(at), what })) };
}

type PlainValue =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "endless"; readonly why: string };

/** The parser refuses aliases that multiply, with an error. */
function toPlainValue(document: Document): PlainValue {
  try {
    return { kind: "value", value: document.toJS({ maxAliasCount: aliasesMax }) };
  } catch (error) {
    return { kind: "endless", why: errorMessage(error) };
  }
}

const wrongScenario = (file: string, what: string): ReadScenarioOutcome => ({
  kind: "wrong",
  problems: [{ file, path: "", what }],
});

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function linePosition(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** Where the last existing step of the path begins: its key in a mapping, its value in a list. */
function findOffset(document: Document, path: Place): number {
  let node: unknown = document.contents;
  let offset = nodeStart(node) ?? 0;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (pair === undefined) break;
      offset = nodeStart(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof step === "number") {
      node = node.items[step];
      offset = nodeStart(node) ?? offset;
    }
  }
  return offset;
}

const nodeStart = (node: unknown): number | undefined => {
  const range: Node["range"] = isMap(node) || isSeq(node) || isScalar(node) || isAlias(node) ? node.range : undefined;
  return range?.[0];
};

/**
 * Returns the scenario, or everything that is wrong with it at once: if the form is wrong somewhere, the rest is still
 * checked for which fields go together.
 */
function checkScenario(value: unknown): CompileOutcome {
  const read = scenarioForm.safeParse(value, { reportInput: true });
  if (read.success) return compileScenario(read.data);
  const flaws = collectFlaws(read.error.issues);
  return { kind: "flawed", flaws: [...flaws, ...findRemainingFlaws(value, flaws)] };
}

/** Removing something may leave another thing incomplete, but not forever. */
const roundsMax = 4;

function findRemainingFlaws(value: unknown, known: readonly Flaw[]): readonly Flaw[] {
  let rest = value;
  let wrong = known;
  for (let round = 0; round < roundsMax; round += 1) {
    rest = wrong.reduce((left, { at }) => repairValue(left, at), rest);
    const read = scenarioForm.safeParse(rest);
    if (!read.success) {
      wrong = collectFlaws(read.error.issues);
      continue;
    }
    const compiled = compileScenario(read.data);
    // A container of a wrong place may lack only what was removed there.
    return compiled.kind === "flawed"
      ? compiled.flaws.filter(({ at }) => !known.some((one) => isInside(one.at, at)))
      : [];
  }
  return [];
}

const isInside = (place: Place, outer: Place): boolean => outer.every((step, at) => place[at] === step);

/** The value without the wrong field; a name that is wrong or missing is replaced by a valid one. */
function repairValue(value: unknown, at: Place): unknown {
  if (at.at(-1) === "name") return withChange(value, { at, to: "unnamed" });
  const end = at.findLastIndex((step, index) => typeof step === "string" && isThere(value, at.slice(0, index + 1)));
  return end === -1 ? value : withChange(value, { at: at.slice(0, end + 1), to: undefined });
}

const isThere = (value: unknown, at: Place): boolean => valueAt(value, at) !== undefined;

function valueAt(value: unknown, [step, ...rest]: Place): unknown {
  if (step === undefined) return value;
  return typeof value === "object" && value !== null ? valueAt(Reflect.get(value, step), rest) : undefined;
}

interface ValueChange {
  readonly at: Place;
  /** Undefined removes the field. */
  readonly to: unknown;
}

function withChange(value: unknown, { at: [step, ...rest], to }: ValueChange): unknown {
  if (step === undefined) return to;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === step ? withChange(item, { at: rest, to }) : item));
  if (typeof value !== "object" || value === null) return value;
  const fields = { ...value, [step]: withChange(Reflect.get(value, step), { at: rest, to }) };
  return Object.fromEntries(Object.entries(fields).filter(([, field]) => field !== undefined));
}

/**
 * Runs a module that the user named and returns its exports. This is the only import with a computed name: what it
 * loads is not part of this program, so the check of the module map does not apply to it.
 */
const loadModule = async (file: string): Promise<unknown> =>
  import(/* @vite-ignore */ pathToFileURL(resolve(file)).href);
