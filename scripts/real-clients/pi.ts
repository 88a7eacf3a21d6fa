import { z } from "zod";
import type { RealClient } from "./client.ts";
import { linesOf } from "./lines.ts";

const outputLine = z.object({
  type: z.literal("message_end"),
  message: z.object({
    role: z.literal("assistant"),
    content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  }),
});

export const pi: RealClient = {
  name: "pi",
  package: "@mariozechner/pi-coding-agent",
  version: "0.73.1",
  program: "pi",
  installScript: "not needed",
  // For a configured model it sends thinking with a budget, which models since 4.7 refuse.
  models: ["claude-sonnet-4-5"],
  command: ({ url, model, prompt }) => ({
    args: ["--provider", "simulator", "--model", model, "--thinking", "high", "--mode", "json", "-p", prompt],
    env: { PI_OFFLINE: "1" },
    files: [{ in: "home", path: ".pi/agent/models.json", content: { providers: { simulator: provider(url, model) } } }],
  }),
  told: (stdout) => {
    const last = linesOf(outputLine, stdout).at(-1)?.message.content;
    return { answer: last?.findLast(({ text }) => text !== undefined)?.text };
  },
};

const provider = (baseUrl: string, id: string): object => ({
  baseUrl,
  api: "anthropic-messages",
  apiKey: "sk-none",
  models: [
    {
      id,
      contextWindow: 200_000,
      maxTokens: 8192,
      input: ["text"],
      reasoning: true,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    },
  ],
});
