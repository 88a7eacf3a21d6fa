import { figure } from "../schema/figure.ts";
import { plural } from "../schema/plural.ts";
import type { Basis } from "../schema/settings.ts";

/** One line of what a policy says. */
export interface PolicyRow {
  readonly name: string;
  readonly value: string;
  readonly basis: Basis;
}

export const row = (name: string, value: string, basis: Basis = "published"): PolicyRow => ({ name, value, basis });

export const counted = (count: number, thing: string): string => `${figure(count)} ${plural(count, thing)}`;
