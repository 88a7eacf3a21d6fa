import type { WriteFailure } from "../ports/blobs.ts";
import type { EntryId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { typedText } from "../transcript/person.ts";
import { readBack } from "./read-back.ts";
import type { Session } from "./session.ts";

/** A message that a person began a turn with: where a conversation can be gone on with otherwise. */
export interface SaidMessage {
  readonly id: EntryId;
  readonly text: string;
  /** When, as the log says it. */
  readonly at: string | undefined;
  /** `covered`: a boundary stands behind it, and the view does not show it. */
  readonly state: "in-view" | "covered";
}

/** Of the path, as far as it was read, newest first. */
export function saidMessages({ fold: { path, projection } }: Session): readonly SaidMessage[] {
  const shown = new Set(projection.items.map(({ entry }) => entry));
  return path.entries.toReversed().flatMap((entry) => {
    const text = typedText(entry);
    const { id, timestamp } = entry;
    if (text === undefined || id === undefined) return [];
    return [{ id, text, at: timestamp, state: shown.has(id) ? "in-view" : "covered" } as const];
  });
}

export type Rewound =
  | {
      readonly kind: "rewound";
      /** What the person said then. */
      readonly text: string;
      /** Undoing it leads back. */
      readonly branch: EntryId | undefined;
      /** Entries of the path that are on the branch that was left. */
      readonly left: number;
    }
  /** No message of a person on the path has this id. */
  | { readonly kind: "not-said" }
  | WriteFailure;

/**
 * The conversation goes on from before a message. Nothing is deleted: what was said since stays on the branch that was
 * left, where recall finds it and an undo leads back to. Settings are the session's and come along.
 */
export async function rewind(session: Session, message: EntryId): Promise<Rewound> {
  if (!session.fold.path.has(message)) await readBack(session);
  const { path } = session.fold;
  const entries = path.entries;
  const at = entries.findIndex(({ id }) => id === message);
  const entry = entries[at];
  const text = entry === undefined ? undefined : typedText(entry);
  if (entry === undefined || text === undefined) return { kind: "not-said" };
  const from = path.leaf?.id;
  const appended = await session.appendInstead(parentOf(entry), {
    type: "branch",
    before: message,
    ...(from === undefined ? {} : { from }),
  });
  if (appended.kind === "failed") return appended;
  return { kind: "rewound", text, branch: appended.entries.at(-1), left: entries.length - at };
}

const parentOf = ({ parent, logicalParent }: Entry): EntryId | null => parent ?? logicalParent ?? null;
