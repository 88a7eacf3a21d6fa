// @ts-nocheck: the packages are installed beside the copy that runs, not here.
import { query } from "@anthropic-ai/claude-agent-sdk";
import { printAnswer, task } from "./driver.ts";

/** It starts the same program as Claude Code, with the environment of this process. */
const messages = query({
  prompt: task.prompt,
  options: {
    allowedTools: ["Bash"],
    settingSources: [],
    ...(task.model === "default" ? {} : { model: task.model }),
    env: process.env,
  },
});
for await (const message of messages)
  if (message.type === "result") {
    if (message.subtype !== "success") throw new Error(message.subtype);
    printAnswer(message.result);
  }
