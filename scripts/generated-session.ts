import { messageId, toolUseId } from "../packages/palimpsest/src/schema/brand.ts";
import { type Draft, replyDraft, resultDraft, userDraft } from "../packages/palimpsest/src/transcript/draft.ts";

/** One exchange of the generated session: the model calls a tool, the tool answers. */
interface Round {
  readonly tool: string;
  readonly input: { readonly [name: string]: string };
  readonly result: string;
}

const requests = [
  "The build breaks on Sundays. Find out why and fix it.",
  "Good. Now make the date parser refuse dates that do not exist.",
  "Add tests for leap years, and keep the error texts as they are.",
  "Summarise what you changed for the changelog.",
] as const;

const files = [
  "src/calendar.ts",
  "src/parse-date.ts",
  "src/zone.ts",
  "test/calendar.test.ts",
  "test/parse-date.test.ts",
] as const;

/** The same session every time: sizes vary with the round, nothing is random. */
export function generatedSession(rounds: number): Draft[] {
  const drafts: Draft[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const turn = Math.floor((round * requests.length) / rounds);
    if (round === 0 || turn !== Math.floor(((round - 1) * requests.length) / rounds)) {
      drafts.push(userDraft(requests[turn] ?? requests[0]));
    }
    drafts.push(...exchange(round));
  }
  return drafts;
}

function exchange(round: number): Draft[] {
  const { tool, input, result } = roundOf(round);
  const toolUse = toolUseId(`toolu_demo_${String(round).padStart(4, "0")}`);
  return [
    replyDraft({
      id: messageId(`msg_demo_${String(round).padStart(4, "0")}`),
      model: "demo",
      content: [
        {
          type: "text",
          text: `Step ${round + 1}: ${tool === "Read" ? "look at the source" : "see what the tests say"}.`,
        },
        { type: "tool_use", id: toolUse, name: tool, input },
      ],
    }),
    resultDraft({ toolUse, content: result }),
  ];
}

function roundOf(round: number): Round {
  const file = files[round % files.length] ?? files[0];
  if (round % 3 === 2) return { tool: "Bash", input: { command: `npm test -- ${file}` }, result: testOutput(round) };
  return { tool: "Read", input: { file_path: file }, result: source(file, 40 + ((round * 37) % 160)) };
}

const source = (file: string, lines: number): string =>
  Array.from(
    { length: lines },
    (_, at) => `${String(at + 1).padStart(5)}\tconst day${at} = weekday(${2000 + at}, ${(at % 12) + 1}) // ${file}`,
  ).join("\n");

const testOutput = (round: number): string =>
  Array.from(
    { length: 12 },
    (_, at) => `${(at + round) % 7 === 0 ? "✗" : "✓"} calendar ${at + 1} (${(at * 13 + round) % 40} ms)`,
  ).join("\n");
