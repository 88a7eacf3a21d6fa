import type { EntryId } from "../schema/brand.ts";
import type { Session } from "./session.ts";

type ReadSession = Pick<Session, "fold" | "read" | "readWhole">;

/** Is it on the path, also before the boundary that the fold begins with? */
export async function isOnPath(session: ReadSession, entry: EntryId): Promise<boolean> {
  if (session.fold.path.has(entry)) return true;
  return session.read.from === "boundary" && (await session.readWhole())?.fold.path.has(entry) === true;
}

/** The session holds all of its path from here on, until a boundary or a change of branch. */
export async function readBack(session: ReadSession & Pick<Session, "adoptLog">): Promise<void> {
  const whole = session.read.from === "boundary" ? await session.readWhole() : undefined;
  if (whole !== undefined) session.adoptLog(whole);
}
