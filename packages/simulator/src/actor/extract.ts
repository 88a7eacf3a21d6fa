import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { Actor, Move, SaidBlock } from "./actor.ts";
import { echoMove } from "./echo.ts";
import { hasMemoryTool, memoryToolCalls } from "./memory-tool-calls.ts";
import { memoryWrites } from "./memories.ts";
import { notesEdits } from "./notes.ts";
import { progressLine } from "./progress-line.ts";
import { blocksOf, lastUserText, systemText, userTexts } from "./request-text.ts";
import { compactionMove, summaryMove } from "./summary.ts";
import { editTool, writeTool } from "./tool-shape.ts";

/**
 * Makes what the engine asks a model for (summaries, notes, memories, lines of progress) by rule out of the request
 * itself. What is asked for is told by its words, so that any client's prompt will do; anything else is echoed.
 */
export const extractActor: Actor = {
  name: "extract",
  play: ({ request, purpose }) => ({ move: purpose === "compaction" ? compactionMove(request) : extractMove(request) }),
};

function extractMove(request: MessagesRequest): Move {
  switch (taskOf(request)) {
    case "summary":
      return summaryMove(request);
    case "notes":
      return callOnce(request, { blocks: () => notesEdits(request), done: "The notes are up to date." });
    case "remembering":
      return sayOrCall(memoryToolCalls(request), "It is written down.");
    case "memories":
      return callOnce(request, { blocks: () => memoryWrites(request), done: "There is nothing more to remember." });
    case "progress":
      return sayText(progressLine(request));
    case "other":
      return echoMove(request);
  }
}

export type Task = "summary" | "notes" | "remembering" | "memories" | "progress" | "other";

export function taskOf(request: MessagesRequest): Task {
  const ask = lastUserText(request);
  const system = systemText(request);
  if (fewWords.test(ask) || progressAsk.test(ask) || (fewWords.test(system) && aboutProgress.test(system)))
    return "progress";
  if (/<summary>/i.test(ask)) return "summary";
  const filed = filedTask(request, ask);
  if (filed !== undefined) return filed;
  const asksForTitle = /\b(?:title|topic|headline)\b/i.test(ask);
  const asksForSummary = summaryAsk.test(ask) && !asksForTitle;
  return asksForSummary || /\bsummari[sz]ing (?:the |our )?conversations?\b/i.test(system) ? "summary" : "other";
}

const fewWords = /\b(?:3|three)\s*(?:-|–|to|or)\s*(?:5|five)[\s-]+words?\b/i;
/** A system prompt may speak of few words in passing. */
const aboutProgress = /\b(?:present[ -]tense|progress|status)\b/i;
const progressAsk =
  /\b(?:progress|status) (?:report|update|line)\b|\breport (?:on )?(?:your |the )?progress\b|\bwhat are you doing\b/i;
/** Whatever is to be summed up; a summary that is only spoken of is none that is asked for. */
const summaryAsk =
  /\bsummari[sz](?:e|ing)\b|\bsum (?:\w+ ){0,3}up\b|\brecap\b|\btl;?dr\b|\bsummary of\b|\b(?:write|give|make|create|provide|produce|draft|generate|need|want|update)\b[^.?!\n]{0,60}\bsummary\b/i;

/** Notes or memories, whichever the request speaks of more; paths don't speak. */
function filedTask(request: MessagesRequest, ask: string): "notes" | "remembering" | "memories" | undefined {
  const words = ask
    .split(/\s+/)
    .filter((word) => !word.includes("/") && !/.\.md\b/.test(word))
    .join(" ");
  const notes = /\b(?:file|sections?|template|take|update|write|keep|revise)\b/i.test(words)
    ? countOf(words, /\bnotes\b/gi)
    : 0;
  const memories = savingVerb.test(words) ? countOf(words, /\bmemor(?:y|ies)\b/gi) : 0;
  if (hasMemoryTool(request) && (memories > notes || rememberAsk.test(words))) return "remembering";
  if (notes >= memories && notes > 0 && editTool(request) !== undefined) return "notes";
  const canWrite = writeTool(request) !== undefined || editTool(request) !== undefined;
  return memories > 0 && canWrite ? "memories" : undefined;
}

const savingVerb = /\b(?:extract|save|store|write|record|keep|consolidate|update|add|create|collect|commit)\b/i;
/** Where there is a tool for it, the word alone asks for it; a question does not. */
const rememberAsk = /\bremember\b(?![^.!?]{0,400}\?)/i;
const countOf = (text: string, form: RegExp): number => text.match(form)?.length ?? 0;

interface Errand {
  readonly blocks: () => readonly SaidBlock[];
  readonly done: string;
}

/** One reply with calls; whatever came of them, the next reply ends the errand. */
function callOnce(request: MessagesRequest, { blocks, done }: Errand): Move {
  const askedAt = userTexts(request).at(-1)?.at ?? 0;
  const called = request.messages
    .slice(askedAt + 1)
    .some((message) => message.role === "assistant" && blocksOf(message).some(({ type }) => type === "tool_use"));
  return sayOrCall(called ? [] : blocks(), done);
}

const sayOrCall = (calls: readonly SaidBlock[], done: string): Move =>
  calls.length === 0 ? sayText(done) : { kind: "say", blocks: calls };

const sayText = (text: string): Move => ({ kind: "say", blocks: [{ type: "text", text }] });
