import { PassThrough } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { createOutput } from "../program/output.ts";
import { runDemo } from "./run-demo.ts";
import type { Pace } from "./pace.ts";

it("stopped, what runs beside it fails without anybody having to listen", async () => {
  const unheard: unknown[] = [];
  const hear = (reason: unknown): void => void unheard.push(reason);
  process.on("unhandledRejection", hear);
  onTestFinished(() => void process.off("unhandledRejection", hear));
  const stream = new PassThrough();
  stream.resume();
  // The work itself is slow to hear of it: by then the one beside it has long failed.
  const slow: Pace = { startStep: () => {}, pauseForReading: () => pause(2_000) };
  const demo = runDemo({ out: createOutput(stream, {}) } as never, {
    home: await temporaryFolder(),
    pace: slow,
    signal: AbortSignal.abort(),
  });
  await expect(demo).rejects.toThrow("aborted");
  expect(unheard).toEqual([]);
});
