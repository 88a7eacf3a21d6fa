import type { Basis } from "palimpsest/internal/schema/setting-row";
import { type SettingName, settingNames, settingTable } from "palimpsest/internal/schema/settings";
import { masterBySwitch, switchNames } from "palimpsest/internal/schema/switches";
import { listingOf } from "palimpsest/internal/schema/tool-server";
import { policyRows } from "palimpsest/internal/policy/rows";
import { switchesByPolicy, unusedUnder } from "palimpsest/internal/policy/switches";
import { arithmeticOf } from "palimpsest/internal/settings/arithmetic";
import type { SettingsHere } from "./settings/here.ts";
import type { InForce } from "palimpsest/internal/settings/given";
import { builtInNumbers, type Numbers } from "palimpsest/internal/settings/numbers";
import type { DefinedServer } from "./settings/tool-servers.ts";
import { clipped, filled, humanCount } from "./human.ts";
import type { Style } from "./style.ts";

interface Look {
  readonly style: Style;
  readonly columns: number;
}

/** One line of a section: cells, and last where it comes from, which goes on a line of its own where there is no room. */
interface Row {
  readonly cells: readonly string[];
  readonly last: string;
  /** Not as it is by default: what a person looks for. */
  readonly changed?: boolean;
}

interface Section {
  readonly title: string;
  readonly heads: readonly string[];
  readonly rows: readonly Row[];
}

export interface Explained extends SettingsHere {
  readonly servers: readonly DefinedServer[];
}

export function explainText(here: Explained, look: Look): string {
  const { reading, numbers, servers } = here;
  const sections = [
    windowSection(numbers),
    thresholdSection(numbers),
    policySection(numbers),
    settingsSection(here),
    switchSection(here),
    ...(servers.length === 0 ? [] : [serverSection(servers)]),
    builtInSection,
  ];
  return [
    ...sections.map((section) => sectionText(section, look)),
    filesText(reading, look),
    "+ our own, not from the published descriptions\n~ from elsewhere, not from those themselves\n",
  ].join("\n");
}

const windowSection = ({ model, window, outputTokensMax, inputTokensMax }: Numbers): Section => ({
  title: `In force for ${model ?? "an unnamed model"}`,
  heads: ["number", "tokens", "source", "from"],
  rows: [
    { cells: ["window", humanCount(window.tokens), window.source], last: window.from },
    { cells: ["output limit", humanCount(outputTokensMax.tokens), outputTokensMax.source], last: outputTokensMax.from },
    ...(inputTokensMax === undefined
      ? []
      : [
          {
            cells: ["input limit", humanCount(inputTokensMax.tokens), inputTokensMax.source],
            last: inputTokensMax.from,
          },
        ]),
  ],
});

function thresholdSection(numbers: Numbers): Section {
  const { thresholds } = numbers;
  const arithmetic = arithmeticOf(numbers);
  const row = (name: Exclude<keyof typeof thresholds, "window">, says: string): Row => ({
    cells: [says, Number.isFinite(thresholds[name]) ? humanCount(thresholds[name]) : "–"],
    last: arithmetic[name],
  });
  const limitSays = numbers.autoCompact === "on" ? "limit (compact)" : "limit (effective)";
  return {
    title: `Thresholds, automatic compaction ${numbers.autoCompact}`,
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

/** What the policy says; where a switch has the last word, that too. */
function policySection({ policy, switches }: Numbers): Section {
  const byPolicy = switchesByPolicy(policy);
  return {
    title: `Policy ${policy.name}`,
    heads: ["rule", "value"],
    rows: policyRows(policy).map(({ name, value, basis, switch: by, state }) => {
      if (state === "planned") return { cells: [name + mark(basis)], last: notThereYet };
      const isSwitched = by !== undefined && switches[by].value !== byPolicy[by];
      const switchedText = isSwitched ? ` (switched ${valueText(switches[by].value)}: ${by})` : "";
      return { cells: [name + mark(basis)], last: value + switchedText, changed: isSwitched };
    }),
  };
}

const isOther = (name: SettingName): boolean => !name.startsWith("flags.");

const settingsSection = ({ reading }: SettingsHere): Section => ({
  title: "Settings",
  heads: ["setting", "value", "default", "source"],
  rows: settingNames.filter(isOther).map((name) => {
    const { default: standard, defaultSays, basis, state } = settingTable[name];
    const inForce = reading.settings[name];
    if (state === "planned") return { cells: [name + mark(basis), notThereYet, "–"], last: "–" };
    const standardText = defaultSays ?? valueText(standard);
    const value = inForce.source === "default" ? standardText : valueText(inForce.value);
    return {
      cells: [name + mark(basis), value, standardText],
      last: inForce.source,
      changed: inForce.source !== "default",
    };
  }),
});

/** In place of a value that nothing reads. */
const notThereYet = "not there yet";

const switchSection = ({ reading, numbers }: SettingsHere): Section => ({
  title: "Switches",
  heads: ["switch", "value", "default", "source"],
  rows: switchNames.map((name) => {
    const unused = unusedUnder(numbers.policy);
    const { default: standard, basis, state } = settingTable[`flags.${name}`];
    const inForce = numbers.switches[name];
    if (state === "planned") return { cells: [name + mark(basis), notThereYet, "–"], last: "–" };
    const master = masterBySwitch[name];
    const isMasters = master !== undefined && inForce === reading.settings[master];
    const source = switchSource(inForce, { master: isMasters ? master : undefined, standard });
    const isUnused = inForce.value && unused.has(name);
    return {
      cells: [name + mark(basis), valueText(inForce.value), valueText(standard)],
      last: isUnused ? `${source}; does nothing under the policy ${numbers.policy.name}` : source,
      changed: inForce.value !== standard,
    };
  }),
});

/** A switch that nobody set and that is not as by default is as the policy has it: that is said. */
function switchSource({ source, from, value }: InForce<boolean>, { master, standard }: SwitchPlace): string {
  if (master !== undefined) return `${source}, ${master}`;
  return source === "default" && value !== standard ? from : source;
}

interface SwitchPlace {
  readonly master: string | undefined;
  readonly standard: boolean;
}

const serverSection = (servers: readonly DefinedServer[]): Section => ({
  title: "MCP servers",
  heads: ["server", "reached by", "state", "source"],
  rows: servers.map(({ definition, leave, scope, from }) => {
    const { id, kind, target } = listingOf(definition);
    const state = { given: "starts", needed: "not approved", refused: "refused by you" }[leave];
    return { cells: [id, `${kind} ${target}`, state], last: `${scope} (${from})`, changed: true };
  }),
});

const builtInSection: Section = {
  title: "Built in",
  heads: ["number", "tokens", "meaning"],
  rows: builtInNumbers.map(({ name, tokens, basis, about }) => ({
    cells: [name + mark(basis), humanCount(tokens)],
    last: about,
  })),
};

function mark(basis: Basis): string {
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
  return typeof value === "string" ? clipped(value, valueCharsMax) : "none";
}

function sectionText({ title, heads, rows }: Section, { style, columns }: Look): string {
  const natural = heads
    .slice(0, -1)
    .map((head, at) => Math.max(head.length, ...rows.map(({ cells }) => cells[at]?.length ?? 0)));
  const widths = shrunk(natural, columns);
  const isFigures = (at: number): boolean => heads[at] === "tokens";
  const padded = (cell: string, at: number): string => {
    const width = widths[at] ?? 0;
    return isFigures(at) ? cell.padStart(width) : clipped(cell, width).padEnd(width);
  };
  const lead = (cells: readonly string[]): string => `  ${cells.map(padded).join("  ")}`;
  const lines = rows.map(({ cells, last, changed }) => {
    const front = lead(cells);
    const fits = front.length + 2 + last.length <= columns;
    const text = fits ? `${front}  ${last}` : `${front.trimEnd()}\n${wrapped(last, columns)}`;
    return changed === true ? style("cyan", text) : text;
  });
  const fullHead = `${lead(heads.slice(0, -1))}  ${heads.at(-1) ?? ""}`;
  const head = style("dim", fullHead.length <= columns ? fullHead : lead(heads.slice(0, -1)).trimEnd());
  return `${style("bold", title)}\n${head}\n${lines.join("\n")}\n`;
}

/** Less of a value tells nothing. */
const cellCharsMin = 8;

/** The widest columns give what a narrow screen lacks: values, mostly a model's name. What a row is called stays whole. */
function shrunk(widths: readonly number[], columns: number): readonly number[] {
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

const wrapped = (text: string, columns: number): string =>
  filled(text, columns - indent.length).replaceAll(/^/gm, indent);

function filesText({ files, trust }: SettingsHere["reading"], { style }: Look): string {
  const colours = { read: "green", missing: "dim", broken: "red" } as const;
  const lines = files.map(({ scope, path, state }) => {
    const isDoubted = scope !== "user" && state === "read" && trust !== "trusted";
    const note = isDoubted ? " (not trusted: it can only forbid)" : "";
    return `  ${scope.padEnd(8)} ${style(colours[state], state.padEnd(8))} ${path}${note}`;
  });
  return `${style("bold", "Files")}\n${lines.join("\n")}\n`;
}
