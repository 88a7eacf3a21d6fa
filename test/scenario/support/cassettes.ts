import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { CassettePlayer, type PlayerOptions } from "../../../packages/simulator/src/cassette/cassette-player.ts";
import {
  CassetteRecorder,
  servePlayer,
  serveRecorder,
} from "../../../packages/simulator/src/cassette/cassette-recorder.ts";
import type { ServeOutcome } from "../../../packages/simulator/src/http/serve-simulator.ts";

/** Secrets that only a header tells to be some. */
export const key = "a-key-of-no-known-shape-4711";
export const bearer = "bearer-of-no-known-shape-0815";
export const cookie = "session=cookie-of-no-known-shape-42";

export const folder = (): string => join(mkdtempSync(join(tmpdir(), "cassettes-")), "kept");

function urlOf(serving: ServeOutcome): string {
  if (serving.kind === "failed") throw new Error(serving.message);
  onTestFinished(() => serving.close());
  return serving.url;
}

export async function recording(upstream: string, into = folder()) {
  const recorder = await CassetteRecorder.open({ folder: into, upstream });
  return { folder: into, recorder, url: urlOf(await serveRecorder(recorder, { port: 0 })) };
}

export async function playerOf(options: PlayerOptions): Promise<CassettePlayer> {
  const opening = await CassettePlayer.open(options);
  if (opening.kind === "absent") throw new Error("no folder");
  return opening.player;
}

export const playingUrl = async (options: PlayerOptions): Promise<string> =>
  urlOf(await servePlayer(await playerOf(options), { port: 0 }));
