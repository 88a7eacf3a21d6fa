import { globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { posix, resolve } from "node:path";
import { cyclesOf } from "./cycles.ts";
import { type Import, importsOf } from "./imports.ts";

/**
 * The map, left to right: a place may import from its own folder and from every column to its left. Places in one
 * column do not import each other. A place is a folder of src or a file directly in it (`engine` is src/engine.ts).
 */
const columns: readonly (readonly string[])[] = [
  ["schema"],
  ["transcript"],
  ["tokens"],
  ["cache"],
  ["ports"],
  ["layers"],
  ["presets"],
  ["memory", "recall", "tool", "model", "store", "import", "export", "settings"],
  ["loop"],
  ["context"],
  ["simulator"],
  ["replay", "gateway"],
  ["engine", "open"],
  ["agent"],
  ["tui"],
  ["cli", "index"],
];

/** Tighter rules for some files, on top of the columns. */
const narrow: readonly NarrowRule[] = [
  {
    files: "src/{schema,transcript,tokens,cache,ports,import}/**",
    node: "none",
    why: "what is pure imports no Node module: clock, disk and ids come through ports",
  },
  {
    files: "src/export/**",
    node: "none",
    places: ["schema", "transcript", "tokens", "export"],
    why: "an export is rendered, not read: it imports only schema, transcript and tokens, and no Node module",
  },
  {
    files: "src/layers/*/**/!(run*).ts",
    node: "none",
    places: ["schema", "transcript", "tokens", "cache", "layers"],
    why: "a plan is pure: it imports only schema, transcript, tokens, cache and what is pure in layers, and no Node module",
  },
];

/** Load what a person names: a module that is no part of this program. */
const openImports: ReadonlySet<string> = new Set(["src/simulator/scenario/load-module.ts"]);

interface NarrowRule {
  readonly files: string;
  readonly node: "none";
  readonly places?: readonly string[];
  readonly why: string;
}

export interface Violation {
  readonly file: string;
  readonly line: number;
  readonly imported: string;
  readonly rule: string;
}

/** Tests may reach across the map, but take part in cycles like any other file. */
const isTest = (file: string): boolean => file.endsWith(".test.ts");

/** `sourceByFile`: every file below src, named `src/…` with forward slashes. */
export function checkMap(sourceByFile: ReadonlyMap<string, string>): readonly Violation[] {
  const violations: Violation[] = [];
  const graph = new Map<string, readonly string[]>();
  for (const [file, source] of sourceByFile) {
    const reading = importsOf(file, source);
    if (reading.kind === "unreadable") {
      violations.push({ file, line: 1, imported: "", rule: `cannot be parsed: ${reading.why}` });
      continue;
    }
    const targets = reading.imports.map((one) => targetOf(file, one)).filter((target) => target !== undefined);
    graph.set(
      file,
      targets.filter((target) => sourceByFile.has(target)),
    );
    if (isTest(file)) continue;
    for (const one of reading.imports) {
      const rule = brokenRule({ file, one, sourceByFile });
      if (rule !== undefined) violations.push({ file, line: one.line, imported: one.specifier ?? "import(…)", rule });
    }
  }
  return [...violations, ...cyclesOf(graph).map(cycleViolation)];
}

interface Checked {
  readonly file: string;
  readonly one: Import;
  readonly sourceByFile: ReadonlyMap<string, string>;
}

function brokenRule({ file, one, sourceByFile }: Checked): string | undefined {
  const { specifier } = one;
  if (specifier === undefined && openImports.has(file)) return undefined;
  if (specifier === undefined) return "the name of an imported module is written out, so that it can be checked";
  if (specifier === "palimpsest" || specifier.startsWith("palimpsest/")) {
    return "inside src, imports go straight to the file";
  }
  const rules = narrow.filter((rule) => posix.matchesGlob(file, rule.files));
  if (isBuiltin(specifier)) return rules[0]?.why;
  const target = targetOf(file, one);
  if (target === undefined) return undefined;
  if (!target.startsWith("src/")) return "src imports nothing of ours from outside src";
  if (!sourceByFile.has(target)) return "there is no such file";
  const place = placeOf(target);
  return (
    brokenColumn(placeOf(file), place) ??
    rules.find((rule) => rule.places !== undefined && !rule.places.includes(place))?.why
  );
}

function brokenColumn(from: string, to: string): string | undefined {
  const column = columnOf(from);
  if (column === -1) return `${from} is not on the map: give it a column in scripts/check-map.ts`;
  if (columnOf(to) === -1) return `${to} is not on the map: give it a column in scripts/check-map.ts`;
  if (from === to || columnOf(to) < column) return undefined;
  const allowed = columns.slice(0, column).flat();
  return allowed.length === 0 ? `${from} imports nothing of ours` : `${from} imports only ${allowed.join(", ")}`;
}

const columnOf = (place: string): number => columns.findIndex((places) => places.includes(place));

/** `src/store/files/lock.ts` → `store`, `src/engine.ts` → `engine`. */
const placeOf = (file: string): string => (file.split("/")[1] ?? "").replace(/\.ts$/, "");

/** The file that a relative import names; undefined for packages and Node modules. */
function targetOf(file: string, one: Import): string | undefined {
  if (one.specifier === undefined || !/^\.{0,2}\//.test(one.specifier)) return undefined;
  return posix.join(posix.dirname(file), one.specifier);
}

function cycleViolation(cycle: readonly string[]): Violation {
  const [file = "", next = file] = cycle;
  return { file, line: 1, imported: next, rule: `a cycle: ${[...cycle, file].join(" → ")}` };
}

function main(): void {
  const root = resolve(import.meta.dirname, "..");
  const files = globSync("src/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/"));
  const violations = checkMap(new Map(files.map((file) => [file, readFileSync(resolve(root, file), "utf8")])));
  for (const { file, line, imported, rule } of violations)
    console.error(`${file}:${line} imports ${imported}: ${rule}`);
  if (violations.length > 0) process.exitCode = 1;
  else console.log(`The arrows of the map hold in ${files.length} files, without a cycle.`);
}

if (import.meta.main) main();
