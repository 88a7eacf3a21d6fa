import { z } from "zod";
import type { RealClient } from "./client.ts";
import { linesOf } from "./lines.ts";

const outputLine = z.object({ type: z.literal("result"), result: z.string(), total_cost_usd: z.number() });

export const claudeCode: RealClient = {
  name: "claude-code",
  package: "@anthropic-ai/claude-code",
  version: "2.1.325",
  program: "claude",
  // The script installs the binary for this platform.
  installScript: "needed",
  models: ["default", "claude-sonnet-4-5"],
  command: ({ url, model, prompt }) => ({
    args: ["-p", prompt, "--output-format", "json", "--allowedTools", "Bash", ...modelArgs(model)],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "sk-none",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_AUTOUPDATER: "1",
      IS_SANDBOX: "1",
    },
    files: [],
  }),
  told: (stdout) => {
    const last = linesOf(outputLine, stdout).at(-1);
    return { answer: last?.result, ...(last === undefined ? {} : { costUsd: last.total_cost_usd }) };
  },
};

const modelArgs = (model: string): readonly string[] => (model === "default" ? [] : ["--model", model]);
