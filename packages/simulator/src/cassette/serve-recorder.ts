import { serveRequests, type ServeOptions, type ServeOutcome } from "../http/serve-simulator.ts";
import type { CassettePlayer } from "./cassette-player.ts";
import type { CassetteRecorder, Upstream } from "./cassette-recorder.ts";

/**
 * Closing it ends what is under way, and waits until that is on disk too. Requests name this server's own address, so that
 * a recorder without an upstream would ask itself.
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
