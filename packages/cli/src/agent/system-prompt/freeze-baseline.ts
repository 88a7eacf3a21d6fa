import { type Baseline, type FrozenParts, makeBaseline } from "palimpsest/internal/cache/baseline";
import type { BreakCause } from "palimpsest/internal/cache/break-detector";
import type { BlobsDep, WriteFailure } from "palimpsest/internal/ports/blobs";
import { millis } from "palimpsest/internal/schema/brand";
import { changesView } from "palimpsest/internal/schema/edit-kinds";
import type { EditEntry } from "palimpsest/internal/schema/entry";
import { findUndoneEdits } from "palimpsest/internal/transcript/plan-undo";
import {
  type FrozenState,
  readFrozenParts,
  readFrozenState,
  frozenStateDraft,
} from "palimpsest/internal/session/frozen-state";
import type { Session } from "palimpsest/internal/session/session";
import type { Draft } from "palimpsest/internal/transcript/draft";
import { announcementsInView, changesToAnnounce, changeDrafts } from "./announcement.ts";

type FreezeOutcome =
  | {
      readonly kind: "frozen";
      readonly baseline: Baseline;
      /** Why no request so far has this prefix; undefined if there was no request, or if the last one had it. */
      readonly moved: BreakCause | undefined;
    }
  | WriteFailure;

interface FreezeInput {
  readonly session: Session;
  /** The parts as they would be rendered now. */
  readonly now: FrozenParts;
}

/**
 * The prefix of a session's requests to one model. The first time it is stored, as a blob that an entry names; later
 * openings of the session send the same bytes, also after turns of other models, because thinking may be bound to them.
 * What has changed since is announced behind the conversation, each change once, and again if an edit, an undo or a
 * kill removed the announcement from the view.
 */
export async function freezeBaseline(deps: BlobsDep, { session, now }: FreezeInput): Promise<FreezeOutcome> {
  const state = readFrozenState(session.fold);
  const stored = state?.byModel[now.model];
  const sent = await readFrozenParts(deps, stored?.sent);
  const announced = sent === undefined ? now : ((await readFrozenParts(deps, stored?.told)) ?? sent);
  const moved = prefixChange(state, { sent, now }) ?? (state === undefined ? undefined : findEditSinceReply(session));
  const changes = changesToAnnounce({
    sent: sent ?? now,
    announced,
    now,
    announcements: announcementsInView(session.fold),
  });
  const news = [...(moved?.kind === "model" ? [moved] : []), ...changes];
  const frozen = { kind: "frozen", baseline: makeBaseline(sent ?? now), moved } as const;
  if (sent !== undefined && news.length === 0) return frozen;
  const put = await putParts(deps, now);
  if (put.kind === "failed") return put;
  const blobs = { sent: sent === undefined || stored === undefined ? put.id : stored.sent, told: put.id };
  const next = { last: now.model, byModel: { ...state?.byModel, [now.model]: blobs } };
  // The announcement comes first: after a crash, twice is better than never.
  const appended = await session.append(...changeDrafts(news), frozenStateDraft(next));
  return appended.kind === "failed" ? appended : frozen;
}

/**
 * What to append before a request because the parts would be rendered differently now: announcements, each once, and the
 * record of them. Empty if nothing is due, or if the record can't be written now.
 */
export async function headerNews(deps: BlobsDep, { session, now }: FreezeInput): Promise<readonly Draft[]> {
  const state = readFrozenState(session.fold);
  const stored = state?.byModel[now.model];
  const sent = await readFrozenParts(deps, stored?.sent);
  if (state === undefined || stored === undefined || sent === undefined) return [];
  const announced = (await readFrozenParts(deps, stored.told)) ?? sent;
  const changes = changesToAnnounce({ sent, announced, now, announcements: announcementsInView(session.fold) });
  if (changes.length === 0) return [];
  const put = await putParts(deps, now);
  if (put.kind === "failed") return [];
  const byModel = { ...state.byModel, [now.model]: { sent: stored.sent, told: put.id } };
  return [...changeDrafts(changes), frozenStateDraft({ ...state, byModel })];
}

interface RefreezeInput {
  readonly session: Session;
  /** What requests begin with from now on. */
  readonly sent: FrozenParts;
  /** What sent parts and announcements in the view together state. */
  readonly now: FrozenParts;
}

/** Stores another prefix for the session's requests to a model. Only for a boundary: behind it, nothing is cached yet. */
export async function refreezeBaseline(
  deps: BlobsDep,
  { session, sent, now }: RefreezeInput,
): Promise<{ readonly kind: "frozen"; readonly baseline: Baseline } | WriteFailure> {
  const state = readFrozenState(session.fold);
  const [sentBlob, toldBlob] = [await putParts(deps, sent), await putParts(deps, now)];
  if (sentBlob.kind === "failed") return sentBlob;
  if (toldBlob.kind === "failed") return toldBlob;
  const byModel = { ...state?.byModel, [sent.model]: { sent: sentBlob.id, told: toldBlob.id } };
  const appended = await session.append(frozenStateDraft({ last: sent.model, byModel }));
  return appended.kind === "failed" ? appended : { kind: "frozen", baseline: makeBaseline(sent) };
}

const putParts = ({ blobs }: BlobsDep, { model, thinking, betas, tools, system }: FrozenParts) =>
  blobs.put(new TextEncoder().encode(JSON.stringify({ model, thinking, betas, tools, system })));

/** The model of the last request, under the name used in the request: servers report other names. */
export const lastRequestedModel = (session: Session): string | undefined => readFrozenState(session.fold)?.last;

/** Names of the tools that the model believes to have: those that were sent to it, with the announced changes since. */
export async function toolsKnownToModel(
  deps: BlobsDep,
  { session, model }: { readonly session: Session; readonly model: string },
): Promise<ReadonlySet<string>> {
  const stored = readFrozenState(session.fold)?.byModel[model];
  const parts = (await readFrozenParts(deps, stored?.told)) ?? (await readFrozenParts(deps, stored?.sent));
  return new Set(parts?.tools.map(({ name }) => name));
}

/** A missing blob can't be sent again: then the prefix is rendered anew, and that counts as a change too. */
function prefixChange(
  state: FrozenState | undefined,
  { sent, now }: { readonly sent: FrozenParts | undefined; readonly now: FrozenParts },
): BreakCause | undefined {
  if (state === undefined) return undefined;
  if (state.last !== now.model) return { kind: "model", before: state.last, now: now.model };
  return sent === undefined ? { kind: "system", block: 0 } : undefined;
}

/**
 * An edit since the newest reply, such as `palimpsest undo` makes: the cache entry of that reply's request no longer
 * fits. The edit either stands behind the reply and counts, or stood before it and was toggled by an undo.
 */
function findEditSinceReply({ fold }: Session): BreakCause | undefined {
  const { entries } = fold.path;
  const newest = entries.findLastIndex((entry) => entry.kind === "assistant" && !entry.synthetic);
  const repliedAt = Date.parse(entries[newest]?.timestamp ?? "");
  if (Number.isNaN(repliedAt)) return undefined;
  const [undoneThen, undoneNow] = [findUndoneEdits(entries.slice(0, newest + 1)), findUndoneEdits(entries)];
  const isToggled = entries
    .slice(0, newest)
    .some(
      (entry) => entry.kind === "edit" && isUndoable(entry) && undoneThen.has(entry.id) !== undoneNow.has(entry.id),
    );
  if (isToggled) return { kind: "edit", edit: "undo", repliedAt: millis(repliedAt) };
  const added = entries
    .slice(newest)
    .find((entry): entry is EditEntry => entry.kind === "edit" && isRewriting(entry) && !undoneNow.has(entry.id));
  return added === undefined ? undefined : { kind: "edit", edit: added.edit.type, repliedAt: millis(repliedAt) };
}

/** An offload rewrites nothing when it is made, since it precedes the first request that shows it; its undo does. */
const isUndoable = ({ edit }: EditEntry): boolean => edit.type === "offload" || isRewriting({ edit });

/** What an undo changes is described by the edit that it takes back. */
const isRewriting = ({ edit }: Pick<EditEntry, "edit">): boolean =>
  edit.type === "branch" || (edit.type !== "undo" && changesView(edit));
