import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openTerminal, type Terminal } from "../../test/terminal/terminal.ts";
import { quantile } from "../../test/fixture/next-call.ts";
import { ChatWorld, sessionTokens } from "../chat-world.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";

/** Without blanks, which cannot be seen on the screen. */
const line = "sphinx-of-black-quartz-judge-my-vow";
const rounds = 8;
/** Between two keys: users rarely type faster, and a pending frame would count for the next key. */
const keyMillis = 40;
/** One frame at 60 Hz. */
const limitMillis = 16;
/** The streaming reply is a single list, which is the most expensive to draw; keys are measured once it has this many items. */
const [itemsBefore, items] = [750, 3_000];
const itemOf = (at: number): string => `- item ${at} of a list that goes on and on`;

/**
 * The time from a key's byte to the cell that shows it, with a long session open, when idle and while a reply streams.
 * Alternates with the terminal's own echo.
 */
export const typingCase: BenchCase = {
  name: "typing",
  run: () =>
    ChatWorld.during(async (world) => {
      const session = await world.session(sessionTokens);
      const echo = openTerminal({ command: "cat", cwd: world.work });
      try {
        const still = await world.chat(["--resume", session], (chat) => measured(chat, { echo, times: rounds }));
        const scenario = await longReply(world);
        const streaming = await world.chat(["--resume", session, "--scenario", scenario], async (chat) => {
          chat.type("Count.");
          chat.press("enter");
          await chat.waitFor(`item ${itemsBefore} `, { withinMillis: 60_000 });
          return await measured(chat, { echo, times: rounds / 2 });
        });
        return [...figures("a key to its cell", still), ...figures("the same while a long list streams", streaming)];
      } finally {
        await echo.close();
      }
    }),
};

async function longReply(world: ChatWorld): Promise<string> {
  const path = join(world.work, "long-reply.yaml");
  const text = Array.from({ length: items }, (_, at) => itemOf(at + 1)).join("\n");
  await writeFile(path, `name: a long list\nmoves:\n  - pauseMs: 3\n    text: ${JSON.stringify(text)}\nafter: echo\n`);
  return path;
}

interface Measured {
  readonly ours: readonly number[];
  readonly peers: readonly number[];
}

async function measured(
  chat: Terminal,
  { echo, times }: { readonly echo: Terminal; readonly times: number },
): Promise<Measured> {
  const ours: number[] = [];
  const peers: number[] = [];
  for (let round = 0; round < times; round += 1) {
    ours.push(...(await typed(chat)));
    peers.push(...(await typed(echo)));
  }
  return { ours, peers };
}

/** Types a line and removes it again. */
async function typed(terminal: Terminal): Promise<readonly number[]> {
  const millis: number[] = [];
  for (let at = 0; at < line.length; at += 1) {
    const soFar = line.slice(0, at + 1);
    const from = performance.now();
    terminal.type(line.charAt(at));
    await terminal.waitFor((screen) => screen.some((shown) => shown.includes(soFar)));
    millis.push(performance.now() - from);
    await pause(keyMillis);
  }
  terminal.press("ctrl+u");
  await terminal.waitFor((screen) => !screen.some((shown) => shown.includes(line)));
  return millis;
}

function figures(what: string, { ours, peers }: Measured): readonly Figure[] {
  const detail = `${ours.length} keys, one each ${keyMillis} ms, ${sessionTokens} tokens open; the terminal's own echo ${median(peers).toFixed(2)} ms`;
  const figure = (name: string, value: number): Figure => ({ name, value, unit: "ms", detail });
  return [
    { ...figure(`${what}, median`, median(ours)), limit: limitMillis },
    { ...figure(`${what}, 95 of 100`, quantile(ours, 0.95)), limit: limitMillis },
    figure(`${what}, slowest`, Math.max(...ours)),
  ];
}
