import { execFileSync } from "node:child_process";
import type { Terminal } from "../../test/terminal/terminal.ts";
import { ChatWorld, sessionTokens } from "../chat-world.ts";
import type { BenchCase, Figure } from "../measure.ts";

/** The memory of an idle chat: an empty one, and one with a long session. */
export const chatMemoryCase: BenchCase = {
  name: "chat-memory",
  run: () =>
    ChatWorld.during(async (world) => {
      const empty = await world.chat([], residentAfterTyping);
      const session = await world.session(sessionTokens);
      const long = await world.chat(["--resume", session], residentAfterTyping);
      return [
        figure("memory of an empty chat", empty),
        { ...figure("memory of a chat with a long session", long), limit: 250 },
      ];
    }),
};

/** Types a line first, so that everything that the prompt needs is loaded. */
async function residentAfterTyping(chat: Terminal): Promise<number> {
  chat.type("What was it about?");
  await chat.waitFor("What was it about?");
  const kilobytes = Number(execFileSync("ps", ["-o", "rss=", "-p", String(chat.pid)], { encoding: "utf8" }));
  return kilobytes / 1024;
}

const figure = (name: string, megabytes: number): Figure => ({
  name,
  value: megabytes,
  unit: "MB",
  detail: `resident size of the process, Node itself included; the long session has ${sessionTokens} tokens`,
});
