import { z } from "zod";
import type { Fold } from "../transcript/fold.ts";
import type { Draft } from "../transcript/draft.ts";
import type { AgentRun } from "../schema/agent-run.ts";
import type { Edit } from "../schema/edit.ts";
import { agentId, millis, nanoUsd, tokens } from "../schema/brand.ts";

/**
 * The agents that run, as a setting of the session: what is on record when a session is opened was lost with its process.
 * The record survives boundaries with the other settings.
 */
const recordsName = "agents.running";

const recordShape = z.object({
  id: z.string().transform(agentId),
  name: z.string(),
  type: z.string(),
  description: z.string(),
  parent: z.string().transform(agentId).optional(),
  depth: z.number(),
  place: z.enum(["foreground", "background"]),
  model: z.string(),
  startedAt: z.number().transform(millis),
  worktree: z.object({ path: z.string(), branch: z.string(), state: z.enum(["in-use", "kept", "removed"]) }).optional(),
  /** Requests that are booked in the session's log. */
  booked: z.number(),
});

export type AgentRecord = z.infer<typeof recordShape>;

export const recordsDraft = (records: readonly AgentRecord[]): Draft => ({
  type: "setting",
  name: recordsName,
  value: records,
});

export function readRecords({ projection }: Pick<Fold, "projection">): readonly AgentRecord[] {
  return parseRecords(projection.settings.get(recordsName)) ?? [];
}

/** Undefined if the edit is no record. */
export const readRecordsEdit = (edit: Edit): readonly AgentRecord[] | undefined =>
  edit.type === "setting" && edit.name === recordsName ? parseRecords(edit.value) : undefined;

const parseRecords = (value: unknown): readonly AgentRecord[] | undefined => z.array(recordShape).safeParse(value).data;

export const toRecord = (
  { state: _state, usage: _usage, progress: _progress, denials: _denials, ...run }: AgentRun,
  booked: number,
): AgentRecord => ({ ...run, booked });

/** An agent that its process took with it. */
export const lostRun = ({ booked: _booked, ...record }: AgentRecord): AgentRun => ({
  ...record,
  state: { kind: "lost" },
  usage: { requests: 0, calls: 0, denied: 0, tokens: tokens(0), nanos: nanoUsd(0) },
});
