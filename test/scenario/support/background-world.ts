import type { Message } from "../../../packages/palimpsest/src/schema/block.ts";
import type { MoveBlock, Responder } from "../../../packages/simulator/src/responder/responder.ts";
import { says } from "./simulated.ts";
import { join } from "node:path";
import { expect } from "vitest";
import { millis } from "../../../packages/palimpsest/src/schema/brand.ts";
import { memoriesOf, memoryCall, memoryText } from "./memory-world.ts";
import type { AgentWorld, SeenRequest } from "./whole-agent.ts";

/** What a fork that keeps memories answers, by the number of its requests so far. */
export type ForkAnswer = (round: number, directive: string) => readonly MoveBlock[] | Promise<readonly MoveBlock[]>;

interface BackgroundAnswers {
  readonly reply?: readonly MoveBlock[];
  readonly extraction?: ForkAnswer;
  readonly dream?: ForkAnswer;
}

const markByWork = {
  extraction: "Look through the conversation above",
  dream: "You tidy up the memory directory",
} as const;
type Work = keyof typeof markByWork;

/** The directive of a request by work in the background; undefined if the conversation asks. */
function findDirective(messages: readonly Message[]): { readonly work: Work; readonly text: string } | undefined {
  const texts = messages.flatMap(({ role, content }) =>
    role === "user" ? content.flatMap((block) => (block.type === "text" ? [block.text] : [])) : [],
  );
  for (const work of ["extraction", "dream"] as const) {
    const text = texts.find((one) => one.includes(markByWork[work]));
    if (text !== undefined) return { work, text };
  }
  return undefined;
}

const messagesIn = (body: unknown): readonly Message[] =>
  (
    body as { readonly messages: readonly (Omit<Message, "content"> & { content: Message["content"] | string })[] }
  ).messages.map(({ role, content }) => ({
    role,
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }));

/** Which of the requests were those of work in the background. */
export const forksIn = (seen: readonly SeenRequest[], work: Work = "extraction"): readonly SeenRequest[] =>
  seen.filter(({ body }) => findDirective(messagesIn(body))?.work === work);

/** A model that answers the user shortly, and work in the background as the test says; by default it saves nothing. */
export function backgroundResponder({ reply = says("Done."), extraction, dream }: BackgroundAnswers): Responder {
  const answers = { extraction, dream };
  return {
    name: "background",
    respond: async ({ request }) => {
      const messages = messagesIn(request);
      const directive = findDirective(messages);
      if (directive === undefined) return { move: { kind: "say", blocks: reply } };
      const at = messages.findIndex((message) => findDirective([message]) !== undefined);
      const round = messages.slice(at).filter(({ role }) => role === "assistant").length;
      const blocks = (await answers[directive.work]?.(round, directive.text)) ?? says("Nothing to save.");
      return { move: { kind: "say", blocks } };
    },
  };
}

export const dreamTexts = {
  "tabs.md": memoryText("Indent with tabs", "Indent with tabs, never with spaces."),
  "indent.md": memoryText("Code indent", "Makefiles are indented with tabs as well."),
  "release.md": memoryText("Release day", "The release is on 2026-12-04."),
};

/** As the user did, days ago. */
export async function rememberTexts(world: AgentWorld): Promise<void> {
  const saved = await (
    await memoriesOf(world)
  ).commit({
    author: "user",
    provenance: { at: millis(Date.now() - 86_400_000), trust: "trusted" },
    message: "saved",
    changes: Object.entries(dreamTexts).map(([path, text]) => ({ path, expected: "any", text })),
  });
  expect(saved.kind).toBe("committed");
}

export const merged = memoryText(
  "Indent with tabs",
  "Indent with tabs, never with spaces.\nMakefiles are indented with tabs as well.",
);
export const addsMakefiles = memoryCall({
  command: "str_replace",
  path: "/memories/tabs.md",
  old_str: "never with spaces.",
  new_str: "never with spaces.\nMakefiles are indented with tabs as well.",
});
/** A dream that merges two memories about one thing. */
export const merges: ForkAnswer = (round) =>
  round === 0
    ? [
        { type: "text", text: "Two memories are about indentation." },
        addsMakefiles,
        memoryCall({ command: "delete", path: "/memories/indent.md" }),
      ]
    : says('{"removed": []}');

const call = (name: string, input: Record<string, string>): MoveBlock => ({ type: "tool_use", name, input });

/** Reads `note.txt` in the project, then tries to change it by every tool that could. */
export const readsAndWritesOutside = ({ work }: Pick<AgentWorld, "work">): readonly MoveBlock[] => [
  call("bash", { command: "cat note.txt" }),
  call("bash", { command: "echo owned > note.txt" }),
  call("bash", { command: "find . -name note.txt -delete" }),
  call("write", { file_path: join(work, "note.txt"), content: "owned" }),
  memoryCall({ command: "create", path: "/memories/../../note.txt", file_text: "owned" }),
];

export const memoryNames = async (world: AgentWorld): Promise<readonly string[]> =>
  (await (await memoriesOf(world)).list()).filter(({ role }) => role === "memory").map(({ path }) => path);
