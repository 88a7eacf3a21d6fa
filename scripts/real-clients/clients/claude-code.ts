import { z } from "zod";
import type { ClientStart, ClientTask, OwnCompaction, RealClient } from "../client.ts";
import { parseLines } from "../parse-lines.ts";

const resultLine = z.object({ type: z.literal("result"), result: z.string(), total_cost_usd: z.number() });
const stopInput = z.object({ last_assistant_message: z.string() });

const shared = {
  packages: ["@anthropic-ai/claude-code@2.1.326"],
  // The script installs the binary for this platform.
  installScript: "needed",
  api: "messages",
  shellCall: (command: string) => ({ name: "Bash", input: { command, description: "Print something" } }),
  caching: "marked",
  // The smallest that it accepts; it compacts 33,000 tokens before it.
  smallWindowTokens: 100_000,
  brokenStream: "tries again",
  refusals: [
    {
      message: /The block is bound to a different conversation/,
      why: "after a compaction it sends the open round with its thinking, and once refused without it",
    },
  ],
} as const;

/** `claude -p`. */
export const claudeCode: RealClient = {
  ...shared,
  name: "claude-code",
  models: ["default", "claude-sonnet-4-5"],
  start: ({ prompt, model, ...task }) => ({
    program: { kind: "bin", name: "claude" },
    args: ["-p", prompt, "--output-format", "json", "--allowedTools", "Bash", ...modelArgs(model)],
    env: claudeEnv(task),
    files: [],
  }),
  readAnswer: ({ stdout }) => {
    const last = parseLines(resultLine, stdout).at(-1);
    return { text: last?.result, ...(last === undefined ? {} : { costUsd: last.total_cost_usd }) };
  },
};

const stopFile = "stopped.json";

/** The same program in a terminal. Its hook at the end of a turn says what it answered. */
export const claudeCodeTerminal: RealClient = {
  ...shared,
  name: "claude-code-terminal",
  models: ["default"],
  start: ({ prompt, model, ...task }): ClientStart => ({
    program: { kind: "bin", name: "claude" },
    args: ["--allowedTools", "Bash", ...modelArgs(model)],
    env: claudeEnv(task),
    files: [
      {
        in: "home",
        path: ".claude.json",
        // Answers to what it asks at its first start: theme, key, trust in the folder.
        content: ({ work }) => ({
          hasCompletedOnboarding: true,
          theme: "dark",
          customApiKeyResponses: { approved: [anyKey], rejected: [] },
          projects: { [work]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
        }),
      },
      {
        in: "home",
        path: ".claude/settings.json",
        content: ({ home }) => ({
          hooks: { Stop: [{ hooks: [{ type: "command", command: `cat > '${home}/${stopFile}'` }] }] },
        }),
      },
    ],
    terminal: { ready: /❯/, prompt, endFile: stopFile, exit: "/exit" },
  }),
  readAnswer: ({ endFile }) => ({ text: parseLines(stopInput, endFile).at(-1)?.last_assistant_message }),
};

const anyKey = "sk-none";

export const claudeEnv = ({
  baseUrl,
  compaction,
}: Pick<ClientTask, "baseUrl" | "compaction">): Readonly<Record<string, string>> => ({
  ANTHROPIC_BASE_URL: baseUrl,
  ANTHROPIC_API_KEY: anyKey,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
  DISABLE_AUTOUPDATER: "1",
  IS_SANDBOX: "1",
  ...compactionEnv(compaction),
});

const compactionEnv = (compaction: OwnCompaction): Readonly<Record<string, string>> =>
  compaction.kind === "off"
    ? { DISABLE_AUTO_COMPACT: "1" }
    : { CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(compaction.windowTokens) };

const modelArgs = (model: string): readonly string[] => (model === "default" ? [] : ["--model", model]);
