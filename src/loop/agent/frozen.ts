import { z } from "zod";
import { type Baseline, changesOf, type FrozenParts, makeBaseline } from "../../cache/baseline.ts";
import type { BreakCause } from "../../cache/breaks.ts";
import type { BlobsDep, WriteFailure } from "../../ports/blobs.ts";
import { isBlobId, millis } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";
import { anyJson, parseJson } from "../../schema/json.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { Session } from "../session.ts";
import { changeDrafts } from "./reminders.ts";

export type Frozen =
  | {
      readonly kind: "frozen";
      readonly baseline: Baseline;
      /** Why no request so far has this prefix; undefined where there was none, or the last one had it. */
      readonly moved: BreakCause | undefined;
    }
  | WriteFailure;

export interface FreezeInput {
  readonly session: Session;
  /** As it would be rendered at this moment. */
  readonly now: FrozenParts;
}

/**
 * The prefix of a session's requests to one model. The first time it is written down, as a blob that an entry names;
 * whoever opens the session later sends the same bytes, also after other models had their turns: thinking may be bound to
 * them. What is otherwise now is told behind the conversation, each change once.
 */
export async function frozenBaseline(deps: BlobsDep, { session, now }: FreezeInput): Promise<Frozen> {
  const state = readState(session.fold);
  const own = state?.byModel[now.model];
  const sent = await readParts(deps, own?.sent);
  const told = sent === undefined ? undefined : ((await readParts(deps, own?.told)) ?? sent);
  const moved = movedFrom(state, { sent, now }) ?? (state === undefined ? undefined : editedSince(session));
  const news = [...(moved?.kind === "model" ? [moved] : []), ...(told === undefined ? [] : changesOf(told, now))];
  const frozen = { kind: "frozen", baseline: makeBaseline(sent ?? now), moved } as const;
  if (sent !== undefined && news.length === 0) return frozen;
  const put = await deps.blobs.put(new TextEncoder().encode(JSON.stringify(now)));
  if (put.kind === "failed") return put;
  const blobs = { sent: sent === undefined || own === undefined ? put.id : own.sent, told: put.id };
  const next = { last: now.model, byModel: { ...state?.byModel, [now.model]: blobs } };
  // The news first: told twice after a crash is better than never.
  const appended = await session.append(...changeDrafts(news), stateDraft(next));
  return appended.kind === "failed" ? appended : frozen;
}

/** The model that was asked last, under the name by which it was asked: servers call themselves otherwise. */
export const lastAsked = (session: Session): string | undefined => readState(session.fold)?.last;

/** The system prompt of the requests to the model that was asked last; undefined where no agent of ours has asked one. */
export async function frozenSystem(deps: BlobsDep, fold: Fold): Promise<readonly string[] | undefined> {
  const state = readState(fold);
  const parts = state && (await readParts(deps, state.byModel[state.last]?.sent));
  return parts && makeBaseline(parts).systemBlocks.map(({ text }) => text);
}

/** A blob that is gone can't be sent again: then the prefix is made anew, and that is told too. */
function movedFrom(
  state: FrozenState | undefined,
  { sent, now }: { readonly sent: FrozenParts | undefined; readonly now: FrozenParts },
): BreakCause | undefined {
  if (state === undefined) return undefined;
  if (state.last !== now.model) return { kind: "model", before: state.last, now: now.model };
  return sent === undefined ? { kind: "system", block: 0 } : undefined;
}

/** An edit behind the newest reply, as `palimpsest undo` makes it: what that reply's request left in the cache does not fit. */
function editedSince({ fold }: Session): BreakCause | undefined {
  const { entries } = fold.path;
  const newest = entries.findLastIndex((entry) => entry.kind === "assistant" && !entry.synthetic);
  const repliedAt = Date.parse(entries[newest]?.timestamp ?? "");
  if (Number.isNaN(repliedAt)) return undefined;
  const edit = entries.slice(newest).find((entry) => isRewriting(entry, entries));
  return edit?.kind === "edit" ? { kind: "edit", edit: edit.edit.type, repliedAt: millis(repliedAt) } : undefined;
}

/** Whether it changes what requests have shown. An offload does not, since it stands before the first of them; its undo does. */
function isRewriting(entry: Entry, entries: readonly Entry[]): boolean {
  if (entry.kind !== "edit") return false;
  const { edit } = entry;
  if (edit.type !== "undo") return rewriting.has(edit.type);
  const undone = entries.find(({ id }) => id === edit.edit);
  return undone?.kind !== "edit" || undone.edit.type === "offload" || isRewriting(undone, entries);
}

const rewriting: ReadonlySet<string> = new Set(["branch", "clear", "snip", "collapse", "boundary"]);

/** Kept as a setting of the session: it goes through boundaries with the others. */
const stateName = "request.baseline";

const stateDraft = (value: FrozenState): Draft => ({ type: "setting", name: stateName, value });

const blob = z.string().refine((text) => isBlobId(text));

const stateShape = z.object({
  /** The model that was asked last. */
  last: z.string(),
  /** What its requests carry, and what it knows of since. */
  byModel: z.record(z.string(), z.object({ sent: blob, told: blob })),
});

type FrozenState = z.infer<typeof stateShape>;

function readState({ projection }: Fold): FrozenState | undefined {
  const read = stateShape.safeParse(projection.settings.get(stateName));
  return read.success ? read.data : undefined;
}

async function readParts({ blobs }: BlobsDep, id: string | undefined): Promise<FrozenParts | undefined> {
  const bytes = id !== undefined && isBlobId(id) ? await blobs.get(id) : undefined;
  if (bytes === undefined) return undefined;
  const read = frozenShape.safeParse(parseJson(new TextDecoder().decode(bytes)));
  return read.success ? read.data : undefined;
}

const object = z.record(z.string(), anyJson);

const frozenShape = z.object({
  model: z.string(),
  thinking: object.optional(),
  betas: z.array(z.string()),
  tools: z.array(z.object({ name: z.string() }).and(object)),
  system: z.array(z.object({ name: z.string(), text: z.string() })),
});
