import { expect, test } from "vitest";
import type { ModelDescription, ModelPort } from "palimpsest/internal/ports/model-port";
import { tokens } from "palimpsest/internal/schema/brand";
import { describeOnce } from "./pick-session-model.ts";

interface Question {
  readonly name: string;
  readonly signal: AbortSignal | undefined;
  readonly answer: (description: ModelDescription | undefined) => void;
}

function asked(): { questions: Question[]; port: ModelPort; close: () => Promise<unknown> } {
  const questions: Question[] = [];
  const model: ModelPort = {
    provider: "anthropic",
    send: async function* () {},
    describe: (name, signal) => {
      const { promise, resolve } = Promise.withResolvers<ModelDescription | undefined>();
      questions.push({ name, signal, answer: resolve });
      signal?.addEventListener("abort", () => resolve(undefined));
      return promise;
    },
  };
  const ending: (() => Promise<void>)[] = [];
  const onClose = (act: (last: never) => Promise<void>) => {
    ending.push(() => act(undefined as never));
    return () => undefined;
  };
  return { questions, port: describeOnce(model, { onClose }), close: () => Promise.all(ending.map((end) => end())) };
}

const large: ModelDescription = { windowTokens: tokens(320_000), capabilities: {} };

test("one question for all who want to know of a model, one more for another model", async () => {
  const { questions, port } = asked();
  const [first, second] = [port.describe("a"), port.describe("a")];
  questions[0]?.answer(large);
  expect(await Promise.all([first, second, port.describe("a")])).toEqual([large, large, large]);
  void port.describe("b");
  expect(questions.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("what was not answered is asked again", async () => {
  const { questions, port } = asked();
  const first = port.describe("a");
  questions[0]?.answer(undefined);
  expect(await first).toBeUndefined();
  const second = port.describe("a");
  questions[1]?.answer(large);
  expect(await second).toEqual(large);
});

test("the end of the session aborts the question, so that nothing waits for it", async () => {
  const { questions, port, close } = asked();
  const description = port.describe("a");
  await close();
  expect(questions[0]?.signal?.aborted).toBe(true);
  expect(await description).toBeUndefined();
});
