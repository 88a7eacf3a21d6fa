import { execFileSync } from "node:child_process";
import type { Terminal } from "../../test/terminal/terminal.ts";
import { ChatWorld, sessionTokens } from "../chat-world.ts";
import type { BenchCase, Figure } from "../measure.ts";

/** What a chat takes while nothing happens in it: with nothing said yet, and with a long session open. */
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

/** A line has been typed: everything that a prompt needs is loaded. */
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
