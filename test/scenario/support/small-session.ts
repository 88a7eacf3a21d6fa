import { appendBoundary } from "../../../packages/palimpsest/src/session/append-boundary.ts";
import type { Session, SessionDeps } from "../../../packages/palimpsest/src/session/session.ts";
import type { BoundaryInput } from "../../../packages/palimpsest/src/session/append-boundary.ts";
import { append, call, cleared, offloaded, reply, result, text, user } from "../../fixture/session.ts";

/** Every kind of byte that a reader might trip over. */
const words = 'Grüße, 世界 𝄞 \u2028 \u2029 \\ " { } \t end';

async function rounds(session: Session, from: number, to: number): Promise<void> {
  for (let round = from; round < to; round += 1) {
    await append(session, user(`Request ${round}: ${words}`));
    await append(session, reply(`msg_${round}`, text(`Step ${round}.`), call(`toolu_${round}`)));
    await append(session, result(`toolu_${round}`, `${round} ${words}\n`.repeat(4)));
    await append(session, reply(`msg_${round}_end`, text(`Done with ${round}.`)));
  }
}

/** About 20 KB: rounds, an offload, a clear, a boundary that keeps a segment, an edit and rounds behind it, a user turn last. */
export async function smallSession(deps: SessionDeps, session: Session): Promise<void> {
  await rounds(session, 0, 4);
  await append(session, user("Read the big one."), reply("msg_big", call("toolu_big")));
  for (const draft of await offloaded(deps, "toolu_big", words.repeat(200))) await append(session, draft);
  await append(session, cleared("toolu_0"));
  const kept = session.fold.projection.items.at(-2)?.entry;
  if (kept === undefined) throw new Error("the session is empty");
  await appendBoundary(deps, session, {
    summary: `The first summary. ${words}`,
    trigger: "auto",
    kept: { head: kept, tail: kept },
  });
  await rounds(session, 4, 9);
  await append(session, cleared("toolu_4"), user("And now?"));
}

/** The compaction that the crash scenarios interrupt. */
export const secondCompaction: BoundaryInput = {
  summary: `The second summary. ${words}\n`.repeat(40),
  trigger: "manual",
};
