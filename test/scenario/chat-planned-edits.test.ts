import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { type ChatWorld, itemsOf, openChat } from "./support/chat-world.ts";
import { type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";

/** Reading the cache is so dear that a few rounds pay for a compaction, and each is announced. */
const prices = { input: 50, cacheWrite5m: 600, cacheWrite1h: 700, cacheRead: 500, output: 250 };

interface LongSession {
  readonly world: CompactionWorld;
  readonly session: SessionId;
}

/** A session that was never compacted, and is due by its price with the next message. */
async function longSession(variables: Readonly<Record<string, string>> = {}): Promise<LongSession> {
  const world = await compactionWorld({ windowTokens: 200_000, linesPerFile: 400, variables });
  await mkdir(world.home, { recursive: true });
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ models: [{ id: world.model, prices }] }));
  const agent = await world.open({ kind: "new" }, { flags: [["off", "compact.auto"], ...quiet] });
  await world.turn(agent, { text: taskText(0), rounds: 14 });
  await agent.close();
  return { world, session: agent.session.id };
}

/** Only a compaction edits the view. */
const quiet = [
  ["off", "clear.size"],
  ["off", "clear.idle"],
  ["off", "notes"],
] as const;

interface Chatted {
  readonly chat: ChatWorld;
  readonly titles: readonly string[];
}

async function resumeChat(
  { world, session }: LongSession,
  { answer, dollars }: { readonly answer?: string | undefined; readonly dollars?: string },
): Promise<Chatted> {
  const titles: string[] = [];
  const flags = [
    ["model", world.model],
    ["saving", "thrifty"],
    ...quiet,
    ...(dollars === undefined ? [] : [["ask-above-dollars", dollars] as const]),
  ] as const;
  const chat = await openChat(world, {
    opening: { session: { kind: "resume", id: session }, flags: flags.map(([flag, text]) => ({ flag, text })) },
    agent: { tools: { mode: "bypass", allow: [], deny: [] } },
    front: {
      choose: ({ title }) => {
        titles.push(title);
        return Promise.resolve(answer);
      },
    },
  });
  return { chat, titles };
}

async function say({ world }: LongSession, { chat }: Chatted, rounds: number): Promise<void> {
  world.worker.left = rounds;
  chat.handlers.submit("Go on.");
  await chat.chat.rest();
}

const kindsOf = ({ chat: { events } }: Chatted, ...kinds: readonly string[]): readonly string[] =>
  events.flatMap(({ kind }) => (kinds.includes(kind) ? [kind] : []));

describe("a resumed session whose first message would compact it because that pays", () => {
  test("is told the price first, and compacted without a question by default", async () => {
    const long = await longSession();
    const chatted = await resumeChat(long, {});
    await say(long, chatted, 1);
    expect(kindsOf(chatted, "edit-planned", "compacted", "request-start").slice(0, 3)).toEqual([
      "edit-planned",
      "compacted",
      "request-start",
    ]);
    expect(chatted.titles).toEqual([]);
    expect(itemsOf(chatted.chat.front.state).join("\n")).toMatch(
      /plain: About to compact: a summary keeps about [\d,]+ tokens out of each request, about \$[\d.]+ over the next 20, for \$[\d.]+ now\./,
    );
  });

  test.each(["not-now", undefined])(
    "stays as it is after %s, and is not asked again in the next rounds",
    async (answer) => {
      const long = await longSession();
      const chatted = await resumeChat(long, { answer, dollars: "1" });
      await say(long, chatted, 3);
      await say(long, chatted, 1);
      expect(chatted.titles).toEqual(["Do it now?"]);
      expect(kindsOf(chatted, "edit-planned", "compacted", "compaction-start")).toEqual(["edit-planned"]);
      expect(itemsOf(chatted.chat.front.state).join("\n")).toContain(
        "plain: The view stays as it is. This is not proposed again for 20 requests, unless room is needed.",
      );
      expect(chatted.chat.agents.at(-1)?.session.fold.projection.boundaries).toEqual([]);
    },
  );

  test("is compacted after yes", async () => {
    const long = await longSession();
    const chatted = await resumeChat(long, { answer: "yes", dollars: "1" });
    await say(long, chatted, 1);
    expect(chatted.titles).toHaveLength(1);
    expect(kindsOf(chatted, "edit-planned", "compacted")).toEqual(["edit-planned", "compacted"]);
  });

  test("is told and asked about once while its summary is prepared in the background", async () => {
    const long = await longSession({ PALIMPSEST_FLAG_COMPACT_BACKGROUND: "1" });
    const chatted = await resumeChat(long, { answer: "yes", dollars: "1" });
    const isCompacted = (): boolean => kindsOf(chatted, "compacted").length > 0;
    for (let turns = 0; turns < 10 && !isCompacted(); turns += 1) await say(long, chatted, 2);
    // If the summary was ready early, the rest of that turn may plan the next one.
    const kinds = kindsOf(chatted, "edit-planned", "compacted");
    expect(kinds.slice(0, 2)).toEqual(["edit-planned", "compacted"]);
    expect(chatted.titles).toHaveLength(kinds.filter((kind) => kind === "edit-planned").length);
  });

  test("is not asked about below the price that the user set", async () => {
    const long = await longSession();
    const chatted = await resumeChat(long, { answer: "not-now", dollars: "1000" });
    await say(long, chatted, 1);
    expect(chatted.titles).toEqual([]);
    expect(kindsOf(chatted, "compacted")).toEqual(["compacted"]);
  });
});
