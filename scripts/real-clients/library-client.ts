import { z } from "zod";
import type { RealClient } from "./client.ts";
import { parseLines } from "./parse-lines.ts";

const answerLine = z.object({ answer: z.string() });

/** A library, used by a program of ours in `drivers/` that offers one tool, `bash`, and prints its answer. */
export const libraryClient = (
  client: Omit<RealClient, "installScript" | "shellCall" | "caching" | "start" | "readAnswer"> & {
    readonly driver: string;
    readonly caching?: RealClient["caching"];
  },
): RealClient => {
  const { driver, ...rest } = client;
  return {
    installScript: "not needed",
    shellCall: (command) => ({ name: "bash", input: { command } }),
    caching: "not marked",
    start: ({ baseUrl, model, prompt, compaction }) => ({
      program: { kind: "driver", name: driver },
      args: [JSON.stringify({ baseUrl, model, prompt, compaction, api: client.api })],
      env: { MASTRA_TELEMETRY_DISABLED: "1", OPENAI_AGENTS_DISABLE_TRACING: "1" },
      files: [],
    }),
    readAnswer: ({ stdout }) => ({ text: parseLines(answerLine, stdout).at(-1)?.answer }),
    ...rest,
  };
};
