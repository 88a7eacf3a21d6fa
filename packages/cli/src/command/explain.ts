import { notesWishes } from "../agent/notes.ts";
import { problemsIn } from "../agent/rule-problems.ts";
import { createEngine } from "../host/engine.ts";
import { policyRows } from "palimpsest/internal/policy/rows";
import { unusedUnder } from "palimpsest/internal/policy/switches";
import { settingNames, settingTable } from "palimpsest/internal/schema/settings";
import { type SwitchName, switchNames } from "palimpsest/internal/schema/switches";
import { listingOf } from "palimpsest/internal/schema/tool-server";
import { arithmeticOf } from "palimpsest/internal/settings/arithmetic";
import { builtInNumbers, type Numbers } from "palimpsest/internal/settings/numbers";
import type { Problem } from "palimpsest/internal/settings/problem";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import { askedSettings } from "../asked-settings.ts";
import { command, type CommandContext } from "../command.ts";
import { ownPromptOf } from "../compact/own-prompt.ts";
import { exitCode } from "../exit-code.ts";
import { type Explained, explainText } from "../explain-text.ts";
import { oneLine } from "../human.ts";
import { serverOption } from "../model-options.ts";
import { said, toldProblems } from "../settings-problems.ts";
import { settingOptions } from "../setting-options.ts";

export const explainCommand = command({
  name: "explain",
  summary: "show every number and switch in force and where it comes from",
  options: { ...settingOptions, ...serverOption },
  json: "model, window, outputTokensMax, inputTokensMax, thresholds, policy, settings, switches, numbers, servers, trust, files, problems",
  details: [
    "Later counts: built in, user, project and local settings, environment, flags.",
    "Exit code 1 if a settings file has errors; what is wrong is ignored, the rest counts.",
  ],
  run: async (context, { options, format }) => {
    const engine = createEngine(context);
    const here = await askedSettings(engine, { given: options });
    const { servers, problems: ofServers } = await engine.servers();
    const problems = [...problemsIn(here.reading), ...ofServers];
    const wrong = await toldProblems(context, problems);
    if (wrong !== undefined) return wrong;
    for (const problem of await ownTextProblems(context)) await context.err.write(`warning: ${oneLine(problem)}\n`);
    if (format === "json") await context.out.json(asJson({ ...here, servers }, problems));
    else {
      const { style, columns } = context.out;
      await context.out.write(explainText({ ...here, servers }, { style, columns: columns ?? columnsDefault }));
    }
    return problems.some(({ severity }) => severity === "error") ? exitCode.negative : exitCode.fine;
  },
});

const columnsDefault = 80;

/** Of what people have written in place of our prompts and template, used by this run or not. */
async function ownTextProblems(context: CommandContext): Promise<readonly string[]> {
  const [summaries, notes] = await Promise.all([ownPromptOf(context), notesWishes(createEngine(context).home)]);
  return [...(summaries?.problems ?? []), ...(notes.warnings ?? [])];
}

function asJson({ reading, numbers, servers }: Explained, problems: readonly Problem[]): object {
  const { settings, trust, files } = reading;
  const arithmetic = arithmeticOf(numbers);
  return {
    model: numbers.model ?? null,
    window: numbers.window,
    outputTokensMax: numbers.outputTokensMax,
    inputTokensMax: numbers.inputTokensMax ?? null,
    thresholds: Object.fromEntries(
      thresholdNames.map((name) => [name, { tokens: numbers.thresholds[name], from: arithmetic[name] }]),
    ),
    policy: { name: numbers.policy.name, about: numbers.policy.about, rows: policyRows(numbers.policy) },
    settings: settingNames.map((name) => {
      const { default: standard, basis, about, state } = settingTable[name];
      const { value, source, from } = settings[name];
      const row = { name, value: value ?? null, default: standard ?? null, source, from, basis, about };
      return state === undefined ? row : { ...row, state };
    }),
    switches: Object.fromEntries(switchNames.map((name) => [name, switchJson(numbers, name)])),
    numbers: builtInNumbers,
    servers: servers.map(({ definition, leave, scope, from }) => ({ ...listingOf(definition), leave, scope, from })),
    trust,
    files,
    problems: problems.map((problem) => ({ ...problem, text: said(problem) })),
  };
}

/** What is only planned is on for nobody. */
function switchJson({ switches, policy }: Numbers, name: SwitchName): object {
  const { value, source, from } = switches[name];
  const { state } = settingTable[`flags.${name}`];
  if (state === "planned") return { on: false, source, from, state };
  return value && unusedUnder(policy).has(name)
    ? { on: value, source, from, state: "unused" }
    : { on: value, source, from };
}

const thresholdNames = [
  "window",
  "outputReserve",
  "effective",
  "compact",
  "limit",
  "warning",
  "error",
  "blocking",
] as const satisfies (keyof Thresholds)[];
