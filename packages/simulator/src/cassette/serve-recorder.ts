import { serveRequests, type ServeOptions, type ServeOutcome } from "../http/serve-simulator.ts";
import type { CassettePlayer } from "./cassette-player.ts";
import type { CassetteRecorder, Upstream } from "./cassette-recorder.ts";

/**
 * Closing it ends the exchanges in progress, and waits until they are on disk too. The upstream is required: requests
 * name this server's own address, so a recorder without one would call itself.
 */
export async function serveRecorder(
  recorder: CassetteRecorder & Upstream,
  options: ServeOptions,
): Promise<ServeOutcome> {
  const serving = await serveRequests(recorder.answer, options);
  if (serving.kind === "failed") return serving;
  const close = async (): Promise<void> => {
    await serving.close();
    await recorder.idle();
  };
  return { ...serving, close };
}

export const servePlayer = (player: CassettePlayer, options: ServeOptions): Promise<ServeOutcome> =>
  serveRequests(player.answer, options);
