import type { Session } from "../../../packages/palimpsest/src/session/session.ts";
import type { Block } from "../../../packages/palimpsest/src/schema/block.ts";
import { messageId, toolUseId } from "../../../packages/palimpsest/src/schema/brand.ts";
import { estimateBlock } from "../../../packages/palimpsest/src/tokens/estimate-block.ts";
import { replyDraft, resultDraft, type Draft } from "../../../packages/palimpsest/src/transcript/draft.ts";
import { append, user } from "../../fixture/session.ts";
import { codewordOf, taskText } from "./compaction-world.ts";

/**
 * `work`: turns with calls. `no-results`: talk only. `one-message`: nearly all of it is one message of the user.
 * `tool-loop`: one request, and calls and results ever since, the last one unanswered.
 */
export type Shape = "work" | "no-results" | "one-message" | "tool-loop";

export interface Filling {
  readonly tokens: number;
  readonly shape: Shape;
  readonly model: string;
}

/** A session of at least this size, written without a model. Gives what the user said in it. */
export async function fillSession(session: Session, filling: Filling): Promise<readonly string[]> {
  const said: string[] = [];
  let left = filling.tokens;
  for (let round = 0; left > 0; round += 1) {
    const drafts = draftsOf(round, filling, said);
    await append(session, ...drafts.map(({ draft }) => draft));
    left -= drafts.reduce((sum, { tokens }) => sum + tokens, 0);
  }
  return said;
}

interface Weighed {
  readonly draft: Draft;
  readonly tokens: number;
}

function draftsOf(round: number, { shape, model, tokens }: Filling, said: string[]): readonly Weighed[] {
  const speak = (text: string): Weighed => {
    said.push(text);
    return { draft: user(text), tokens: sizeOf({ type: "text", text }) };
  };
  const answer = (...content: readonly Block[]): Weighed => ({
    draft: replyDraft({ id: messageId(`msg_filled_${round}_${content.length}`), model, content }),
    tokens: content.reduce((sum, block) => sum + sizeOf(block), 0),
  });
  const talk: Block = { type: "text", text: prose(`Reply ${round} ${codewordOf("R", round)}`, 150) };
  const toolUse = toolUseId(`toolu_filled_${round}`);
  const call: Block = { type: "tool_use", id: toolUse, name: "bash", input: { command: `echo ${round}` } };
  const content = prose(`Output ${round} ${codewordOf("O", round)}`, 900);
  const result = {
    draft: resultDraft({ toolUse, content }),
    tokens: sizeOf({ type: "tool_result", tool_use_id: toolUse, content }),
  };
  switch (shape) {
    case "work":
      return [speak(taskText(round)), answer(talk, call), result, answer(talk)];
    case "no-results":
      return [speak(taskText(round)), answer({ type: "text", text: prose(`Talk ${round}`, 600) })];
    case "one-message":
      return [speak(`${taskText(round)}\n${prose("Pasted", Math.ceil(tokens / 1.4))}`), answer(talk)];
    case "tool-loop":
      return [...(round === 0 ? [speak(taskText(0))] : []), answer(talk, call), result];
  }
}

const sizeOf = (block: Block): number => estimateBlock(block);

const prose = (title: string, words: number): string =>
  `${title}: ${Array.from({ length: words }, (_, at) => vocabulary[(at * 7) % vocabulary.length]).join(" ")}`;

const vocabulary = "the pump was opened and its valve turned twice before water ran again through every pipe".split(
  " ",
);
