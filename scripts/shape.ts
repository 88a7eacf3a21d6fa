import { globSync, readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { parseSync, type Program } from "oxc-parser";

/** The limits that `npm run check` enforces. A limit goes down as the code gets better, and up only with a reason in CONTRIBUTING. */
const limits: ReadonlyMap<string, { readonly max?: number; readonly min?: number }> = new Map(
  Object.entries({
    files: { max: 1_310 },
    lines: { max: 173_500 },
    relativeImportsPer1000Lines: { max: 37.5 },
    participlePercent: { max: 2 },
    endInOfPercent: { max: 2 },
    typesInIng: { max: 0 },
    namedAfterExportPercent: { min: 75 },
  } satisfies Partial<Record<keyof Shape, object>>),
);

/** The sources of all packages, without tests and generated files. */
export interface Shape {
  readonly files: number;
  readonly lines: number;
  readonly exports: number;
  readonly relativeImportsPer1000Lines: number;
  readonly functions: number;
  /** Share of the functions whose first word is a participle: `told`, `assembledRequest`. */
  readonly participlePercent: number;
  /** Share of the functions whose name ends in `Of`. */
  readonly endInOfPercent: number;
  /** Interfaces, type aliases and classes. */
  readonly typesInIng: number;
  /** Share of the files with exports in which one export has the file's name. */
  readonly namedAfterExportPercent: number;
}

interface FileShape {
  readonly lines: number;
  readonly exports: readonly string[];
  readonly relativeImports: number;
  readonly functions: readonly string[];
  readonly types: readonly string[];
  readonly isNamedAfterExport: boolean;
}

export function shape(sourceByFile: ReadonlyMap<string, string>): Shape {
  const files = [...sourceByFile].map(([file, source]) => fileShape(file, source));
  const lines = sum(files.map((file) => file.lines));
  const functions = files.flatMap((file) => file.functions);
  const exporting = files.filter((file) => file.exports.length > 0);
  return {
    files: files.length,
    lines,
    exports: sum(files.map((file) => file.exports.length)),
    relativeImportsPer1000Lines: rounded((1000 * sum(files.map((file) => file.relativeImports))) / lines),
    functions: functions.length,
    participlePercent: percent(functions.filter(beginsWithParticiple).length, functions.length),
    endInOfPercent: percent(functions.filter((name) => /[a-z]Of$/.test(name)).length, functions.length),
    typesInIng: files.flatMap((file) => file.types).filter(endsInIng).length,
    namedAfterExportPercent: percent(exporting.filter((file) => file.isNamedAfterExport).length, exporting.length),
  };
}

/** Only counts the top level of a file: that is what other files and readers look up. */
export function fileShape(file: string, source: string): FileShape {
  const { program } = parseSync(file, source);
  const functions: string[] = [];
  const types: string[] = [];
  const exports: string[] = [];
  let relativeImports = 0;
  for (const statement of program.body) {
    if (statement.type === "ImportDeclaration" && statement.source.value.startsWith(".")) relativeImports += 1;
    const isExport = statement.type === "ExportNamedDeclaration";
    if (isExport) exports.push(...statement.specifiers.map((one) => nameOf(one.exported)));
    const declaration = isExport ? statement.declaration : statement;
    for (const { name, form } of declarations(declaration)) {
      if (isExport) exports.push(name);
      if (form === "function") functions.push(name);
      if (form === "type") types.push(name);
    }
  }
  const own = camelCase(basename(file, ".ts"));
  return {
    lines: source.split("\n").length - (source.endsWith("\n") ? 1 : 0),
    exports,
    relativeImports,
    functions,
    types,
    isNamedAfterExport: exports.some((name) => name.toLowerCase() === own.toLowerCase()),
  };
}

type Form = "function" | "type" | "other";

function declarations(node: Program["body"][number] | null): readonly { readonly name: string; readonly form: Form }[] {
  switch (node?.type) {
    case "FunctionDeclaration":
    case "TSDeclareFunction":
      return node.id === null ? [] : [{ name: node.id.name, form: "function" }];
    case "TSInterfaceDeclaration":
      return [{ name: node.id.name, form: "type" }];
    case "TSTypeAliasDeclaration":
      return [{ name: node.id.name, form: "type" }];
    case "ClassDeclaration":
      return node.id === null ? [] : [{ name: node.id.name, form: "type" }];
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id, init }) => {
        if (id.type !== "Identifier") return [];
        const isFunction = init?.type === "ArrowFunctionExpression" || init?.type === "FunctionExpression";
        return [{ name: id.name, form: isFunction ? "function" : "other" } as const];
      });
    default:
      return [];
  }
}

const nameOf = (node: { readonly type: string; readonly name?: string; readonly value?: string }): string =>
  node.name ?? node.value ?? "";

/** Without `put`, `read`, `run`, `set` and `cut`, which are verbs as well. */
const irregularParticiples = new Set(
  "told made said given held kept shown known written found sent taken drawn left built bound heard lost paid seen spent spoken thrown understood withheld worn".split(
    " ",
  ),
);
/** Words in -ed that are no participles. */
const noParticiples = new Set("need feed seed embed speed shed exceed proceed succeed indeed".split(" "));

export function beginsWithParticiple(name: string): boolean {
  const first = /^[a-z]+/.exec(name)?.[0] ?? "";
  if (noParticiples.has(first)) return false;
  return irregularParticiples.has(first) || /[a-z]{2}ed$/.test(first);
}

/** Nouns of their own. */
const noGerunds = new Set([
  "Recording",
  "Finding",
  "Listing",
  "Thinking",
  "Setting",
  "Warning",
  "String",
  "Thing",
  "Ring",
  "King",
  "Wing",
  "Spring",
]);

function endsInIng(name: string): boolean {
  const last = /[A-Z][a-z]+$/.exec(name)?.[0] ?? name;
  return last.endsWith("ing") && !noGerunds.has(last);
}

const camelCase = (name: string): string => name.replaceAll(/[-.](\w)/g, (_, letter: string) => letter.toUpperCase());

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const rounded = (value: number): number => Math.round(value * 10) / 10;

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : rounded((100 * part) / whole));

/** `node scripts/shape.ts [--names] [folder…]`: prints the shape of the packages or folders; with `--names`, every name that counts against it. */
function main(): void {
  const root = resolve(import.meta.dirname, "..");
  const folders = process.argv.slice(2).filter((argument) => argument !== "--names");
  const patterns = folders.length === 0 ? ["packages/*/src/**/*.ts"] : folders.map((folder) => `${folder}/**/*.ts`);
  const files = patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => !/\.(test|data)\.ts$/.test(file))
    .toSorted();
  const sourceByFile = new Map(files.map((file) => [file, readFileSync(resolve(root, file), "utf8")]));
  if (process.argv.includes("--names")) printNames(sourceByFile);
  else check(shape(sourceByFile));
}

function check(measured: Shape): void {
  for (const [name, value] of Object.entries(measured)) {
    const { max = Infinity, min = -Infinity } = limits.get(name) ?? {};
    const isBroken = value > max || value < min;
    if (isBroken) process.exitCode = 1;
    const limit = Number.isFinite(max) ? ` (at most ${max})` : Number.isFinite(min) ? ` (at least ${min})` : "";
    console.log(`${isBroken ? "✗" : " "} ${name.padEnd(28)} ${value}${limit}`);
  }
}

function printNames(sourceByFile: ReadonlyMap<string, string>): void {
  for (const [file, source] of sourceByFile) {
    const { functions, types, isNamedAfterExport, exports } = fileShape(file, source);
    const names = [
      ...functions.filter((name) => beginsWithParticiple(name) || /[a-z]Of$/.test(name)),
      ...types.filter(endsInIng),
    ];
    const unnamed = isNamedAfterExport || exports.length === 0 ? [] : [`(file: ${exports.slice(0, 4).join(", ")})`];
    if (names.length + unnamed.length > 0) console.log(`${file}: ${[...names, ...unnamed].join(", ")}`);
  }
}

if (import.meta.main) main();
