import { figure } from "../schema/figure.ts";
import { plural } from "../schema/plural.ts";
import type { Basis, RowState } from "../schema/setting-row.ts";
import type { SwitchName } from "../schema/switches.ts";

/** One line of what a policy says. */
export interface PolicyRow {
  readonly name: string;
  readonly value: string;
  readonly basis: Basis;
  /** Turns what the line says on or off, whatever the policy says. */
  readonly switch?: SwitchName;
  readonly state?: RowState;
}

export const row = (name: string, value: string, basis: Basis = "published"): PolicyRow => ({ name, value, basis });

export const switched = (name: SwitchName, line: PolicyRow): PolicyRow => ({ ...line, switch: name });

export const planned = (line: PolicyRow): PolicyRow => ({ ...line, state: "planned" });

export const counted = (count: number, thing: string): string => `${figure(count)} ${plural(count, thing)}`;
