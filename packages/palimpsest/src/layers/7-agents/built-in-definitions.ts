import type { AgentDefinition } from "./agent-definition.ts";
import { explorePrompt, generalPrompt, planPrompt } from "./prompt.ts";

const readingTools: readonly string[] = ["read", "grep", "glob", "bash", "recall", "compact"];

/** The types that exist without a file. A file of the same name replaces one. */
export const builtInDefinitions: readonly AgentDefinition[] = [
  {
    name: "explore",
    description:
      "Finds where things are in the project and how they work. Reads only. Say what you want to know and how thoroughly to look.",
    prompt: explorePrompt,
    tools: readingTools,
    permissionMode: "plan",
    source: { kind: "built-in" },
  },
  {
    name: "plan",
    description:
      "Answers with a plan for a change: steps, files, tests, open questions. Reads only. Say what must not change.",
    prompt: planPrompt,
    tools: readingTools,
    permissionMode: "plan",
    source: { kind: "built-in" },
  },
  {
    name: "general",
    description: "Carries out a task of several steps with all tools.",
    prompt: generalPrompt,
    source: { kind: "built-in" },
  },
];
