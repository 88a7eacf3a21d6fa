import type { Instruction, PathRule } from "palimpsest/internal/memory/load-instruction-file";
import type { LoadedInstructions } from "palimpsest/internal/memory/load-instructions";
import type { ModelOverride, Prices } from "palimpsest/internal/schema/model";
import { measureText, noBytes } from "palimpsest/internal/tokens/byte-counts";
import { tokensFromBytes } from "palimpsest/internal/tokens/estimate-block";
import { findModel, firstRates } from "palimpsest/internal/tokens/known-models";
import { typicalRequests } from "../agent/limits.ts";
import { instructionText } from "palimpsest/internal/memory/instruction-text";
import { formatDollars } from "palimpsest/internal/text/format-dollars";
import { formatNumber, quantity } from "./format.ts";
import { table } from "./table.ts";

/** What is loaded from where, and what it costs. */
export interface InstructionReport {
  readonly model: string;
  readonly files: readonly ReportedFile[];
  /** They cost something only once a file is touched that matches them. */
  readonly rules: readonly ReportedRule[];
  readonly chars: number;
  /** Estimates. */
  readonly tokens: number;
  /** Undefined if the model's prices are not known. */
  readonly money: InstructionMoney | undefined;
  /** One line each. */
  readonly warnings: readonly string[];
}

interface ReportedFile extends Pick<Instruction, "path" | "scope" | "importedBy" | "fetchedOn"> {
  readonly chars: number;
  /** An estimate. */
  readonly tokens: number;
}

interface ReportedRule extends Pick<PathRule, "path" | "scope" | "patterns"> {
  readonly chars: number;
  readonly tokens: number;
}

interface InstructionMoney {
  /** Written to the cache once. */
  readonly firstDollars: number;
  /** Read from the cache by each later request. */
  readonly laterDollars: number;
  /** The requests of the session that is assumed. */
  readonly requests: number;
  readonly sessionDollars: number;
}

interface ReportModel {
  readonly model: string;
  /** The setting `models`. */
  readonly models: readonly ModelOverride[];
}

/** Pure: from what was loaded for a session of this model. */
export function instructionReport(loaded: LoadedInstructions, { model, models }: ReportModel): InstructionReport {
  const rates = firstRates(model);
  const measure = (instruction: Instruction) => {
    const bytes = noBytes();
    // An empty file is no part of the prompt, not even with a heading.
    if (instruction.text !== "") measureText(instructionText(instruction), bytes);
    return { chars: instruction.text.length, tokens: Number(tokensFromBytes(bytes, rates)) };
  };
  const files = loaded.files.map((file) => {
    const { text: _, hash: _hash, ...shown } = file;
    return { ...shown, ...measure(file) };
  });
  const tokens = files.reduce((sum, file) => sum + file.tokens, 0);
  const prices = findModel(model, models)?.prices;
  return {
    model,
    files,
    rules: loaded.rules.map((rule) => {
      const { path, scope, patterns } = rule;
      return { path, scope, patterns, ...measure(rule) };
    }),
    chars: files.reduce((sum, file) => sum + file.chars, 0),
    tokens,
    money: prices === undefined ? undefined : moneyFor(tokens, prices),
    warnings: reportWarnings(loaded),
  };
}

function moneyFor(tokens: number, { cacheWrite5m, cacheRead }: Prices): InstructionMoney {
  const firstDollars = (tokens * cacheWrite5m) / 1e6;
  const laterDollars = (tokens * cacheRead) / 1e6;
  const requests = typicalRequests;
  return { firstDollars, laterDollars, requests, sessionDollars: firstDollars + (requests - 1) * laterDollars };
}

const reportWarnings = ({ files, problems, asked, duplicates, excluded }: LoadedInstructions): readonly string[] => [
  ...problems,
  ...asked
    .filter(({ answer }) => answer === "left-out")
    .map(({ path }) => `${path} lies outside of the project and was left out, as you answered`),
  ...excluded.map((path) => `${path} was left out by claudeMdExcludes`),
  ...duplicates.map(({ path, sameAs }) => `${path} is the same file as ${sameAs} and was loaded once`),
  ...sameTexts(files),
];

function sameTexts(files: readonly Instruction[]): readonly string[] {
  const firstByHash = new Map<string, string>();
  return files.flatMap(({ path, hash, text }) => {
    const first = firstByHash.get(hash);
    if (first === undefined) firstByHash.set(hash, path);
    return first === undefined || text === ""
      ? []
      : [`${path} has the same text as ${first}: every request carries both`];
  });
}

/** For `memory check` and `/memory`. */
export function formatInstructionReport(report: InstructionReport): string {
  const { files, rules, warnings } = report;
  if (files.length + rules.length + warnings.length === 0) return "No instruction files are loaded here.\n";
  const fileRows = files.map((file) => [
    file.scope,
    formatNumber(file.chars),
    `≈${formatNumber(file.tokens)}`,
    source(file),
  ]);
  const ruleRows = rules.map((rule) => [
    rule.scope,
    formatNumber(rule.chars),
    `≈${formatNumber(rule.tokens)}`,
    `${rule.path}  for ${rule.patterns.join(", ")}`,
  ]);
  return [
    ...(files.length === 0 ? [] : [table([...columns, { title: "loaded at the start" }], fileRows)]),
    ...(rules.length === 0 ? [] : [table([...columns, { title: "loaded when a file matches" }], ruleRows)]),
    totalText(report),
    ...(warnings.length === 0 ? [] : [warnings.map((warning) => `! ${warning}\n`).join("")]),
  ].join("\n");
}

const columns = [
  { title: "scope" },
  { title: "characters", align: "right" },
  { title: "tokens", align: "right" },
] as const;

const source = ({ path, importedBy, fetchedOn }: ReportedFile): string =>
  `${path}${importedBy === undefined ? "" : `  imported by ${importedBy}`}${fetchedOn === undefined ? "" : `  fetched ${fetchedOn}`}`;

function totalText({ files, chars, tokens, money, model }: InstructionReport): string {
  const size = `${quantity(files.length, "file")}, ${formatNumber(chars)} characters, about ${formatNumber(tokens)} tokens (an estimate) in every request.`;
  if (money === undefined) return `${size}\nThe prices of ${model} are not known.\n`;
  const { firstDollars, laterDollars, requests, sessionDollars } = money;
  return `${size}\nWith ${model}: ${formatDollars(sessionDollars)} for a session of ${requests} requests, if the first writes them to the cache (${formatDollars(firstDollars)}) and each later one reads them from it (${formatDollars(laterDollars)}).\n`;
}
