import { readNotesOptions } from "../agent/session/open-session-notes.ts";
import { readMemoryPrompt } from "../agent/user-text.ts";
import { allSettingsProblems } from "../agent/all-settings-problems.ts";
import { openWorkspace } from "../host/workspace.ts";
import { policyRows } from "palimpsest/internal/policy/policy-rows";
import { listUnusedSwitches } from "palimpsest/internal/policy/switches-by-policy";
import { settingNames, settingTable } from "palimpsest/internal/schema/setting-table";
import { type SwitchName, switchNames } from "palimpsest/internal/schema/switch-rows";
import { toServerListing } from "palimpsest/internal/schema/server-definition";
import { explainThresholds } from "palimpsest/internal/settings/explain-thresholds";
import { builtInNumbers, type ResolvedSettings } from "palimpsest/internal/settings/resolved-settings";
import type { Problem } from "palimpsest/internal/settings/problem";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import { readRequestedSettings, settingOptions, serverOption } from "../program/setting-options.ts";
import { command, type CommandContext } from "../program/command.ts";
import { readUserPrompt } from "../compact/compaction-failure.ts";
import { exitCode } from "../program/failure.ts";
import { type ExplainInput, explainText } from "../text/explain-text.ts";
import { joinLines } from "../text/format.ts";
import { problemWithHint, reportProblems } from "../program/report-problems.ts";

export const explainCommand = command({
  name: "explain",
  summary: "show the resolved settings: every number and switch, and where it comes from",
  options: { ...settingOptions, ...serverOption },
  json: "model, window, outputTokensMax, inputTokensMax, summaryModel, thresholds, policy, settings, switches, numbers, servers, trust, files, problems",
  details: [
    "Later counts: built in, user, project and local settings, environment, flags.",
    "Exit code 1 if a settings file has errors; the wrong parts are ignored.",
  ],
  run: async (context, { options, format }) => {
    const workspace = openWorkspace(context);
    const project = await readRequestedSettings(workspace, { options });
    const { servers, problems: serverProblems } = await workspace.servers();
    const problems = [...allSettingsProblems(project.reading), ...serverProblems];
    const wrong = await reportProblems(context, problems);
    if (wrong !== undefined) return wrong;
    for (const problem of await userTextProblems(context)) await context.err.write(`warning: ${joinLines(problem)}\n`);
    if (format === "json") await context.out.json(asJson({ ...project, servers }, problems));
    else {
      const { style, columns } = context.out;
      await context.out.write(explainText({ ...project, servers }, { style, columns: columns ?? columnsDefault }));
    }
    return problems.some(({ severity }) => severity === "error") ? exitCode.negative : exitCode.fine;
  },
});

const columnsDefault = 80;

/** Problems of the user's replacements for our prompts and template, whether this run uses them or not. */
async function userTextProblems(context: CommandContext): Promise<readonly string[]> {
  const { home } = openWorkspace(context);
  const [summaries, notes, extraction, dream] = await Promise.all([
    readUserPrompt(context),
    readNotesOptions(home),
    readMemoryPrompt(home, "extraction"),
    readMemoryPrompt(home, "dream"),
  ]);
  return [...(summaries?.problems ?? []), ...(notes.warnings ?? []), ...extraction.warnings, ...dream.warnings];
}

function asJson({ reading, resolved, servers }: ExplainInput, problems: readonly Problem[]): object {
  const { settings, trust, files } = reading;
  const arithmetic = explainThresholds(resolved);
  return {
    model: resolved.model ?? null,
    window: resolved.window,
    outputTokensMax: resolved.outputTokensMax,
    inputTokensMax: resolved.inputTokensMax ?? null,
    summaryModel: resolved.summaryModel?.name ?? null,
    thresholds: Object.fromEntries(
      thresholdNames.map((name) => [name, { tokens: resolved.thresholds[name], from: arithmetic[name] }]),
    ),
    policy: { name: resolved.policy.name, about: resolved.policy.about, rows: policyRows(resolved.policy) },
    settings: settingNames.map((name) => {
      const { default: standard, basis, about, state } = settingTable[name];
      const { value, source, from } = settings[name];
      const row = { name, value: value ?? null, default: standard ?? null, source, from, basis, about };
      return state === undefined ? row : { ...row, state };
    }),
    switches: Object.fromEntries(switchNames.map((name) => [name, switchJson(resolved, name)])),
    numbers: builtInNumbers,
    servers: servers.map(({ definition, leave, scope, from }) => ({
      ...toServerListing(definition),
      leave,
      scope,
      from,
    })),
    trust,
    files,
    problems: problems.map((problem) => ({ ...problem, text: problemWithHint(problem) })),
  };
}

/** A planned feature is off for everyone. */
function switchJson({ switches, policy }: ResolvedSettings, name: SwitchName): object {
  const { value, source, from } = switches[name];
  const { state } = settingTable[`flags.${name}`];
  if (state === "planned") return { on: false, source, from, state };
  return value && listUnusedSwitches(policy).has(name)
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
