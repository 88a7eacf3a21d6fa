import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filledPage, type Row } from "../scripts/doc-tables.ts";
import { bundleForBrowser } from "./browser/bundle.ts";
import { aiSdkRuns } from "./frameworks/ai-sdk.ts";
import { aiSdkSteps } from "./frameworks/ai-sdk-steps.ts";
import { anthropicRuns } from "./frameworks/anthropic.ts";
import { anthropicSteps } from "./frameworks/anthropic-steps.ts";
import { langchainRuns } from "./frameworks/langchain.ts";
import { langchainSteps } from "./frameworks/langchain-steps.ts";
import { mastraRuns } from "./frameworks/mastra.ts";
import { mastraSteps } from "./frameworks/mastra-steps.ts";
import { openaiAgentsRuns } from "./frameworks/openai-agents.ts";
import { openaiAgentsSteps } from "./frameworks/openai-agents-steps.ts";
import { openaiRuns } from "./frameworks/openai.ts";
import { openaiSteps } from "./frameworks/openai-steps.ts";
import { measureSteps, type StepTime } from "./frameworks/step-times.ts";
import { type Fact, facts, speakers } from "./frameworks/task.ts";
import { type FrameworkRun, measureRun, type RunResult } from "./frameworks/world.ts";
import { conditions } from "./measure.ts";

/**
 * `npm run bench:frameworks`: the same task in every framework, without us, with its own remedy and with ours; then what a
 * step costs at 200,000 tokens. Prints both tables and writes them into docs/frameworks.md. Exits with 1 if a run of ours
 * did not finish or was refused.
 */
const runs: readonly FrameworkRun[] = [
  ...anthropicRuns,
  ...openaiRuns,
  ...aiSdkRuns,
  ...langchainRuns,
  ...mastraRuns,
  ...openaiAgentsRuns,
];
const stepSubjects = [anthropicSteps, openaiSteps, aiSdkSteps, langchainSteps, mastraSteps, openaiAgentsSteps];

const results: RunResult[] = [];
for (const run of runs) results.push(await measureRun(run));
const steps: StepTime[] = [];
for (const subjects of stepSubjects) steps.push(...(await measureSteps(subjects())));

const shown = { ...conditions(), measured: new Date().toISOString().slice(0, 10) };
const { code, gzipBytes, imports } = await bundleForBrowser();
const tables = {
  "same task": taskRows(results),
  "step times": stepRows(steps),
  browser: [
    ["bundle", "minified", "gzipped", "imports left"],
    [
      "`palimpsest/policy`, `Fold`, `readLines`",
      `${(code.length / 1_000).toFixed(0)} kB`,
      `${(gzipBytes / 1_000).toFixed(0)} kB`,
      String(imports.length),
    ],
  ],
  "bench conditions": [["condition", "value"], ...Object.entries(shown)],
};
for (const rows of Object.values(tables)) console.log(`\n${rows.map((row) => row.join(" | ")).join("\n")}`);
const page = join(import.meta.dirname, "../docs/frameworks.md");
writeFileSync(page, filledPage(readFileSync(page, "utf8"), tables));
const failed = results.filter(
  ({ kind, outcome, traffic }) => kind === "ours" && (outcome !== "finished" || traffic.refusals > 0),
);
process.exitCode = failed.length > 0 ? 1 : 0;

function taskRows(measured: readonly RunResult[]): readonly Row[] {
  return [
    [
      "framework",
      "way",
      "outcome",
      "requests",
      "refusals",
      "tokens",
      "money",
      "facts in view: user, model, files",
      "recallable",
    ],
    ...measured.map(({ framework, way, kind, outcome, traffic, record, recallable }) => [
      framework,
      kind === "ours" ? `**${way}**` : way,
      outcome,
      String(traffic.requests),
      String(traffic.refusals),
      `${(traffic.tokens / 1e6).toFixed(2)} M`,
      `$${traffic.dollars.toFixed(2)}`,
      // The last request of a run that stopped early was made when nothing had left yet.
      record.finished ? formatFacts(record.visible) : "–",
      kind === "ours" ? `${recallable.length} of ${facts.length}` : "–",
    ]),
  ];
}

function formatFacts(visible: readonly Fact[]): string {
  return speakers.map((speaker) => `${countFacts(visible, speaker)}/${countFacts(facts, speaker)}`).join(", ");
}

function countFacts(some: readonly Fact[], speaker: Fact["saidBy"]): number {
  return some.filter(({ saidBy }) => saidBy === speaker).length;
}

function stepRows(measured: readonly StepTime[]): readonly Row[] {
  return [
    ["framework", "way", "a step", "added", "first step"],
    ...measured.map(({ framework, way, kind, stepMs, addedMs, firstMs }) => [
      framework,
      kind === "ours" ? `**${way}**` : way,
      `${stepMs.toFixed(1)} ms`,
      kind === "plain" ? "–" : `${addedMs.toFixed(1)} ms${formatRatio(measured, { framework, kind, addedMs })}`,
      `${firstMs.toFixed(0)} ms`,
    ]),
  ];
}

/** Ours over each remedy of the same framework. */
function formatRatio(
  measured: readonly StepTime[],
  { framework, kind, addedMs }: Pick<StepTime, "framework" | "kind" | "addedMs">,
): string {
  const remedies = measured.filter((one) => one.framework === framework && one.kind === "own");
  if (kind !== "ours" || remedies.length === 0) return "";
  return ` (${remedies.map((one) => `${formatTimes(addedMs / one.addedMs)} ${one.way}`).join(", ")})`;
}

/** A remedy that adds less than can be measured has no ratio. */
function formatTimes(ratio: number): string {
  return ratio > 0 && ratio < 1_000 ? `${ratio.toFixed(1)} ×` : "not measurable beside";
}
