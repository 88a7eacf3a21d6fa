import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Passage } from "../../packages/palimpsest/src/ports/ranker.ts";
import { passageStems } from "../../packages/palimpsest/src/recall/stem.ts";
import type { Question } from "./locomo.ts";

const questionSchema = z.object({
  question_id: z.string(),
  question_type: z.string(),
  question: z.string(),
  question_date: z.string(),
  answer_session_ids: z.array(z.string()),
  haystack_dates: z.array(z.string()),
  haystack_session_ids: z.array(z.string()),
  haystack_sessions: z.array(
    z.array(z.object({ role: z.enum(["user", "assistant"]), content: z.string(), has_answer: z.boolean().optional() })),
  ),
});

export interface Haystack {
  readonly passages: readonly Passage[];
  readonly question: Question;
  readonly goldSessions: ReadonlySet<string>;
  /** A third of the questions is for tuning, by the hash of their ids. */
  readonly part: "tune" | "test";
}

/** Each question with its sessions. Questions that have no answer are left out. */
export function* readLongMemEval(folder: string): Generator<Haystack> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder).toSorted()) {
    if (!name.endsWith(".json")) continue;
    const asked = questionSchema.parse(JSON.parse(readFileSync(join(folder, name), "utf8")));
    if (!asked.question_id.endsWith("_abs")) yield haystackFrom(asked);
  }
}

function haystackFrom(asked: z.infer<typeof questionSchema>): Haystack {
  const passages: Passage[] = [];
  const gold = new Set<number>();
  for (const [number, turns] of asked.haystack_sessions.entries())
    for (const [position, turn] of turns.entries()) {
      const key = passages.length;
      if (turn.has_answer === true) gold.add(key);
      passages.push({
        key,
        session: asked.haystack_session_ids[number] ?? String(number),
        position,
        speaker: turn.role,
        kind: "turn",
        at: isoDate(asked.haystack_dates[number] ?? ""),
        text: turn.content,
        stems: passageStems({ speaker: turn.role, text: turn.content }),
      });
    }
  const hash = BigInt(`0x${createHash("sha1").update(asked.question_id).digest("hex")}`);
  return {
    passages,
    question: { query: asked.question, now: isoDate(asked.question_date), gold, category: asked.question_type },
    goldSessions: new Set(asked.answer_session_ids),
    part: hash % 3n === 0n ? "tune" : "test",
  };
}

/** "2023/05/30 (Tue) 23:51". */
const isoDate = (written: string): string => written.slice(0, 10).replaceAll("/", "-");
