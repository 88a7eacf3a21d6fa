import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseAnswers } from "palimpsest/internal/layers/4-compact/facts/fact-book";
import { noUser, type UserPort, type QuestionAnswer, type QuestionPrompt } from "palimpsest/internal/ports/user-port";
import { millis, toolUseId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { askUserTool } from "./ask-user-tool.ts";
import { createReadFiles } from "palimpsest/internal/context/read-files";

const options = [{ label: "copper" }, { label: "tin", description: "soft" }];

async function asked(questions: readonly JsonObject[], answer: QuestionAnswer) {
  const asks: QuestionPrompt[] = [];
  const user: UserPort = {
    ...noUser,
    question: (ask) => {
      asks.push(ask);
      return Promise.resolve(answer);
    },
  };
  const context = { toolUse: toolUseId("t"), cwd: "/", files: createReadFiles(), now: millis(0) };
  const plan = await askUserTool({ user }).plan({ questions }, context);
  if (plan.kind === "wrong") return { asks, text: plan.message, isError: true, acts: undefined };
  const { content, isError = false } = await plan.run(new AbortController().signal);
  return { asks, text: typeof content === "string" ? content : "", isError, acts: plan.acts };
}

test("the user is asked as the agent asks, and needs no permission for it", async () => {
  const { asks, acts } = await asked([{ question: "Which?", header: "Metal", options, choose: "many" }], {
    kind: "answered",
    answers: [["copper"]],
  });
  expect(asks).toEqual([
    { toolUse: "t", questions: [{ question: "Which?", header: "Metal", options, choose: "many" }] },
  ]);
  expect(acts).toEqual([]);
});

test("a compaction finds each question with its answer", async () => {
  const { text } = await asked(
    [
      { question: "Which metal?", options },
      { question: "Left out?", options },
      { question: 'How "many"\nhands?', options },
    ],
    { kind: "answered", answers: [["copper", "but\npolished"], [" "], ['"two"']] },
  );
  expect(parseAnswers(text, "ask_user")).toEqual([
    { question: "Which metal?", answer: "copper, but polished" },
    { question: "How 'many' hands?", answer: "'two'" },
  ]);
  expect(text).toContain("1 of 3 questions unanswered");
});

test("whatever is asked and answered, no question gets another one's answer", async () => {
  const words = fc.string({ minLength: 1, maxLength: 40 }).filter((one) => one.trim() !== "");
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(words, words), { minLength: 1, maxLength: 4 }), async (pairs) => {
      const { text } = await asked(
        pairs.map(([question]) => ({ question, options })),
        { kind: "answered", answers: pairs.map(([, answer]) => [answer]) },
      );
      const plain = (one: string): string => one.trim().replaceAll('"', "'").replaceAll(/\s+/g, " ");
      expect(parseAnswers(text, "ask_user")).toEqual(
        pairs.map(([question, answer]) => ({ question: plain(question), answer: plain(answer) })),
      );
    }),
  );
});

test.each<[string, QuestionAnswer, string]>([
  ["nobody is there", { kind: "nobody" }, "Nobody is there"],
  ["they decline", { kind: "declined" }, "The user declined"],
  ["they decline with words", { kind: "declined", words: "later" }, "the user said:\nlater"],
  ["they answer nothing", { kind: "answered", answers: [] }, "The user declined"],
])("where %s it is no answer", async (_name, answer, words) => {
  const { text, isError } = await asked([{ question: "Which?", options }], answer);
  expect(isError).toBe(true);
  expect(text).toContain(words);
});

const many = (count: number) => Array.from({ length: count }, (_, at) => ({ label: `l${at}` }));

test.each<[string, readonly JsonObject[]]>([
  ["no question", []],
  ["five questions", Array.from({ length: 5 }, () => ({ question: "Which?", options }))],
  ["one option", [{ question: "Which?", options: many(1) }]],
  ["seven options", [{ question: "Which?", options: many(7) }]],
  ["an empty question", [{ question: " ", options }]],
])("%s is not asked", async (_name, questions) => {
  const { asks, isError } = await asked(questions, { kind: "nobody" });
  expect([asks, isError]).toEqual([[], true]);
});
