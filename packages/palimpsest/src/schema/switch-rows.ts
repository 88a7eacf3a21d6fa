import { z } from "zod";
import type { Basis, ProjectUse, RowState, SettingRow } from "./setting-row.ts";

/**
 * For everything that rewrites the view: `DISABLE_COMPACT` means no rewrites. An offload happens before the result is
 * sent, so it is not one.
 */
const all = ["DISABLE_COMPACT"];
const clearing = ["DISABLE_COMPACT", "DISABLE_MICROCOMPACT"];
const automatic = ["DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"];

interface SwitchDetails {
  readonly default: boolean;
  readonly about: string;
  readonly basis: Basis;
  readonly offBy?: readonly string[];
  readonly byProject?: ProjectUse;
  readonly state?: RowState;
}

/** A project may turn memories off, but not on. */
export const onlyOff: ProjectUse = { narrows: (value) => value === false, says: "false" };

/** In the order in which the layers run. */
const detailsBySwitch = {
  offload: { default: true, about: "Big tool results go to disk when they arrive.", basis: "published" },
  "clear.size": {
    default: true,
    about: "Old tool results are cleared when there are many.",
    basis: "published",
    offBy: clearing,
  },
  "clear.idle": {
    default: true,
    about: "Old tool results are cleared when the cache is cold.",
    basis: "published",
    offBy: clearing,
  },
  "clear.cacheEdits": {
    default: true,
    about: "Old tool results are deleted in the provider's cache.",
    basis: "published",
    offBy: clearing,
  },
  "clear.api": { default: false, about: "The API is asked to clear old tool results.", basis: "published", offBy: all },
  snip: { default: false, about: "Low-value rounds leave the view.", basis: "published", offBy: all },
  collapse: { default: false, about: "Old rounds fold into stand-ins.", basis: "published", offBy: all },
  notes: { default: false, about: "Notes on the session are kept while it runs.", basis: "published" },
  notesCompact: { default: true, about: "The notes become the summary.", basis: "published", offBy: all },
  "compact.manual": { default: true, about: "/compact.", basis: "published", offBy: all },
  "compact.auto": { default: true, about: "Compaction at the threshold.", basis: "published", offBy: automatic },
  "compact.reactive": {
    default: true,
    about: "Compaction after the provider refused a request as too long.",
    basis: "published",
    offBy: automatic,
  },
  "compact.background": {
    default: true,
    about: "The summary is prepared ahead of the threshold.",
    basis: "ours",
    offBy: automatic,
  },
  "compact.server": { default: false, about: "Compaction by the provider.", basis: "ours", offBy: automatic },
  "compact.agent": {
    default: false,
    about: "The agent is told how full its context is, and can ask for compaction.",
    basis: "ours",
    offBy: all,
  },
  extraction: {
    default: true,
    about:
      "Memories are extracted at the end of turns; in `-p` only if a flag or variable asks for it, in an untrusted project never.",
    basis: "published",
    byProject: onlyOff,
  },
  dream: {
    default: true,
    about: "Memories are consolidated in the background, with the same exceptions.",
    basis: "published",
    byProject: onlyOff,
  },
  agents: {
    default: true,
    about: "The agent can have parts of the work done by other agents.",
    basis: "published",
    byProject: onlyOff,
  },
  progress: {
    default: true,
    about: "A model says every 30 seconds what a background agent is doing; if it is off, the newest call says it.",
    basis: "published",
  },
} satisfies Readonly<Record<string, SwitchDetails>>;

export type SwitchName = keyof typeof detailsBySwitch;

export const switchNames = Object.keys(detailsBySwitch) as SwitchName[];

export const switchDefaults = Object.fromEntries(
  switchNames.map((name) => [name, detailsBySwitch[name].default]),
) as Readonly<Record<SwitchName, boolean>>;

export type SwitchRows = { readonly [Name in `flags.${SwitchName}`]: SettingRow<boolean> };

/** `clear.size` → `PALIMPSEST_FLAG_CLEAR_SIZE`, `notesCompact` → `PALIMPSEST_FLAG_NOTES_COMPACT`. */
const switchEnvironmentName = (name: string): string =>
  `${switchEnvironmentPrefix}${name.replaceAll(/(?<=[a-z])(?=[A-Z])|\./g, "_").toUpperCase()}`;
export const switchEnvironmentPrefix = "PALIMPSEST_FLAG_";

export const switchRows = Object.fromEntries(
  switchNames.map((name): [string, SettingRow<boolean>] => [
    `flags.${name}`,
    {
      shape: z.boolean(),
      expects: "true or false",
      type: "switch",
      environment: [switchEnvironmentName(name)],
      byProject: "nothing",
      ...detailsBySwitch[name],
    },
  ]),
) as SwitchRows;

/** If the master setting is off, the switch is off: users need to know only one name for a feature. */
export const masterBySwitch: {
  readonly [Name in SwitchName]?: "autoCompactEnabled" | "autoMemoryEnabled" | "autoDreamEnabled";
} = {
  "compact.auto": "autoCompactEnabled",
  "compact.reactive": "autoCompactEnabled",
  "compact.background": "autoCompactEnabled",
  "compact.server": "autoCompactEnabled",
  extraction: "autoMemoryEnabled",
  dream: "autoDreamEnabled",
};
