import { z } from "zod";
import type { RealClient } from "./client.ts";
import { linesOf } from "./lines.ts";

const outputLine = z.object({ type: z.literal("text"), part: z.object({ text: z.string() }) });

export const opencode: RealClient = {
  name: "opencode",
  package: "opencode-ai",
  version: "1.18.33",
  program: "opencode",
  // The script installs the binary for this platform.
  installScript: "needed",
  models: ["claude-sonnet-5", "claude-opus-5-5"],
  command: ({ url, model, prompt }) => ({
    args: ["run", "--print-logs", "--format", "json", prompt],
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    },
    files: [{ in: "work", path: "opencode.json", content: config(url, model) }],
  }),
  told: (stdout) => ({ answer: linesOf(outputLine, stdout).at(-1)?.part.text }),
};

const config = (url: string, model: string): object => ({
  model: `simulator/${model}`,
  small_model: `simulator/${model}`,
  autoupdate: false,
  share: "disabled",
  permission: { bash: "allow", edit: "allow" },
  provider: {
    simulator: {
      npm: "@ai-sdk/anthropic",
      options: { baseURL: `${url}/v1`, apiKey: "sk-none" },
      models: {
        [model]: {
          tool_call: true,
          reasoning: true,
          limit: { context: 200_000, output: 8192 },
          options: { thinking: { type: "adaptive" }, effort: "high" },
        },
      },
    },
  },
});
