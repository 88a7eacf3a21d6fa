import { type ToolKind, classifyTool } from "../tokens/tool-kind.ts";
import {
  findAgeBand,
  ageBandsRoundsMin,
  type NeedCount,
  type NeedTable,
  type NeedToolKind,
  needToolKinds,
  noNeeds,
  findSizeBand,
  sizeBandsTokensMax,
} from "./need-bands.ts";
import { needTable } from "./need-table.data.ts";

interface ResidentResult {
  /** Name of the tool it comes from. */
  readonly tool: string;
  readonly tokens: number;
  /** Rounds since it was last used. */
  readonly ageRounds: number;
}

/** The chance that a result is needed now or later, from recorded sessions. A look-up: plans ask for every result. */
export const needChance = ({ tool, tokens, ageRounds }: ResidentResult): number =>
  chanceIn(chances, { kind: needToolKind(tool), tokens, ageRounds });

/** By kind, then size band, then age band. */
type NeedChances = Readonly<Record<NeedToolKind, readonly (readonly number[])[]>>;

interface ResidentKind extends Omit<ResidentResult, "tool"> {
  readonly kind: NeedToolKind;
}

export const chanceIn = (table: NeedChances, { kind, tokens, ageRounds }: ResidentKind): number =>
  table[kind][findSizeBand(tokens)]?.[findAgeBand(ageRounds)] ?? 0;

/**
 * A cell with few results leans on all results of its kind and age, and these on all results of their age: so no chance
 * is ever 0 or 1.
 */
export function computeChances(table: NeedTable): NeedChances {
  const all = ageBandsRoundsMin.map((_, age) => addCounts(needToolKinds.map((kind) => rowCount(table[kind], age))));
  const ofKind = (kind: NeedToolKind): readonly (readonly number[])[] => {
    const rows = all.map((count, age) => leaning(rowCount(table[kind], age), leaning(count, 0.5)));
    return sizeBandsTokensMax.map((_, size) =>
      rows.map((row, age) => leaning(table[kind][size]?.[age] ?? noNeeds, row)),
    );
  };
  return {
    read: ofKind("read"),
    shell: ofKind("shell"),
    search: ofKind("search"),
    change: ofKind("change"),
    other: ofKind("other"),
  };
}

/** So many results count as much as what a cell leans on. */
const leanedResults = 20;

const leaning = ({ needed, seen }: NeedCount, on: number): number =>
  (needed + leanedResults * on) / (seen + leanedResults);

const rowCount = (sizes: readonly (readonly NeedCount[])[], age: number): NeedCount =>
  addCounts(sizes.map((ages) => ages[age] ?? noNeeds));

const addCounts = (counts: readonly NeedCount[]): NeedCount =>
  counts.reduce((sum, one) => ({ needed: sum.needed + one.needed, seen: sum.seen + one.seen }), noNeeds);

/** The row of the table for a tool's results. */
export function needToolKind(tool: string): NeedToolKind {
  const kind = classifyTool(tool);
  return kind === undefined ? "other" : needKindByToolKind[kind];
}

const needKindByToolKind: Readonly<Record<ToolKind, NeedToolKind>> = {
  read: "read",
  write: "change",
  shell: "shell",
  search: "search",
  list: "search",
  fetch: "search",
};

const chances = computeChances(needTable);
