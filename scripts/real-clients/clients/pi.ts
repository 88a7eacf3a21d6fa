import { z } from "zod";
import type { ClientTask, RealClient } from "../client.ts";
import { parseLines } from "../parse-lines.ts";

const outputLine = z.object({
  type: z.literal("message_end"),
  message: z.object({
    role: z.literal("assistant"),
    content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  }),
});

export const pi: RealClient = {
  name: "pi",
  // Later versions name dependencies that are not published.
  packages: ["@earendil-works/pi-coding-agent@0.87.1"],
  installScript: "not needed",
  api: "messages",
  // For a configured model it sends thinking with a budget, which models since 4.7 refuse.
  models: ["claude-sonnet-4-5"],
  shellCall: (command) => ({ name: "bash", input: { command } }),
  caching: "marked",
  smallWindowTokens: 40_000,
  brokenStream: "tries again",
  start: (task) => ({
    program: { kind: "bin", name: "pi" },
    args: ["--provider", "simulator", "--model", task.model, "--thinking", "high", "--mode", "json", "-p", task.prompt],
    env: { PI_OFFLINE: "1" },
    files: [
      { in: "home", path: ".pi/agent/models.json", content: () => ({ providers: { simulator: provider(task) } }) },
      { in: "home", path: ".pi/agent/settings.json", content: () => ({ compaction: compactionSettings(task) }) },
    ],
  }),
  readAnswer: ({ stdout }) => {
    const last = parseLines(outputLine, stdout).at(-1)?.message.content;
    return { text: last?.findLast(({ text }) => text !== undefined)?.text };
  },
};

const compactionSettings = ({ compaction }: ClientTask): object => ({
  enabled: compaction.kind === "on",
  reserveTokens: 10_000,
  keepRecentTokens: 5_000,
});

const provider = ({ baseUrl, model: id, compaction }: ClientTask): object => ({
  baseUrl,
  api: "anthropic-messages",
  apiKey: "sk-none",
  models: [
    {
      id,
      contextWindow: compaction.kind === "on" ? compaction.windowTokens : 200_000,
      maxTokens: 8192,
      input: ["text"],
      reasoning: true,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    },
  ],
});
