import { expect, it } from "vitest";
import { say, user } from "../../../../../test/fixture/session.ts";
import {
  type ClearingAgent,
  type ClearingWorld,
  clearingWorld,
} from "../../../../../test/scenario/support/clearing-world.ts";
import type { Layer } from "../../layers/layer.ts";
import { tokens } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { formatCleared } from "@palimpsest/cli/internal/tui/text/event-lines";
import { pastReceipts, type RecordedEdit } from "../../session/past-receipts.ts";
import { undo } from "../../session/undo.ts";
import { runLayers } from "./run-layers.ts";

/** Made up: whatever the first two entries said, one line stands for it. It knows nothing of the runner but its interface. */
const foldFirst: Layer = {
  name: "fold-first",
  switches: ["collapse"],
  propose({ items, pins, isOn }) {
    const [first, second] = items;
    if (!isOn("collapse") || first === undefined || second === undefined || pins.has(first.entry)) return undefined;
    const because = "the first two are old";
    return {
      layer: "fold-first",
      removesTokens: 10,
      behindTokens: 0,
      because,
      results: [],
      async *run(host) {
        const put = await host.blobs.put(new TextEncoder().encode("saved first"));
        yield { kind: "warning", code: "made-up", message: put.kind };
        const span = { from: first.entry, to: second.entry };
        const draft = { type: "collapse", span, shown: "Two things were said.", because };
        return yield* host.edit({ draft, what: "fold", count: 2, nature: "summarised" });
      },
    };
  },
};

async function run({ deps, conversation }: ClearingAgent): Promise<readonly LoopEvent[]> {
  const events: LoopEvent[] = [];
  const { signal } = new AbortController();
  for await (const event of runLayers(deps, { conversation, opens: "turn", signal })) events.push(event);
  return events;
}

async function receiptsOf({ deps }: ClearingWorld, { session }: ClearingAgent): Promise<readonly RecordedEdit[]> {
  const source = await deps.transcripts.openForReading(session.id);
  if (source === undefined) throw new Error("the session has no log");
  try {
    return await pastReceipts(session.fold, source);
  } finally {
    await source.close();
  }
}

const shown = ({ session }: ClearingAgent): string => JSON.stringify(session.view().messages);

interface Spoken {
  readonly layers?: readonly Layer[];
  readonly flag?: "on" | "off";
}

async function spoken(world: ClearingWorld, { layers = [foldFirst], flag = "on" }: Spoken = {}) {
  const flags = [
    ["policy", "none"],
    [flag, "collapse"],
  ] as const;
  const agent = await world.agent("create", { flags, parts: { layers } });
  for (const words of ["One.", "Two.", "Three."]) await say(agent.session, user(words));
  return agent;
}

it("a layer that only the list names saves, edits, tells and leaves its receipt, once before a request", async () => {
  const world = clearingWorld();
  const agent = await spoken(world);
  const events = await run(agent);
  expect(events).toMatchObject([
    { kind: "warning", message: "stored" },
    { kind: "cleared", what: "fold", count: 2, trigger: "fold-first", because: "the first two are old" },
  ]);
  const [, cleared] = events;
  expect(cleared?.kind === "cleared" && formatCleared(cleared)).toMatch(/^Edited 2 messages: /);
  expect(shown(agent)).toContain("Two things were said.");
  expect(shown(agent)).not.toContain("One.");
  const recorded = await receiptsOf(world, agent);
  expect(recorded).toMatchObject([
    { kind: "collapse", state: "in force", cause: "fold-first", because: "the first two are old", undoes: true },
  ]);
  expect(recorded[0]?.receipt).toBeDefined();
});

it("its edit is undone like any other, and what was brought back is pinned for it", async () => {
  const world = clearingWorld();
  const agent = await spoken(world);
  const before = shown(agent);
  await run(agent);
  const undone = await undo(agent.session, { mode: "path", blockingTokens: tokens(100_000), thinking: "free" });
  expect(undone).toMatchObject({ kind: "undone" });
  expect(shown(agent)).toBe(before);
  expect(await run(agent)).toEqual([]);
});

it("its switch turns it off, and without a place in the list it does nothing", async () => {
  const world = clearingWorld();
  const agent = await spoken(world, { flag: "off" });
  expect(await run(agent)).toEqual([]);
  const other = await spoken(clearingWorld(), { layers: [] });
  expect(await run(other)).toEqual([]);
});

it("what it leaves to the server by rule is asked with its requests, once the server says what it offers", async () => {
  const asks: Layer = {
    ...foldFirst,
    propose: () => undefined,
    server: {
      offer: "made-up",
      isOffered: () => true,
      isWanted: () => true,
      optionsByRule: ({ offers }) => ({
        params: { metadata: { user_id: offers?.has("made-up") === true ? "offered" : "unknown" } },
        betas: [],
      }),
    },
  };
  const world = clearingWorld();
  const agent = await spoken(world, { layers: [asks] });
  await agent.turn("Hello.");
  expect(world.seen.at(-1)?.body["metadata"]).toEqual({ user_id: "offered" });
  expect(agent.conversation.cache?.server.asked?.params).toEqual({ metadata: { user_id: "offered" } });
});
