import { type Baseline, type FrozenParts, makeBaseline } from "../cache/baseline.ts";
import type { BreakCause } from "../cache/break-detector.ts";
import { storeError } from "../context/context-error.ts";
import { applyFixedPart } from "../context/conversation.ts";
import { type FrozenState, readFrozenParts, readFrozenState, frozenStateDraft } from "../session/frozen-state.ts";
import type { Session, SessionDeps } from "../session/session.ts";

export interface FrozenPrefix {
  readonly baseline: Baseline;
  /** Why no request so far has this prefix; undefined if there was none, or if the last one had it. */
  readonly moved: BreakCause | undefined;
}

/** Fixes the prefix for the requests from now on, and records it for the next time the session is opened. */
export async function freezePrefix(
  { blobs }: Pick<SessionDeps, "blobs">,
  { session, parts }: { readonly session: Session; readonly parts: FrozenParts },
): Promise<FrozenPrefix> {
  const state = readFrozenState(session.fold);
  const sent = await readFrozenParts({ blobs }, state?.byModel[parts.model]?.sent);
  const moved = state === undefined ? undefined : findPrefixChange(state, { sent, parts });
  if (state === undefined || moved !== undefined) {
    const put = await blobs.put(new TextEncoder().encode(JSON.stringify(parts)));
    if (put.kind === "failed") throw storeError(put);
    const byModel = { ...state?.byModel, [parts.model]: { sent: put.id, told: put.id } };
    const appended = await session.append(frozenStateDraft({ last: parts.model, byModel }));
    if (appended.kind === "failed") throw storeError(appended);
  }
  const baseline = makeBaseline(parts);
  applyFixedPart(session, { baseline });
  return { baseline, moved };
}

function findPrefixChange(
  state: FrozenState,
  { sent, parts }: { readonly sent: FrozenParts | undefined; readonly parts: FrozenParts },
): BreakCause | undefined {
  if (state.last !== parts.model) return { kind: "model", before: state.last, now: parts.model };
  if (sent === undefined) return { kind: "system", block: 0 };
  const names = listChangedTools(sent, parts);
  if (!isSame(sent.tools, parts.tools)) return { kind: "tools", names };
  if (!isSame(sent.thinking, parts.thinking)) return { kind: "thinking" };
  const block = parts.system.findIndex((part, at) => !isSame(part, sent.system[at]));
  if (block !== -1) return { kind: "system", block };
  return sent.system.length === parts.system.length ? undefined : { kind: "system", block: parts.system.length };
}

/** Names of tools that were added, removed or redefined. */
function listChangedTools(sent: FrozenParts, parts: FrozenParts): readonly string[] {
  const before = new Set(sent.tools.map((tool) => JSON.stringify(tool)));
  const after = new Set(parts.tools.map((tool) => JSON.stringify(tool)));
  const changed = [...sent.tools, ...parts.tools].filter((tool) => {
    const json = JSON.stringify(tool);
    return !before.has(json) || !after.has(json);
  });
  return [...new Set(changed.map(({ name }) => name))];
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
