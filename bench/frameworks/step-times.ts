import { getPreset } from "../../packages/palimpsest/src/policy/policy-catalogue.ts";
import { median } from "../measure.ts";
import { readFileText } from "./task.ts";

/** One way of taking a step: a request with a list that has grown by the last reply and a message of 2,600 characters. */
export interface StepSubject {
  readonly framework: string;
  readonly way: string;
  readonly kind: "plain" | "own" | "ours";
  readonly step: () => Promise<void>;
  readonly close?: () => Promise<void>;
}

export interface StepTime {
  readonly framework: string;
  readonly way: string;
  readonly kind: StepSubject["kind"];
  /** The first step, with a list of which nothing is known yet. */
  readonly firstMs: number;
  readonly stepMs: number;
  /** What it adds to the framework's own step. */
  readonly addedMs: number;
}

/** Far away, so that nothing is removed: what is measured is what a step costs in which nothing happens. */
export const farTokens = 800_000;
/** Ours, without clearing: it would clear what is old in the first step, because that costs nothing in a cold cache. */
export const quietOptions = {
  contextTokens: farTokens,
  policy: { ...getPreset("palimpsest"), name: "quiet", clear: {} },
};
/** Calls with their results at the beginning: some 200,000 tokens. */
const roundsBefore = 245;
const steps = 25;
const warmUpSteps = 5;

/** Medians of the steps of one framework's ways, taken in turn. The first way is the framework as it is. */
export async function measureSteps(subjects: readonly StepSubject[]): Promise<readonly StepTime[]> {
  const timesBySubject = new Map(subjects.map((subject): [StepSubject, number[]] => [subject, []]));
  for (let round = 0; round < warmUpSteps + steps; round += 1)
    for (const [subject, times] of timesBySubject) {
      const start = performance.now();
      await subject.step();
      times.push(performance.now() - start);
    }
  for (const { close } of subjects) await close?.();
  const [plain] = timesBySubject.values();
  const plainMs = median(plain?.slice(warmUpSteps) ?? []);
  return [...timesBySubject].map(([{ framework, way, kind }, times]) => {
    const stepMs = median(times.slice(warmUpSteps));
    return { framework, way, kind, firstMs: times[0] ?? NaN, stepMs, addedMs: stepMs - plainMs };
  });
}

/** The list at the beginning, in a framework's own form. */
export const earlierRounds = <Message>(round: (at: number) => readonly Message[]): Message[] =>
  Array.from({ length: roundsBefore }, (_, at) => round(at)).flat();

export const resultText = (round: number): string => readFileText(`src/file_${round * 4 + 1}.ts`).slice(0, 2_600);

/** An API that takes no time, so that only the client's side is measured. */
export function instantFetch(reply: object): typeof fetch {
  const body = JSON.stringify(reply);
  return () => Promise.resolve(new Response(body, { headers: { "content-type": "application/json" } }));
}

/** What every reply says. */
export const replyText = "I go on.";

export const messagesReply = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-5-5",
  content: [{ type: "text", text: replyText }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 200_000, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
};
