import type { RealClient } from "../client.ts";
import { libraryClient } from "../library-client.ts";
import { claudeCode, claudeEnv } from "./claude-code.ts";

const zod = "zod@4.6.7";
const smallWindowTokens = 30_000;

/** It is Claude Code behind an interface for programs. */
const agentSdk = libraryClient({
  name: "claude-agent-sdk",
  driver: "claude-agent-sdk",
  packages: ["@anthropic-ai/claude-agent-sdk@0.3.326", zod],
  api: "messages",
  models: ["default"],
  caching: "marked",
  smallWindowTokens: claudeCode.smallWindowTokens ?? 0,
  brokenStream: "tries again",
  refusals: claudeCode.refusals ?? [],
});

const claudeAgentSdk: RealClient = {
  ...agentSdk,
  shellCall: claudeCode.shellCall,
  start: (task) => {
    const start = agentSdk.start(task);
    return { ...start, env: { ...start.env, ...claudeEnv(task) } };
  },
};

const anthropicSdk = libraryClient({
  name: "anthropic-sdk",
  driver: "anthropic-sdk",
  packages: ["@anthropic-ai/sdk@1.9.0", zod],
  api: "messages",
  models: ["claude-opus-5-5"],
  smallWindowTokens,
  brokenStream: "gives up",
  refusals: [
    {
      message: /^thread: not supported together/,
      why: "threads take no thinking; it then sends the whole conversation",
    },
  ],
});

const openAiChat = libraryClient({
  name: "openai-chat",
  driver: "openai-sdk",
  packages: ["openai@7.55.0", zod],
  api: "chat",
  models: ["gpt-5.6-sol", "gpt-4o"],
  brokenStream: "gives up",
});

const openAiResponses = libraryClient({
  name: "openai-responses",
  driver: "openai-sdk",
  packages: ["openai@7.55.0", zod],
  api: "responses",
  models: ["gpt-5.6-sol", "gpt-5"],
  smallWindowTokens,
  brokenStream: "gives up",
});

const aiSdk = libraryClient({
  name: "ai-sdk",
  driver: "ai-sdk",
  packages: ["ai@7.0.170", "@ai-sdk/anthropic@4.0.102", zod],
  api: "messages",
  models: ["claude-sonnet-5"],
  caching: "marked",
  smallWindowTokens,
  brokenStream: "gives up",
});

const langchain = libraryClient({
  name: "langchain",
  driver: "langchain",
  packages: ["langchain@1.5.14", "@langchain/core@1.2.13", "@langchain/anthropic@1.5.11", zod],
  // Newer ones name dependencies that are not published.
  overrides: {
    "@langchain/langgraph": "1.4.18",
    "@langchain/langgraph-checkpoint": "1.1.5",
    "@langchain/langgraph-sdk": "1.12.0",
    "@langchain/protocol": "0.0.19",
  },
  api: "messages",
  models: ["claude-sonnet-5"],
  smallWindowTokens,
  brokenStream: "gives up",
});

const mastra = libraryClient({
  name: "mastra",
  driver: "mastra",
  packages: ["@mastra/core@1.71.0", "@mastra/memory@1.31.0", "@mastra/libsql@1.23.1", "@ai-sdk/anthropic@4.0.102", zod],
  api: "messages",
  models: ["claude-sonnet-5"],
  smallWindowTokens,
  brokenStream: "gives up",
});

const openAiAgents = libraryClient({
  name: "openai-agents",
  driver: "openai-agents",
  packages: ["@openai/agents@0.20.0", "openai@7.55.0", zod],
  api: "responses",
  models: ["gpt-5.6-sol", "gpt-5"],
  smallWindowTokens,
  brokenStream: "gives up",
});

export const libraries: readonly RealClient[] = [
  claudeAgentSdk,
  anthropicSdk,
  openAiChat,
  openAiResponses,
  aiSdk,
  langchain,
  mastra,
  openAiAgents,
];
