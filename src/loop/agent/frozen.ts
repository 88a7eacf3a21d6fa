import { z } from "zod";
import { type Baseline, changesOf, type FrozenParts, makeBaseline } from "../../cache/baseline.ts";
import type { BreakCause } from "../../cache/breaks.ts";
import type { BlobsDep, WriteFailure } from "../../ports/blobs.ts";
import { isBlobId } from "../../schema/brand.ts";
import { anyJson, parseJson } from "../../schema/json.ts";
import type { Draft } from "../../transcript/draft.ts";
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
  const state = readState(session);
  const own = state?.byModel[now.model];
  const sent = await readParts(deps, own?.sent);
  const told = sent === undefined ? undefined : ((await readParts(deps, own?.told)) ?? sent);
  const moved = movedFrom(state, { sent, now });
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
export const lastAsked = (session: Session): string | undefined => readState(session)?.last;

/** A blob that is gone can't be sent again: then the prefix is made anew, and that is told too. */
function movedFrom(
  state: FrozenState | undefined,
  { sent, now }: { readonly sent: FrozenParts | undefined; readonly now: FrozenParts },
): BreakCause | undefined {
  if (state === undefined) return undefined;
  if (state.last !== now.model) return { kind: "model", before: state.last, now: now.model };
  return sent === undefined ? { kind: "system", block: 0 } : undefined;
}

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

function readState(session: Session): FrozenState | undefined {
  const read = stateShape.safeParse(session.fold.projection.settings.get(stateName));
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
