import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readLocomo } from "../../bench/recall/locomo.ts";
import { readLongMemEval } from "../../bench/recall/longmemeval.ts";
import { Means, recallAt } from "../../bench/recall/measures.ts";
import { everyPassage, MemorySource } from "../../bench/recall/memory-source.ts";
import { rankPassages } from "../../packages/palimpsest/src/recall/rank-passages.ts";

const corpus = resolve(import.meta.dirname, "../..", process.env["PALIMPSEST_CORPUS"] ?? "../shared/corpus");
const locomo = `${corpus}/locomo/locomo10.json`;
const haystacks = `${corpus}/longmemeval/s`;
const whyNot = (path: string): string => (existsSync(path) ? "" : " (left out: PALIMPSEST_CORPUS is not there)");

/** How far a figure may move before somebody has to say why. */
const tolerance = 0.005;

describe("ranking without a model", () => {
  it.skipIf(!existsSync(locomo))(
    `finds the turns that answer LoCoMo's questions 6-10 as often as measured${whyNot(locomo)}`,
    async () => {
      const means = new Means();
      for (const { passages, questions } of readLocomo(locomo).slice(5)) {
        const source = new MemorySource(passages);
        for (const { query, gold } of questions) {
          const ranked = rankPassages({ query, ...(await source.find(query, everyPassage)) });
          means.add(
            recallAt(
              ranked.map(({ key }) => key),
              gold,
            ),
          );
        }
      }
      const { figures } = means.row("");
      expect(Math.abs((figures["R@5"] ?? 0) - 0.77)).toBeLessThanOrEqual(tolerance);
      expect(Math.abs((figures["R@10"] ?? 0) - 0.836)).toBeLessThanOrEqual(tolerance);
      expect(Math.abs((figures["hit@5"] ?? 0) - 0.829)).toBeLessThanOrEqual(tolerance);
      expect(Math.abs((figures["hit@10"] ?? 0) - 0.889)).toBeLessThanOrEqual(tolerance);
    },
    120_000,
  );

  it.skipIf(!existsSync(haystacks))(
    `finds every session that answers the questions of LongMemEval-S at hand${whyNot(haystacks)}`,
    async () => {
      for (const { passages, question, goldSessions } of readLongMemEval(haystacks)) {
        const ranked = await new MemorySource(passages).rankSessions(question.query, question.now);
        const figures = recallAt(
          ranked.map(({ session }) => session),
          goldSessions,
        );
        expect(figures["all@5"], question.query).toBe(1);
      }
    },
    120_000,
  );
});
