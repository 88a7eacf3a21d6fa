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
  /** Name of the tool. */
  readonly tool: string;
  readonly tokens: number;
  /** Rounds since it was last used. */
  readonly ageRounds: number;
}

/**
 * The chance that a result is needed now or later, from recorded sessions. A look-up, because plans ask for every
 * result.
 */
export const needChance = ({ tool, tokens, ageRounds }: ResidentResult): number =>
  chanceIn(chances, { kind: needToolKind(tool), tokens, ageRounds });

/** By kind, then size band, then age band. */
type NeedChances = Readonly<Record<NeedToolKind, readonly (readonly number[])[]>>;

export const chanceIn = (
  table: NeedChances,
  { kind, tokens, ageRounds }: Omit<ResidentResult, "tool"> & { readonly kind: NeedToolKind },
): number => table[kind][findSizeBand(tokens)]?.[findAgeBand(ageRounds)] ?? 0;

/**
 * A cell with few results is smoothed towards all results of its kind and age, and these towards all results of their
 * age. So no chance is ever 0 or 1.
 */
export function computeChances(table: NeedTable): NeedChances {
  const all = ageBandsRoundsMin.map((_, age) => addCounts(needToolKinds.map((kind) => rowCount(table[kind], age))));
  const chancesForKind = (kind: NeedToolKind): readonly (readonly number[])[] => {
    const rows = all.map((count, age) => smoothed(rowCount(table[kind], age), smoothed(count, 0.5)));
    return sizeBandsTokensMax.map((_, size) =>
      rows.map((row, age) => smoothed(table[kind][size]?.[age] ?? noNeeds, row)),
    );
  };
  return {
    read: chancesForKind("read"),
    shell: chancesForKind("shell"),
    search: chancesForKind("search"),
    change: chancesForKind("change"),
    other: chancesForKind("other"),
  };
}

/** The prior of a cell weighs as much as so many results. */
const priorResults = 20;

const smoothed = ({ needed, seen }: NeedCount, prior: number): number =>
  (needed + priorResults * prior) / (seen + priorResults);

const rowCount = (sizes: readonly (readonly NeedCount[])[], age: number): NeedCount =>
  addCounts(sizes.map((ages) => ages[age] ?? noNeeds));

const addCounts = (counts: readonly NeedCount[]): NeedCount =>
  counts.reduce((sum, count) => ({ needed: sum.needed + count.needed, seen: sum.seen + count.seen }), noNeeds);

/** The kind under which the table counts a tool's results. */
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
