import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { command, type CommandContext } from "../program/command.ts";
import { runDemo } from "../demo/run-demo.ts";
import { listenForKeys, fastPace, createReadingPace } from "../demo/pace.ts";
import { exitCode } from "../program/failure.ts";
import { usageFailure } from "../program/parse-arguments.ts";
import { stopSignal } from "../program/stop-signal.ts";

export const demoCommand = command({
  name: "demo",
  summary: "watch an agent fix a failing test in a window that is too small, without losing anything",
  options: {
    speed: {
      type: "string",
      shown: "reading|fast",
      summary: "the speed; reading at a terminal, unless CI or NO_COLOR is set",
    },
  },
  details: [
    "Runs without a key and without the net: real tools on a small project, a simulated model with real prices. Everything happens in a temporary folder that is removed afterwards.",
    "At a terminal any key skips to the next step, q or Ctrl-C ends it.",
    "It checks its own claims: exit code 1 if one of them fails, or if it was ended early.",
  ],
  run: async (context, { options }) => {
    const speed = options.speed ?? speedFor(context);
    if (speed !== "reading" && speed !== "fast") return usageFailure(`no speed is called ${speed}`, context.called);
    const home = await mkdtemp(join(tmpdir(), "palimpsest-demo-"));
    const stop = stopSignal();
    const keys = speed === "reading" ? listenForKeys(context.stdin) : undefined;
    const signal = keys === undefined ? stop.signal : AbortSignal.any([stop.signal, keys.quit]);
    const onHurry = (hurry: () => void): void => keys?.onHurry(hurry);
    const pace = speed === "fast" ? fastPace : createReadingPace({ sleep: pause, onHurry, stop: signal });
    try {
      const surprises = await runDemo(context, { home, pace, signal });
      return surprises === 0 ? exitCode.fine : exitCode.negative;
    } catch (error) {
      if (signal.aborted) return exitCode.negative;
      throw error;
    } finally {
      keys?.release();
      stop.release();
      await rm(home, { recursive: true, force: true, maxRetries: 3 });
    }
  },
});

const isSet = (value: string | undefined): boolean => value !== undefined && value !== "";

/** At reading speed only if the output is a terminal. */
const speedFor = ({ out, env }: CommandContext): "reading" | "fast" =>
  out.isTerminal && env["TERM"] !== "dumb" && !isSet(env["CI"]) && !isSet(env["NO_COLOR"]) ? "reading" : "fast";

const pause = (time: number, signal: AbortSignal): Promise<void> =>
  // Hurrying or stopping ends the pause; that is no failure.
  sleep(time, undefined, { signal }).catch(() => undefined);
