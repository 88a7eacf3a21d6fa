import { openTerminal, type Terminal } from "../../test/terminal/terminal.ts";
import { isPromptShown } from "../../test/terminal/chat-program.ts";
import { ChatWorld } from "../chat-world.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";

const repeats = 9;

/** From the start of the process until the editor is on the screen, alternating with a Node that only prints. */
export const startCase: BenchCase = {
  name: "start",
  run: () =>
    ChatWorld.during(async (world) => {
      // The first one fills the compile cache when it exits: later starts are measured with a warm disk cache.
      await world.chat([], leave);
      const bare = (): Terminal =>
        openTerminal({ command: process.execPath, args: ["-e", "process.stdout.write('up')"], cwd: world.work });
      const ours: number[] = [];
      const peers: number[] = [];
      for (let at = 0; at < repeats; at += 1) {
        peers.push(await startMillis(bare, (screen) => screen[0] === "up"));
        ours.push(await startMillis(() => world.start(), isPromptShown));
      }
      return figures(ours, peers);
    }),
};

async function leave(chat: Terminal): Promise<void> {
  chat.press("ctrl+d");
  await chat.exited;
}

async function startMillis(start: () => Terminal, isUp: (screen: readonly string[]) => boolean): Promise<number> {
  const from = performance.now();
  const terminal = start();
  try {
    await terminal.waitFor(isUp);
    return performance.now() - from;
  } finally {
    await terminal.close();
  }
}

function figures(ours: readonly number[], peers: readonly number[]): readonly Figure[] {
  const [chat, peer] = [median(ours), median(peers)];
  const detail = `${repeats} processes each, in turn, on a pseudo-terminal; slowest ${Math.max(...ours).toFixed(0)} ms`;
  return [
    { name: "start of the chat to its first prompt", value: chat, unit: "ms", limit: 400, detail },
    {
      name: "the same, over a Node that only prints",
      value: chat / peer,
      unit: "×",
      detail: `node -e: ${peer.toFixed(0)} ms`,
    },
  ];
}
