import { existsSync } from "node:fs";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { SessionRemover } from "palimpsest/internal/session/delete-sessions";
import type { askGateway, FoundGateway } from "./gateway-place.ts";

/**
 * Removes what the gateway of this home keeps of deleted sessions: how it recognises them, which tools it defers in them, and
 * histories of clients that send only what is new. A running gateway does it itself; one that does not answer is asked again by the next deletion.
 */
export const gatewayRemover = (home: string): SessionRemover => ({
  name: "gateway",
  describe: () => Promise.resolve(undefined),
  remove: async (sessions) => {
    // Loaded only if it is needed: most homes have no gateway, and every command opens a store.
    const place = await import("./gateway-place.ts");
    if (!existsSync(place.gatewayFolder(home))) return undefined;
    const found = await place.findGateway(home);
    if (found.kind === "running") return await askToForget(place.askGateway, found, sessions);
    if (found.kind !== "absent") return failed(found.message);
    const hold = await place.holdPlace(home);
    if (hold.kind !== "held") return failed(hold.message);
    try {
      const { forgetSessions } = await import("@palimpsest/gateway/internal/conversation/forget-sessions");
      await forgetSessions(home, sessions);
      return undefined;
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error));
    } finally {
      await hold.release();
    }
  },
});

async function askToForget(
  ask: typeof askGateway,
  gateway: FoundGateway,
  sessions: readonly SessionId[],
): Promise<WriteFailure | undefined> {
  for (let at = 0; at < sessions.length; at += askedTogetherMax) {
    const query = sessions.slice(at, at + askedTogetherMax).map((id) => `session=${encodeURIComponent(id)}`);
    const answer = await ask({ ...gateway, path: `/palimpsest/forget?${query.join("&")}`, method: "POST" });
    if (answer?.status === 409)
      return failed(`the gateway at ${gateway.url} is answering a request of one of them; try again when it has ended`);
    if (answer?.status !== 200) return failed(`the gateway at ${gateway.url} could not remove what it keeps`);
  }
  return undefined;
}

/** A request line of the gateway has 8,192 characters at most. */
const askedTogetherMax = 100;

const failed = (message: string): WriteFailure => ({ kind: "failed", why: "io", message });
