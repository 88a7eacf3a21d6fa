import { z } from "zod";
import type { UserPort, Question } from "palimpsest/internal/ports/user-port";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tool";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import { defineTool, toolError } from "./define-tool.ts";
import {
  answerCharsMax,
  headerCharsMax,
  optionCharsMax,
  optionsMax,
  optionsMin,
  questionCharsMax,
  questionsMax,
} from "./limits.ts";

const optionShape = z.strictObject({
  label: z.string().trim().min(1).max(optionCharsMax).describe("A few words."),
  description: z.string().trim().max(optionCharsMax).optional().describe("What it would mean, in a sentence."),
});

const questionShape = z.strictObject({
  question: z.string().trim().min(1).max(questionCharsMax).describe(`At most ${questionCharsMax} characters.`),
  header: z.string().trim().max(headerCharsMax).optional().describe("A word or two for it."),
  options: z
    .array(optionShape)
    .min(optionsMin)
    .max(optionsMax)
    .describe("What you can think of; any other answer can be written."),
  choose: z.enum(["one", "many"]).optional().describe("How many of them; one by default."),
});

const input = z.strictObject({
  questions: z.array(questionShape).min(1).max(questionsMax),
});

export const askUserTool = ({ user }: { readonly user: UserPort }): Tool =>
  defineTool({
    name: "ask_user",
    description:
      "Ask the user to decide what only they can: a wish, a choice between ways that differ for them. Not for what you can find out, and not for permission: calls that need it are asked about by themselves.",
    input,
    // A "write" runs alone and in order: the user is asked one thing after the other.
    effect: "write",
    plan: async ({ questions }, { toolUse }) => ({
      kind: "ready",
      acts: [],
      run: (signal) => askQuestions(user, { questions: questions.map(toQuestion), toolUse, signal }),
    }),
  });

function toQuestion({ question, header, options, choose }: z.infer<typeof questionShape>): Question {
  return {
    question,
    ...(header === undefined ? {} : { header }),
    options: options.map(({ label, description }) => ({
      label,
      ...(description === undefined ? {} : { description }),
    })),
    choose: choose ?? "one",
  };
}

async function askQuestions(
  user: UserPort,
  {
    questions,
    toolUse,
    signal,
  }: { readonly questions: readonly Question[]; readonly toolUse: ToolUseId; readonly signal: AbortSignal },
): Promise<ToolOutcome> {
  const answer = await user.question({ toolUse, questions }, signal);
  switch (answer.kind) {
    case "answered":
      return formatAnswers(questions, answer.answers);
    case "declined":
      return toolError(declineText(answer.words));
    case "nobody":
      return toolError("Nobody is there to answer. Decide it yourself as they would most likely want, and say so.");
  }
}

/** Each question with its answer, in the form by which compaction finds the user's decisions. */
function formatAnswers(questions: readonly Question[], answers: readonly (readonly string[])[]): ToolOutcome {
  const pairs = questions.flatMap(({ question }, at) => {
    const answer = (answers[at] ?? []).map((one) => one.trim()).filter((one) => one !== "");
    return answer.length === 0 ? [] : [{ question, answer: answer.join(", ").slice(0, answerCharsMax).toWellFormed() }];
  });
  if (pairs.length === 0) return toolError(declineText(undefined));
  const answered = pairs.map(({ question, answer }) => `${quoteAnswer(question)}=${quoteAnswer(answer)}`).join(", ");
  const open = questions.length - pairs.length;
  const rest = open === 0 ? "" : ` They left ${open} of ${questions.length} questions unanswered.`;
  return {
    content: `The user answered: ${answered}.${rest}`,
    summary: pairs
      .map(({ answer }) => answer)
      .join("; ")
      .slice(0, 200),
  };
}

/** On one line, without quotes that would end it early. */
const quoteAnswer = (text: string): string => `"${text.replaceAll('"', "'").replaceAll(/\s+/g, " ")}"`;

const declineText = (words: string | undefined): string =>
  words === undefined || words.trim() === ""
    ? "The user declined to answer."
    : `The user declined to answer. About how to go on, the user said:\n${words.trim()}`;
