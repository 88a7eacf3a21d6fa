import { z } from "zod";
import type { ClientTask, RealClient } from "../client.ts";
import { parseLines } from "../parse-lines.ts";

const outputLine = z.object({ type: z.literal("text"), part: z.object({ text: z.string() }) });

export const opencode: RealClient = {
  name: "opencode",
  packages: ["opencode-ai@1.18.33"],
  // The script installs the binary for this platform.
  installScript: "needed",
  api: "messages",
  models: ["claude-sonnet-5", "claude-opus-5-5"],
  shellCall: (command) => ({ name: "bash", input: { command, description: "Print something" } }),
  caching: "marked",
  smallWindowTokens: 60_000,
  brokenStream: "tries again",
  start: (task) => ({
    program: { kind: "bin", name: "opencode" },
    args: ["run", "--print-logs", "--format", "json", task.prompt],
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    },
    files: [{ in: "work", path: "opencode.json", content: () => config(task) }],
  }),
  readAnswer: ({ stdout }) => ({ text: parseLines(outputLine, stdout).at(-1)?.part.text }),
};

const config = ({ baseUrl, model, compaction }: ClientTask): object => ({
  model: `simulator/${model}`,
  small_model: `simulator/${model}`,
  autoupdate: false,
  share: "disabled",
  permission: { bash: "allow", edit: "allow" },
  compaction: { auto: compaction.kind === "on" },
  provider: {
    simulator: {
      npm: "@ai-sdk/anthropic",
      options: { baseURL: `${baseUrl}/v1`, apiKey: "sk-none" },
      models: {
        [model]: {
          tool_call: true,
          reasoning: true,
          limit: { context: compaction.kind === "on" ? compaction.windowTokens : 1_000_000, output: 8192 },
          options: { thinking: { type: "adaptive" }, effort: "high" },
        },
      },
    },
  },
});
