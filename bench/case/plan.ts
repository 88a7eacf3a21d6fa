import type { BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { ClearToolUsesEdit, countTokensApproximately } from "langchain";
import { langChainMessages, trimmed } from "../langchain.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";
import { type PlannedOptions, type PlannedRound, PlannedSession } from "../planned-session.ts";

const rounds = 300;
const warmRounds = 300;
const peerRuns = 15;

/** What planning adds to a turn, at growing sizes, compared with what others do to fit a conversation into a window. */
export const planCase: BenchCase = {
  name: "plan",
  run: async () => {
    const [small, middle, large, keeping, keepingLarge] = measureInTurn([
      { policy: "default", sizeTokens: 200_000 },
      { policy: "default", sizeTokens: 500_000 },
      { policy: "default", sizeTokens: 1_000_000 },
      { policy: "keeps-all", sizeTokens: 200_000 },
      { policy: "keeps-all", sizeTokens: 1_000_000 },
    ]);
    return [
      ...ownFigures({ small, middle, large }),
      keepingFigure({ small: keeping, large: keepingLarge }),
      ...(await peerFigures(small)),
    ];
  },
};

/** Times in microseconds. */
interface Measured {
  readonly session: PlannedSession;
  readonly plan: readonly number[];
  readonly inventory: readonly number[];
  readonly conditions: string;
}

type Each<Options extends readonly PlannedOptions[]> = { readonly [At in keyof Options]: Measured };

/** Runs one round of each in turn, so that other load of the machine affects all of them. */
function measureInTurn<const Options extends readonly PlannedOptions[]>(options: Options): Each<Options> {
  const sessions = options.map((each) => ({ session: new PlannedSession(each), results: new Array<PlannedRound>() }));
  for (let round = 0; round < warmRounds; round += 1) for (const { session } of sessions) session.round();
  for (let round = 0; round < rounds; round += 1)
    for (const { session, results } of sessions) results.push(session.round());
  return sessions.map(measured) as unknown as Each<Options>;
}

function measured({
  session,
  results,
}: {
  readonly session: PlannedSession;
  readonly results: readonly PlannedRound[];
}): Measured {
  const plan = results.map(({ planMillis }) => 1_000 * planMillis);
  const inventory = results.map(({ inventoryMillis }) => 1_000 * inventoryMillis);
  const acted = results.filter(({ did }) => did === "something").length;
  const conditions = `median ${median(plan).toFixed(1)} µs, 90th percentile ${percentile90(plan).toFixed(1)} µs, of ${rounds} rounds in turn, ${acted} of which cleared; ${session.residents} residents`;
  return { session, plan, inventory, conditions };
}

function ownFigures({ small, middle, large }: Readonly<Record<"small" | "middle" | "large", Measured>>): Figure[] {
  return [
    {
      name: "planning a turn at 200K tokens, median",
      value: median(small.plan),
      unit: "µs",
      limit: 50,
      detail: `state and the layers of the default policy: ${small.conditions}`,
    },
    {
      name: "planning a turn, 1M tokens over 200K, medians",
      value: median(large.plan) / median(small.plan),
      unit: "×",
      limit: 1.5,
      detail: `1M: ${large.conditions}; 500K: ${middle.conditions}`,
    },
    {
      name: "keeping the inventory, for an appended round at 200K tokens, median",
      value: median(small.inventory),
      unit: "µs",
      detail: `1M: ${median(large.inventory).toFixed(1)} µs; a reply of 200 and a result of 312 characters at the median, both counted and searched for quotations`,
    },
  ];
}

function keepingFigure({ small, large }: Readonly<Record<"small" | "large", Measured>>): Figure {
  return {
    name: "planning a turn, 1M tokens over 200K, where nothing ever pays and everything stays",
    value: median(large.plan) / median(small.plan),
    unit: "×",
    limit: 1.5,
    detail: `200K: ${small.conditions}; 1M: ${large.conditions}`,
  };
}

/** What others do with a conversation that has outgrown its window, on our messages. */
async function peerFigures({ session, plan, inventory }: Measured): Promise<readonly Figure[]> {
  const messages = session.messages.flatMap(langChainMessages);
  const trimming = median(await peerMicros({ messages, act: (some) => trimmed(some, 150_000), runs: peerRuns }));
  const clearing = median(await peerMicros({ messages, act: clearToolUses, runs: 1 }));
  await clearToolUses(messages);
  const looking = median(await peerMicros({ messages, act: clearToolUses, runs: peerRuns }));
  const ours = median(plan);
  const against = (peer: number): string =>
    `${ours.toFixed(1)} µs (with keeping the inventory ${(ours + median(inventory)).toFixed(1)}) against ${peer.toFixed(0)} µs`;
  return [
    {
      name: "planning a turn at 200K tokens over LangChain's trimMessages, medians",
      value: (100 * ours) / trimming,
      unit: "%",
      limit: 1,
      detail: `${against(trimming)} to trim ${messages.length} messages to 150K tokens, a quarter of the characters as count`,
    },
    {
      name: "planning a turn at 200K tokens over LangChain's context editing, medians",
      value: (100 * ours) / looking,
      unit: "%",
      limit: 1,
      detail: `${against(looking)} for ClearToolUsesEdit as it comes (from 100K tokens, all but 3 results, its own approximate count) to find that nothing of ${messages.length} messages is left to clear; the clearing before took ${(clearing / 1_000).toFixed(0)} ms`,
    },
  ];
}

type PeerAct = (messages: BaseMessage[]) => Promise<unknown>;

interface PeerRuns {
  readonly messages: readonly BaseMessage[];
  readonly act: PeerAct;
  readonly runs: number;
}

/** Each run gets a copy, because some peers change the list. */
async function peerMicros({ messages, act, runs }: PeerRuns): Promise<readonly number[]> {
  const took: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const copy = [...messages];
    const start = performance.now();
    await act(copy);
    took.push(1_000 * (performance.now() - start));
  }
  return took;
}

/** What its `contextEditingMiddleware()` does before every model call. */
const clearToolUses: PeerAct = (messages) =>
  new ClearToolUsesEdit().apply({ messages, model: noModel, countTokens: countTokensApproximately });

/** Only used if the trigger is a share of the model's window. */
const noModel = new FakeListChatModel({ responses: [] });

const percentile90 = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(0.9 * values.length)] ?? NaN;
