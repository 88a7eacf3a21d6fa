import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command } from "../command.ts";
import { runDemo } from "../demo/demo.ts";
import { exitCode } from "../exit-code.ts";
import { stopSignal } from "../until-stopped.ts";

export const demoCommand = command({
  name: "demo",
  summary: "watch an agent work in a window that is too small, and nothing being lost",
  details: [
    "Runs without a key: real tools on a small project, a simulated model with real prices. Everything happens in a folder of its own that is removed afterwards.",
    "What it claims it compares: exit code 1 where something did not come out.",
  ],
  run: async (context) => {
    const home = await mkdtemp(join(tmpdir(), "palimpsest-demo-"));
    const stop = stopSignal();
    try {
      const surprises = await runDemo(context, { home, signal: stop.signal });
      return surprises === 0 ? exitCode.fine : exitCode.negative;
    } catch (error) {
      if (stop.signal.aborted) return exitCode.negative;
      throw error;
    } finally {
      stop.release();
      await rm(home, { recursive: true, force: true });
    }
  },
});
