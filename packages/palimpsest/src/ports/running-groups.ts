import type { ToolUseId } from "../schema/brand.ts";

/** Process groups of commands, on record while they run: one that outlives the agent can be told from a stranger, and ended. */
export interface RunningGroups {
  /** Must not reject. Returns how to take the record back, which must not reject either. */
  record(group: RunningGroup): Promise<() => Promise<void>>;
  /** What an earlier run of the session left on record. Changes nothing. Only who holds the session's lock may end or forget any of it: others' commands may well run. */
  left(): Promise<readonly LeftGroup[]>;
}

export interface RunningGroup {
  /** The process id of the group's leader, which is the group's. */
  readonly leader: number;
  /** The call that it runs for; undefined for what runs beside the conversation, as servers of tools do. */
  readonly toolUse: ToolUseId | undefined;
}

export interface LeftGroup extends RunningGroup {
  /**
   * `ours`: the leader runs, and is the very process that was recorded. `leaderless`: it has ended, and a group of its
   * number runs, which is most likely the recorded one. `gone`: neither, or nobody can tell.
   */
  readonly state: "ours" | "leaderless" | "gone";
  readonly forget: () => Promise<void>;
}
