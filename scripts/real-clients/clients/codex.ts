import { z } from "zod";
import type { ClientTask, RealClient } from "../client.ts";
import { parseLines } from "../parse-lines.ts";

const outputLine = z.object({
  type: z.literal("item.completed"),
  item: z.object({ type: z.literal("agent_message"), text: z.string() }),
});

const shared = {
  packages: ["@openai/codex@0.169.0"],
  installScript: "not needed",
  api: "responses",
  models: ["gpt-5.6-sol", "gpt-5"],
  // With newer models it has one tool that takes code; with older ones a function for each thing.
  shellCall: (command: string, model: string) =>
    model.startsWith("gpt-5.6")
      ? {
          name: "exec",
          input: { input: `text((await tools.exec_command({ cmd: ${JSON.stringify(command)} })).output)` },
        }
      : { name: "exec_command", input: { cmd: command } },
  caching: "not marked",
  smallWindowTokens: 30_000,
  brokenStream: "tries again",
  readAnswer: ({ stdout }: { readonly stdout: string }) => ({ text: parseLines(outputLine, stdout).at(-1)?.item.text }),
} as const;

/** With a provider of its configuration: it compacts by a request of its own. */
export const codex: RealClient = {
  ...shared,
  name: "codex",
  start: (task) => ({
    program: { kind: "bin", name: "codex" },
    args: ["exec", "--skip-git-repo-check", "--json", task.prompt],
    env: { SIMULATOR_KEY: "sk-none" },
    files: [
      {
        in: "home",
        path: ".codex/config.toml",
        content: () => `model_provider = "simulator"\n${common(task)}${ownProvider(task)}`,
      },
    ],
  }),
};

/** With its built-in provider: it asks for a WebSocket first, and the server compacts. */
export const codexBuiltIn: RealClient = {
  ...shared,
  name: "codex-built-in",
  models: ["gpt-5.6-sol"],
  start: (task) => ({
    program: { kind: "bin", name: "codex" },
    args: ["exec", "--skip-git-repo-check", "--json", task.prompt],
    env: { CODEX_API_KEY: "sk-none" },
    files: [
      {
        in: "home",
        path: ".codex/config.toml",
        content: () => `openai_base_url = "${task.baseUrl}/v1"\n${common(task)}`,
      },
    ],
  }),
};

const common = ({ model, compaction }: ClientTask): string => `model = "${model}"
approval_policy = "never"
sandbox_mode = "danger-full-access"
model_auto_compact_token_limit = ${compaction.kind === "on" ? compaction.windowTokens : 10_000_000}
[features]
plugins = false
`;

const ownProvider = ({ baseUrl }: ClientTask): string => `[model_providers.simulator]
name = "simulator"
base_url = "${baseUrl}/v1"
env_key = "SIMULATOR_KEY"
wire_api = "responses"
`;
