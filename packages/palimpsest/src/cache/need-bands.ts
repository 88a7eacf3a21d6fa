/**
 * The shape of the table of needs: by kind of tool, size of the result, and age since its last use. A cell counts the
 * results that reached the age, and how many of those were needed then or later.
 */
export const needToolKinds = ["read", "shell", "search", "change", "other"] as const;
export type NeedToolKind = (typeof needToolKinds)[number];

/** The upper bound of each band, inclusive. */
export const sizeBandsTokensMax = [500, 2_000, 8_000, Infinity] as const;

/** The lower bound of each band, inclusive. */
export const ageBandsRoundsMin = [0, 3, 6, 11, 21, 51] as const;

export interface NeedCount {
  readonly needed: number;
  readonly seen: number;
}

export const noNeeds: NeedCount = { needed: 0, seen: 0 };

/** By kind, then size band, then age band. */
export type NeedTable = Readonly<Record<NeedToolKind, readonly (readonly NeedCount[])[]>>;

export const findSizeBand = (tokens: number): number => sizeBandsTokensMax.findIndex((max) => tokens <= max);

export const findAgeBand = (ageRounds: number): number =>
  ageBandsRoundsMin.findLastIndex((min) => Math.max(0, ageRounds) >= min);
