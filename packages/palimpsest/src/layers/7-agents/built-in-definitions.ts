import type { AgentDefinition } from "./agent-definition.ts";
import { explorePrompt, generalPrompt, planPrompt } from "./prompt.ts";

const readingTools: readonly string[] = ["read", "grep", "glob", "bash", "recall", "compact"];

/** The types that exist without a file. A file of the same name replaces one. */
export const builtInDefinitions: readonly AgentDefinition[] = [
  {
    name: "explore",
    description:
      "Finds things in the project and says where they are: files, code, how something works. Reads only. Say what you want to know and how thoroughly to look.",
    prompt: explorePrompt,
    tools: readingTools,
    permissionMode: "plan",
    source: { kind: "built-in" },
  },
  {
    name: "plan",
    description:
      "Works out how a change should be made and answers with a plan: steps, files, tests, open questions. Reads only. Say what is to be achieved and what must stay as it is.",
    prompt: planPrompt,
    tools: readingTools,
    permissionMode: "plan",
    source: { kind: "built-in" },
  },
  {
    name: "general",
    description:
      "Carries out a task with all tools and reports what it did. For work of several steps that would fill the conversation, or that can run beside it.",
    prompt: generalPrompt,
    source: { kind: "built-in" },
  },
];
