import { z } from "zod";
import type { Basis, ProjectUse, RowState, SettingRow } from "./setting-row.ts";

/** Every switch with its default, in the order in which the layers run. */
export const switchDefaults = {
  offload: true,
  "clear.size": true,
  "clear.idle": true,
  "clear.cacheEdits": true,
  "clear.api": false,
  snip: false,
  collapse: false,
  notes: false,
  notesCompact: true,
  "compact.manual": true,
  "compact.auto": true,
  "compact.reactive": true,
  "compact.background": true,
  "compact.server": false,
  "compact.agent": false,
  extraction: true,
  dream: true,
  progress: true,
} as const;
export type SwitchName = keyof typeof switchDefaults;

export const switchNames = Object.keys(switchDefaults) as SwitchName[];

export type SwitchRows = { readonly [Name in `flags.${SwitchName}`]: SettingRow<boolean> };

/**
 * For everything that rewrites the view: `DISABLE_COMPACT` means no rewrites. An offload happens before the result is
 * sent, so it is not one.
 */
const all = ["DISABLE_COMPACT"];
const clearing = ["DISABLE_COMPACT", "DISABLE_MICROCOMPACT"];
const automatic = ["DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"];

interface SwitchDetails {
  readonly about: string;
  readonly basis: Basis;
  readonly offBy?: readonly string[];
  readonly byProject?: ProjectUse;
  readonly state?: RowState;
}

/** A project may turn memories off, but not on. */
export const onlyOff: ProjectUse = { narrows: (value) => value === false, says: "false" };

const detailsBySwitch: { readonly [Name in SwitchName]: SwitchDetails } = {
  offload: { about: "Big tool results go to disk when they arrive.", basis: "published" },
  "clear.size": { about: "Old tool results are cleared when there are many.", basis: "published", offBy: clearing },
  "clear.idle": {
    about: "Old tool results are cleared when the cache is cold.",
    basis: "published",
    offBy: clearing,
  },
  "clear.cacheEdits": {
    about: "Old tool results are deleted in the provider's cache.",
    basis: "published",
    offBy: clearing,
  },
  "clear.api": { about: "The API is asked to clear old tool results.", basis: "published", offBy: all },
  snip: { about: "Low-value rounds leave the view.", basis: "published", offBy: all },
  collapse: { about: "Old rounds fold into stand-ins.", basis: "published", offBy: all },
  notes: { about: "Notes on the session are kept while it runs.", basis: "published" },
  notesCompact: { about: "The notes become the summary.", basis: "published", offBy: all },
  "compact.manual": { about: "/compact.", basis: "published", offBy: all },
  "compact.auto": { about: "Compaction at the threshold.", basis: "published", offBy: automatic },
  "compact.reactive": {
    about: "Compaction after the provider refused a request as too long.",
    basis: "published",
    offBy: automatic,
  },
  "compact.background": { about: "The summary is prepared ahead of the threshold.", basis: "ours", offBy: automatic },
  "compact.server": { about: "Compaction by the provider.", basis: "ours", offBy: automatic },
  "compact.agent": {
    about: "The agent is told how full its context is, and can ask for compaction.",
    basis: "ours",
    offBy: all,
  },
  extraction: {
    about: "Memories are extracted at the end of a turn.",
    basis: "published",
    byProject: onlyOff,
    state: "planned",
  },
  dream: {
    about: "Memories are consolidated in the background.",
    basis: "published",
    byProject: onlyOff,
    state: "planned",
  },
  progress: { about: "Background agents say what they are doing.", basis: "published", state: "planned" },
};

/** `clear.cacheEdits` → `PALIMPSEST_FLAG_CLEAR_CACHE_EDITS`. */
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
      default: switchDefaults[name],
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
