import { readFileSync } from "node:fs";
import { z } from "zod";
import type { Passage } from "../../packages/palimpsest/src/ports/ranker.ts";
import { passageStems } from "../../packages/palimpsest/src/recall/stem.ts";

const turnSchema = z.object({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string(),
  blip_caption: z.string().optional(),
});

const fileSchema = z.array(
  z.object({
    qa: z.array(z.object({ question: z.string(), evidence: z.array(z.string()), category: z.number() })),
    conversation: z.record(z.string(), z.unknown()),
  }),
);

export interface Question {
  readonly query: string;
  /** ISO 8601. */
  readonly now: string | undefined;
  /** Keys of the passages that hold the answer. */
  readonly gold: ReadonlySet<number>;
  readonly category: string;
}

export interface Conversation {
  readonly passages: readonly Passage[];
  readonly questions: readonly Question[];
}

/** The ten conversations in their order. Questions without evidence are left out. */
export function readLocomo(file: string): readonly Conversation[] {
  return fileSchema.parse(JSON.parse(readFileSync(file, "utf8"))).map(({ qa, conversation }) => {
    const passages: Passage[] = [];
    const keyById = new Map<string, number>();
    for (let number = 1; `session_${number}_date_time` in conversation; number += 1) {
      const turns = z.array(turnSchema).parse(conversation[`session_${number}`] ?? []);
      const at = parseDate(z.string().parse(conversation[`session_${number}_date_time`]));
      for (const [position, turn] of turns.entries()) {
        const key = passages.length;
        const text = turn.blip_caption === undefined ? turn.text : `${turn.text} ${turn.blip_caption}`;
        keyById.set(turn.dia_id, key);
        passages.push({
          key,
          session: `session_${number}`,
          position,
          speaker: turn.speaker,
          kind: "turn",
          at,
          text,
          stems: passageStems({ speaker: turn.speaker, text }),
        });
      }
    }
    return { passages, questions: questionsFrom(qa, keyById) };
  });
}

type Asked = z.infer<typeof fileSchema>[number]["qa"];

function questionsFrom(asked: Asked, keyById: ReadonlyMap<string, number>): readonly Question[] {
  return asked.flatMap(({ question, evidence, category }) => {
    // Some lists hold several ids in one string, or an id with a leading zero.
    const ids = evidence.flatMap((written) => written.match(/D\d+:\d+/g) ?? []);
    const gold = new Set(ids.flatMap((id) => keyById.get(id.replace(/:0+/, ":")) ?? []));
    return gold.size === 0 ? [] : [{ query: question, now: undefined, gold, category: String(category) }];
  });
}

const monthNames = "January February March April May June July August September October November December".split(" ");

/** "1:56 pm on 8 May, 2023". */
function parseDate(written: string): string {
  const [, day = "1", month = "", year = "1970"] = / on (\d+) (\w+), (\d{4})/.exec(written) ?? [];
  return `${year}-${String(monthNames.indexOf(month) + 1).padStart(2, "0")}-${day.padStart(2, "0")}`;
}
