import type { Basis } from "palimpsest/internal/schema/setting-row";
import { type SettingName, settingNames, settingTable } from "palimpsest/internal/schema/setting-table";
import { masterBySwitch, switchNames } from "palimpsest/internal/schema/switch-rows";
import { toServerListing } from "palimpsest/internal/schema/server-definition";
import { policyRows } from "palimpsest/internal/policy/policy-rows";
import { switchesByPolicy, listUnusedSwitches } from "palimpsest/internal/policy/switches-by-policy";
import { explainThresholds } from "palimpsest/internal/settings/explain-thresholds";
import type { ProjectSettings } from "../settings/project-settings.ts";
import type { Sourced } from "palimpsest/internal/settings/resolve-settings";
import { builtInNumbers, type ResolvedSettings } from "palimpsest/internal/settings/resolved-settings";
import type { DefinedServer } from "../settings/defined-servers.ts";
import { clip, wrapText, formatNumber } from "./format.ts";
import type { Style } from "./style.ts";

interface ExplainLook {
  readonly style: Style;
  readonly columns: number;
}

/** One line of a section: cells, and last its source, which goes on a line of its own if there is no room. */
interface Row {
  readonly cells: readonly string[];
  readonly last: string;
  /** Differs from the default: what the user looks for. */
  readonly changed?: boolean;
}

interface Section {
  readonly title: string;
  readonly heads: readonly string[];
  readonly rows: readonly Row[];
}

export interface ExplainInput extends ProjectSettings {
  readonly servers: readonly DefinedServer[];
}

export function explainText(input: ExplainInput, look: ExplainLook): string {
  const { reading, resolved, servers } = input;
  const sections = [
    windowSection(resolved),
    thresholdSection(resolved),
    policySection(resolved),
    settingsSection(input),
    switchSection(input),
    ...(servers.length === 0 ? [] : [serverSection(servers)]),
    builtInSection,
  ];
  return [
    ...sections.map((section) => sectionText(section, look)),
    filesText(reading, look),
    "+ our own, not from the published descriptions\n~ from elsewhere, not from those themselves\n",
  ].join("\n");
}

const windowSection = ({
  model,
  window,
  outputTokensMax,
  inputTokensMax,
  summaryModel,
}: ResolvedSettings): Section => ({
  title: `In force for ${model ?? "an unnamed model"}`,
  heads: ["number", "tokens", "source", "from"],
  rows: [
    { cells: ["window", formatNumber(window.tokens), window.source], last: window.from },
    {
      cells: ["output limit", formatNumber(outputTokensMax.tokens), outputTokensMax.source],
      last: outputTokensMax.from,
    },
    ...(inputTokensMax === undefined
      ? []
      : [
          {
            cells: ["input limit", formatNumber(inputTokensMax.tokens), inputTokensMax.source],
            last: inputTokensMax.from,
          },
        ]),
    ...(summaryModel === undefined
      ? []
      : [
          {
            cells: ["window for summaries", formatNumber(summaryModel.windowTokens), "summaryModel"],
            last: summaryModel.name,
          },
        ]),
  ],
});

function thresholdSection(resolved: ResolvedSettings): Section {
  const { thresholds } = resolved;
  const arithmetic = explainThresholds(resolved);
  const row = (name: Exclude<keyof typeof thresholds, "window">, says: string): Row => ({
    cells: [says, Number.isFinite(thresholds[name]) ? formatNumber(thresholds[name]) : "–"],
    last: arithmetic[name],
  });
  const limitSays = resolved.autoCompact === "on" ? "limit (compact)" : "limit (effective)";
  return {
    title: `Thresholds, automatic compaction ${resolved.autoCompact}`,
    heads: ["threshold", "tokens", "comes from"],
    rows: [
      row("outputReserve", "output reserve"),
      row("effective", "effective"),
      row("compact", "compact"),
      row("limit", limitSays),
      row("warning", "warning"),
      row("error", "error"),
      row("blocking", "blocking"),
    ],
  };
}

/** What the policy says, and the switch that overrides it, if there is one. */
function policySection({ policy, switches }: ResolvedSettings): Section {
  const byPolicy = switchesByPolicy(policy);
  return {
    title: `Policy ${policy.name}`,
    heads: ["rule", "value"],
    rows: policyRows(policy).map(({ name, value, basis, switch: by, state }) => {
      if (state === "planned") return { cells: [name + basisMark(basis)], last: notThereYet };
      const isSwitched = by !== undefined && switches[by].value !== byPolicy[by];
      const switchedText = isSwitched ? ` (switched ${valueText(switches[by].value)}: ${by})` : "";
      return { cells: [name + basisMark(basis)], last: value + switchedText, changed: isSwitched };
    }),
  };
}

const isNoSwitch = (name: SettingName): boolean => !name.startsWith("flags.");

const settingsSection = ({ reading }: ProjectSettings): Section => ({
  title: "Settings",
  heads: ["setting", "value", "default", "source"],
  rows: settingNames.filter(isNoSwitch).map((name) => {
    const { default: standard, defaultSays, basis, state } = settingTable[name];
    const current = reading.settings[name];
    if (state === "planned") return { cells: [name + basisMark(basis), notThereYet, "–"], last: "–" };
    const standardText = defaultSays ?? valueText(standard);
    const value = current.source === "default" ? standardText : valueText(current.value);
    return {
      cells: [name + basisMark(basis), value, standardText],
      last: current.source,
      changed: current.source !== "default",
    };
  }),
});

/** Shown instead of a value that nothing reads. */
const notThereYet = "not there yet";

const switchSection = ({ reading, resolved }: ProjectSettings): Section => ({
  title: "Switches",
  heads: ["switch", "value", "default", "source"],
  rows: switchNames.map((name) => {
    const unused = listUnusedSwitches(resolved.policy);
    const { default: standard, basis, state } = settingTable[`flags.${name}`];
    const current = resolved.switches[name];
    if (state === "planned") return { cells: [name + basisMark(basis), notThereYet, "–"], last: "–" };
    const master = masterBySwitch[name];
    const isFromMaster = master !== undefined && current === reading.settings[master];
    const source = switchSource(current, { master: isFromMaster ? master : undefined, standard });
    const isUnused = current.value && unused.has(name);
    return {
      cells: [name + basisMark(basis), valueText(current.value), valueText(standard)],
      last: isUnused ? `${source}; does nothing under the policy ${resolved.policy.name}` : source,
      changed: current.value !== standard,
    };
  }),
});

/** A switch that nobody set and that differs from the default comes from the policy: the text says so. */
function switchSource(
  { source, from, value }: Sourced<boolean>,
  { master, standard }: { readonly master: string | undefined; readonly standard: boolean },
): string {
  if (master !== undefined) return `${source}, ${master}`;
  return source === "default" && value !== standard ? from : source;
}

const serverSection = (servers: readonly DefinedServer[]): Section => ({
  title: "MCP servers, with their tools deferred behind tool_search",
  heads: ["server", "reached by", "state", "source"],
  rows: servers.map(({ definition, leave, scope, from }) => {
    const { id, kind, target } = toServerListing(definition);
    const state = { given: "starts", needed: "not approved", refused: "refused by you" }[leave];
    return { cells: [id, `${kind} ${target}`, state], last: `${scope} (${from})`, changed: true };
  }),
});

const builtInSection: Section = {
  title: "Built in",
  heads: ["number", "tokens", "meaning"],
  rows: builtInNumbers.map(({ name, tokens, basis, about }) => ({
    cells: [name + basisMark(basis), formatNumber(tokens)],
    last: about,
  })),
};

function basisMark(basis: Basis): string {
  switch (basis) {
    case "published":
      return "";
    case "elsewhere":
      return " ~";
    case "ours":
      return " +";
  }
}

const valueCharsMax = 28;

function valueText(value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (typeof value === "number") return value.toLocaleString("en-US");
  if (Array.isArray(value)) return `${value.length} given`;
  return typeof value === "string" ? clip(value, valueCharsMax) : "none";
}

function sectionText({ title, heads, rows }: Section, { style, columns }: ExplainLook): string {
  const natural = heads
    .slice(0, -1)
    .map((head, at) => Math.max(head.length, ...rows.map(({ cells }) => cells[at]?.length ?? 0)));
  const widths = shrinkWidths(natural, columns);
  const isFigures = (at: number): boolean => heads[at] === "tokens";
  const pad = (cell: string, at: number): string => {
    const width = widths[at] ?? 0;
    return isFigures(at) ? cell.padStart(width) : clip(cell, width).padEnd(width);
  };
  const lead = (cells: readonly string[]): string => `  ${cells.map(pad).join("  ")}`;
  const lines = rows.map(({ cells, last, changed }) => {
    const start = lead(cells);
    const fits = start.length + 2 + last.length <= columns;
    const text = fits ? `${start}  ${last}` : `${start.trimEnd()}\n${indentWrapped(last, columns)}`;
    return changed === true ? style("cyan", text) : text;
  });
  const fullHead = `${lead(heads.slice(0, -1))}  ${heads.at(-1) ?? ""}`;
  const head = style("dim", fullHead.length <= columns ? fullHead : lead(heads.slice(0, -1)).trimEnd());
  return `${style("bold", title)}\n${head}\n${lines.join("\n")}\n`;
}

/** Fewer characters of a value say nothing. */
const cellCharsMin = 8;

/** On a narrow screen the widest columns shrink: values, mostly a model's name. A row's name stays whole. */
function shrinkWidths(widths: readonly number[], columns: number): readonly number[] {
  const [name = 0, ...others] = widths;
  let over = widths.reduce((sum, width) => sum + width + 2, 0) - columns;
  while (over > 0) {
    const widest = Math.max(...others);
    if (widest <= cellCharsMin) break;
    const at = others.lastIndexOf(widest);
    others[at] = Math.max(cellCharsMin, widest - over);
    over -= widest - (others[at] ?? widest);
  }
  return [name, ...others];
}

const indent = "      ";

const indentWrapped = (text: string, columns: number): string =>
  wrapText(text, columns - indent.length).replaceAll(/^/gm, indent);

function filesText({ files, trust }: ProjectSettings["reading"], { style }: ExplainLook): string {
  const colours = { read: "green", missing: "dim", broken: "red" } as const;
  const lines = files.map(({ scope, path, state }) => {
    const isUntrusted = scope !== "user" && state === "read" && trust !== "trusted";
    const note = isUntrusted ? " (not trusted: it can only forbid)" : "";
    return `  ${scope.padEnd(8)} ${style(colours[state], state.padEnd(8))} ${path}${note}`;
  });
  return `${style("bold", "Files")}\n${lines.join("\n")}\n`;
}
