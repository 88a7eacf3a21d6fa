import type { Basis, RowState } from "../schema/setting-row.ts";
import type { SwitchName } from "../schema/switch-rows.ts";
import { formatCount, plural } from "../text/format-count.ts";

/** One line of the description of a policy. */
export interface PolicyRow {
  readonly name: string;
  readonly value: string;
  readonly basis: Basis;
  /** The switch that overrides the policy for this line. */
  readonly switch?: SwitchName;
  readonly state?: RowState;
}

export const row = (name: string, value: string, basis: Basis = "published"): PolicyRow => ({ name, value, basis });

export const withSwitch = (name: SwitchName, line: PolicyRow): PolicyRow => ({ ...line, switch: name });

export const asPlanned = (line: PolicyRow): PolicyRow => ({ ...line, state: "planned" });

export const formatAmount = (count: number, thing: string): string => `${formatCount(count)} ${plural(count, thing)}`;

export const oursIf = (isOurs: boolean): Basis => (isOurs ? "ours" : "published");
