import { globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { posix, resolve } from "node:path";
import { cyclesOf } from "./cycles.ts";
import { type Import, importsOf } from "./imports.ts";

/** Which of our packages each package may import. */
const packages: Readonly<Record<string, readonly string[]>> = {
  palimpsest: [],
  simulator: ["palimpsest"],
  lab: ["palimpsest", "simulator"],
  gateway: ["palimpsest"],
  cli: ["palimpsest", "simulator", "lab", "gateway"],
};

/**
 * The map of a package, left to right: a place may import from its own folder and from every column to its left. Places in
 * the same column do not import each other. A place is a folder of `src`, or a file directly in it. In `cli`, every place
 * that the map does not name belongs to the last column; a package without a map has no places.
 */
const columnsByPackage: Readonly<Record<string, readonly (readonly string[])[]>> = {
  palimpsest: [
    ["text"],
    ["schema"],
    ["transcript"],
    ["tokens"],
    ["cache"],
    ["ports"],
    ["memory", "recall"],
    ["layers"],
    ["policy"],
    ["settings"],
    ["store", "model", "import", "export", "otel"],
    ["session"],
    ["context"],
    ["loop"],
    ["open"],
    ["adapter"],
    ["index"],
  ],
  gateway: [
    ["limits"],
    ["body"],
    ["reply", "recognise", "upstream", "operate"],
    ["conversation"],
    ["exchange"],
    ["http"],
    ["open-gateway"],
    ["index"],
  ],
  cli: [["settings", "tool"], ["host"], ["team"], ["agent"], ["tui"], ["command line"]],
};

/** Tighter rules for some files, on top of the columns. */
const narrow: readonly NarrowRule[] = [
  {
    files: "packages/palimpsest/src/{text,schema,transcript,tokens,cache,ports,import}/**",
    why: "what is pure imports no Node module: clock, disk and ids come through ports",
  },
  {
    files: "packages/palimpsest/src/export/**",
    places: ["text", "schema", "transcript", "tokens", "export"],
    why: "an export is rendered, not read: it imports only text, schema, transcript and tokens, and no Node module",
  },
  {
    files: "packages/palimpsest/src/layers/*/**/!(run*).ts",
    places: ["text", "schema", "transcript", "tokens", "cache", "layers"],
    why: "a plan is pure: it imports only text, schema, transcript, tokens, cache and what is pure in layers, and no Node module",
  },
];

/** Files that may load modules by computed names: the user names a module that is no part of this program. */
const openImports: ReadonlySet<string> = new Set(["packages/simulator/src/scenario/read-scenario.ts"]);

interface NarrowRule {
  readonly files: string;
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

/** `sourceByFile`: every source file of every package, named `packages/<package>/src/…` with forward slashes. */
export function checkMap(sourceByFile: ReadonlyMap<string, string>): readonly Violation[] {
  const violations: Violation[] = [];
  const graph = new Map<string, readonly string[]>();
  for (const [file, source] of sourceByFile) {
    const reading = importsOf(file, source);
    if (reading.kind === "unreadable") {
      violations.push({ file, line: 1, imported: "", rule: `cannot be parsed: ${reading.why}` });
      continue;
    }
    const targets = reading.imports
      .map((imported) => targetOf(file, imported))
      .filter((target) => target !== undefined);
    graph.set(
      file,
      targets.filter((target) => sourceByFile.has(target)),
    );
    if (isTest(file)) continue;
    for (const { line, specifier } of reading.imports) {
      const rule = brokenRule({ file, specifier, sourceByFile });
      if (rule !== undefined) violations.push({ file, line, imported: specifier ?? "import(…)", rule });
    }
  }
  return [...violations, ...cyclesOf(graph).map(cycleViolation)];
}

interface CheckedImport extends Pick<Import, "specifier"> {
  readonly file: string;
  readonly sourceByFile: ReadonlyMap<string, string>;
}

function brokenRule({ file, specifier, sourceByFile }: CheckedImport): string | undefined {
  if (specifier === undefined && openImports.has(file)) return undefined;
  if (specifier === undefined) return "the name of an imported module is written out, so that it can be checked";
  const rules = narrow.filter((rule) => posix.matchesGlob(file, rule.files));
  if (isBuiltin(specifier)) return rules[0]?.why;
  const target = targetOf(file, { specifier });
  if (target === undefined)
    return /^(?:palimpsest|@palimpsest\/[^/]+)\//.test(specifier)
      ? "our packages import each other by their internal/ paths"
      : undefined;
  const to = partsOf(target);
  if (to === undefined) return "a package imports nothing of ours from outside the packages' sources";
  if (!sourceByFile.has(target)) return "there is no such file";
  const from = partsOf(file);
  if (from === undefined) return `${file} lies outside the packages' sources`;
  if (from.package !== to.package) return brokenPackage(from.package, { to: to.package, specifier });
  if (!specifier.startsWith(".")) return "inside a package, imports go straight to the file";
  return (
    brokenColumn(from, to.place) ??
    rules.find((rule) => rule.places !== undefined && !rule.places.includes(to.place))?.why
  );
}

function brokenPackage(
  from: string,
  { to, specifier }: { readonly to: string; readonly specifier: string },
): string | undefined {
  if (specifier.startsWith(".")) return "a package reaches another by its name, not by a path";
  const allowed = packages[from] ?? [];
  if (allowed.includes(to)) return undefined;
  return allowed.length === 0
    ? `${from} imports no other package of ours`
    : `${from} imports only ${allowed.join(", ")}`;
}

interface FileParts {
  readonly package: string;
  readonly place: string;
}

function brokenColumn(from: FileParts, to: string): string | undefined {
  const columns = columnsByPackage[from.package];
  if (columns === undefined) return undefined;
  const columnOf = (place: string): number => columns.findIndex((places) => places.includes(place));
  const column = columnOf(from.place);
  if (column === -1) return `${from.place} is not on the map: give it a column in scripts/check-map.ts`;
  if (columnOf(to) === -1) return `${to} is not on the map: give it a column in scripts/check-map.ts`;
  if (from.place === to || columnOf(to) < column) return undefined;
  const allowed = columns.slice(0, column).flat();
  return allowed.length === 0
    ? `${from.place} imports nothing of ours`
    : `${from.place} imports only ${allowed.join(", ")}`;
}

/** `packages/palimpsest/src/store/files/lock.ts` → palimpsest, store. */
function partsOf(file: string): FileParts | undefined {
  const [, name, first] = /^packages\/([^/]+)\/src\/([^/]+)/.exec(file) ?? [];
  if (name === undefined || first === undefined) return undefined;
  const place = first.replace(/\.ts$/, "");
  const isNamed = columnsByPackage[name]?.flat().includes(place) ?? false;
  return { package: name, place: !isNamed && name === "cli" ? "command line" : place };
}

/** The file that an import names: by a path, or by a package of ours. Undefined for other packages and Node modules. */
function targetOf(file: string, { specifier }: Pick<Import, "specifier">): string | undefined {
  if (specifier === undefined) return undefined;
  if (/^\.{0,2}\//.test(specifier)) return posix.join(posix.dirname(file), specifier);
  const [, name, inside] =
    /^(?:@palimpsest\/)?(palimpsest|simulator|lab|gateway|cli)(?:\/internal\/(.+))?$/.exec(specifier) ?? [];
  if (name === undefined || (name === "palimpsest") === specifier.startsWith("@")) return undefined;
  return `packages/${name}/src/${inside ?? "index"}.ts`;
}

function cycleViolation(cycle: readonly string[]): Violation {
  const [file = "", next = file] = cycle;
  return { file, line: 1, imported: next, rule: `a cycle: ${[...cycle, file].join(" → ")}` };
}

function main(): void {
  const root = resolve(import.meta.dirname, "..");
  const files = globSync("packages/*/src/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/"));
  const violations = checkMap(new Map(files.map((file) => [file, readFileSync(resolve(root, file), "utf8")])));
  for (const { file, line, imported, rule } of violations)
    console.error(`${file}:${line} imports ${imported}: ${rule}`);
  if (violations.length > 0) process.exitCode = 1;
  else console.log(`The arrows of the map hold in ${files.length} files, without a cycle.`);
}

if (import.meta.main) main();
