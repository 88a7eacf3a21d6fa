import { describe, expect, it } from "vitest";
import type { Candidate, Collection, RankProfile } from "../ports/ranker.ts";
import { neighbourStemsMax } from "./limits.ts";
import { readCues } from "./query-cues.ts";
import { dateFeatures, passageFeatures } from "./passage-features.ts";
import { chooseProfile, rankPassages } from "./rank-passages.ts";
import { scoreWindows } from "./score-windows.ts";
import { passageStems, queryStems } from "./stem.ts";
import { collectTerms, eachTerm } from "./term.ts";

type Said = Pick<Candidate, "speaker" | "text"> & Partial<Pick<Candidate, "session" | "at" | "call">>;

/** Passages in the order in which they were said. */
function candidatesFrom(said: readonly Said[]): readonly Candidate[] {
  const positions = new Map<string, number>();
  return said.map(({ speaker, text, session = "s", at, call }, key) => {
    const position = positions.get(session) ?? 0;
    positions.set(session, position + 1);
    const stems = passageStems({ speaker, text, call });
    return { key, session, position, speaker, kind: "turn", at, text, call, stems, role: "found" };
  });
}

/** The candidates and nothing else. */
function collectionFrom(candidates: readonly Candidate[]): Collection {
  const having = <Word>(lists: readonly (readonly Word[])[]) => ({
    documents: lists.length,
    words: lists.reduce((sum, list) => sum + list.length, 0),
    documentsWith: (word: Word) => lists.filter((list) => list.includes(word)).length,
  });
  const sessions = Map.groupBy(candidates, ({ session }) => session);
  const ofSessions = [...sessions.values()].map((passages) => passages.flatMap(({ stems }) => stems));
  return {
    passages: having(candidates.map(({ stems }) => stems)),
    cappedStems: candidates.reduce((sum, { stems }) => sum + Math.min(neighbourStemsMax, stems.length), 0),
    sessions: having(ofSessions),
    userSessions: having(ofSessions),
    terms: having(
      candidates.map(({ call = "", text }) => {
        const terms: number[] = [];
        eachTerm({ text: `${call}\n${text}` }, (term) => terms.push(term));
        return terms;
      }),
    ),
  };
}

function rankSaid(query: string, said: readonly Said[], profile?: RankProfile): readonly string[] {
  const candidates = candidatesFrom(said);
  const request = { query, candidates, collection: collectionFrom(candidates), sessionScores: new Map(), profile };
  return rankPassages(request).map(({ key }) => said[key]?.text ?? "");
}

describe("windows", () => {
  const score = (query: string, said: readonly Said[]): readonly number[] => {
    const candidates = candidatesFrom(said);
    const windows = scoreWindows(queryStems(query), { candidates, collection: collectionFrom(candidates) });
    return windows.map((window) => window.score);
  };
  const filler = (word: string): Said => ({ speaker: "user", text: `${word} one two three` });

  it("a passage has the words of its neighbours, of the one before it more than of the one after it", () => {
    const [, after = 0, match = 0, before = 0, , far = 0] = score("zebra", [
      filler("a"),
      filler("b"),
      filler("zebra"),
      filler("c"),
      filler("d"),
      filler("e"),
      filler("f"),
    ]);
    expect(match).toBeGreaterThan(before);
    expect(before).toBeGreaterThan(after);
    expect(after).toBeGreaterThan(far);
    expect(far).toBeGreaterThan(0);
  });

  it("end at the border of a session", () => {
    const said = [filler("zebra"), { ...filler("b"), session: "another" }];
    expect(score("zebra", said)[1]).toBe(0);
  });

  it("of a long neighbour no more than fifteen stems count", () => {
    const long = { speaker: "assistant", text: `zebra ${"lion ".repeat(200)}` };
    const [short = 0] = score("zebra", [filler("b"), filler("zebra")]);
    const [capped = 0] = score("zebra", [filler("b"), long]);
    expect(capped).toBeLessThan(short);
    expect(capped).toBeGreaterThan(0);
  });

  it("a word that nothing has changes no score", () => {
    const said = [filler("a"), filler("zebra")];
    expect(score("zebra unicorn", said)).toEqual(score("zebra", said));
  });
});

describe("what a question asks for", () => {
  const people = new Set(["Caroline", "Melanie"]);
  const roles = new Set(["user", "assistant"]);

  it.each([
    ["What did Caroline paint?", people, "Caroline"],
    ["What did Mel paint?", people, "Melanie"],
    ["What did Caroline and Melanie paint?", people, undefined],
    ["What was painted?", people, undefined],
    ["Where did I buy my lamp?", roles, "user"],
    ["What did you recommend?", roles, "assistant"],
    ["Can you recommend a lamp?", roles, undefined],
    ["Which lamp was it that you recommended?", roles, "assistant"],
    ["Remind me of my lamp", roles, "assistant"],
    ["In our previous chat there was a lamp", roles, "assistant"],
  ])("%s is about what was said by %s: %s", (query, speakers, speaker) => {
    expect(readCues(query, speakers).speaker).toBe(speaker);
  });

  it.each([
    ["When did she leave?", true, false],
    ["What year was it?", true, false],
    ["How long did it take?", true, true],
    ["How many cats are there?", false, true],
    ["Who left?", false, false],
  ])("%s: a time %s, an amount %s", (query, asksWhen, asksHowMany) => {
    expect(readCues(query, people)).toMatchObject({ asksWhen, asksHowMany });
  });
});

describe("dates of a question", () => {
  const features = (query: string, at: string, text = ""): ReturnType<typeof dateFeatures> =>
    dateFeatures({ dates: readCues(query, new Set(["Ann"])).dates, at, text });

  it("fit what was said in the month", () => {
    expect(features("in May 2023", "2023-05-20")).toMatchObject({ month: 1, day: 0 });
    expect(features("in May 2023", "2022-05-20").month).toBe(0);
    expect(features("in May", "2022-05-20").month).toBe(1);
  });

  it("fit what was said on the day or soon after, and a little what was said before it", () => {
    expect(features("on 7 May 2023", "2023-05-07")).toMatchObject({ day: 1, toldDay: 0.5 });
    expect(features("on 7 May 2023", "2023-05-10").day).toBeCloseTo(0.7);
    expect(features("on 7 May 2023", "2023-05-03").day).toBe(0.4);
    expect(features("on 7 May 2023", "2023-05-20").day).toBe(0);
  });

  it("fit what tells of the day, the more exactly the better", () => {
    expect(features("on 7 May 2023", "2023-05-08", "i went there yesterday").toldDay).toBe(1);
    expect(features("on 7 May 2023", "2023-05-12", "i went there last week").toldDay).toBeCloseTo(1 / Math.sqrt(7));
    expect(features("in April 2023", "2023-05-12", "it was last month").toldMonth).toBe(1);
    expect(features("in April 2023", "2023-05-12", "it was last year").toldMonth).toBe(0);
  });
});

describe("what a passage answers", () => {
  const featuresFor = (query: string, said: readonly Said[]): ReturnType<typeof passageFeatures> => {
    const candidates = candidatesFrom(said);
    const request = { query, candidates, collection: collectionFrom(candidates), sessionScores: new Map() };
    return passageFeatures(request, { asked: 1 });
  };

  it("is asked in the questions of the passage before it, not in the rest of it", () => {
    const answer = { speaker: "Ben", text: "A lake." };
    const asking = { speaker: "Ann", text: "My zebra is fine. Which picture did you paint?" };
    expect(featuresFor("picture", [asking, answer])[1]?.asked).toBe(1);
    expect(featuresFor("zebra", [asking, answer])[1]?.asked).toBe(0);
    expect(featuresFor("picture", [{ ...asking, text: "Paint a picture!" }, answer])[1]?.asked).toBe(0);
  });

  it("has the words of the query apart from the speakers' names", () => {
    const said = [
      { speaker: "Ann", text: "Hello Ben" },
      { speaker: "Ben", text: "I paint zebras" },
    ];
    expect(featuresFor("What did Ben paint?", said).map(({ topic }) => topic)).toEqual([0, 1]);
  });

  it("opens a session at its first passage, and is long from twenty stems on", () => {
    const [first, second] = featuresFor("zebra", [
      { speaker: "Ann", text: "zebra ".repeat(30) },
      { speaker: "Ben", text: "lion ".repeat(9) },
    ]);
    expect(first).toMatchObject({ opening: 1, length: 1 });
    expect(second).toMatchObject({ opening: 0, length: 0.5 });
  });
});

describe("profiles", () => {
  it("follow from who speaks", () => {
    const choose = (...speakers: string[]): RankProfile =>
      chooseProfile(candidatesFrom(speakers.map((speaker) => ({ speaker, text: "" }))));
    expect(choose("Ann", "Ben")).toBe("people");
    expect(choose("user", "assistant")).toBe("assistant");
    expect(choose("user", "assistant", "tool")).toBe("coding");
  });

  it("among people an answer comes before the question that it answers", () => {
    const question = { speaker: "Ann", text: "What did you paint, a sunrise?" };
    const answer = { speaker: "Ben", text: "I painted a lake." };
    expect(rankSaid("What did Ben paint?", [question, answer])[0]).toBe(answer.text);
  });

  it("with an assistant a question mark says nothing, because users tell facts and then ask", () => {
    const told = { speaker: "user", text: "I painted a sunrise, how do I frame it?" };
    const other = { speaker: "assistant", text: "Painted frames fit a sunrise well, use wood." };
    expect(rankSaid("What did I paint, a sunrise?", [told, other])[0]).toBe(told.text);
    expect(rankSaid("Which frames did you recommend for the sunrise?", [told, other])[0]).toBe(other.text);
  });

  it("with tools a result is found by the words of its call", () => {
    const said = [
      { speaker: "assistant", text: "Now the retry limit in src/loop/retry.ts has to change" },
      { speaker: "tool", text: "1→export const attempts = 7;", call: "Read src/loop/retry.ts" },
      { speaker: "tool", text: "1→export const size = 9;", call: "Read src/loop/page.ts" },
    ];
    expect(rankSaid("Edit src/loop/retry.ts", said)[0]).toBe("1→export const attempts = 7;");
  });

  it("with tools a passage that has the query as written comes first", () => {
    const said = [
      { speaker: "tool", text: "const attempts = readAttempts(); attempts attempts", call: "Read attempts.ts" },
      { speaker: "tool", text: "a\nexport  const attempts = 7;\nb", call: "Bash cat x" },
    ];
    expect(rankSaid("export const attempts = 7;", said)[0]).toBe(said[1]?.text);
  });

  it("of equal passages the newest comes first", () => {
    const candidates = candidatesFrom([
      { speaker: "user", text: "zebra", session: "one" },
      { speaker: "user", text: "zebra", session: "two" },
    ]);
    const request = { query: "zebra", candidates, collection: collectionFrom(candidates), sessionScores: new Map() };
    expect(rankPassages(request).map(({ key }) => key)).toEqual([1, 0]);
  });

  it("a passage of the better session comes first if all else is equal", () => {
    const candidates = candidatesFrom([
      { speaker: "user", text: "zebra", session: "one" },
      { speaker: "user", text: "zebra", session: "two" },
    ]);
    const sessionScores = new Map([
      ["one", 2],
      ["two", 1],
    ]);
    const request = { query: "zebra", candidates, collection: collectionFrom(candidates), sessionScores };
    expect(rankPassages(request).map(({ key }) => key)).toEqual([0, 1]);
  });

  it("a query without a known word ranks all alike", () => {
    const candidates = candidatesFrom([{ speaker: "tool", text: "zebra" }]);
    const request = { query: "…", candidates, collection: collectionFrom(candidates), sessionScores: new Map() };
    expect(rankPassages(request)).toEqual([{ key: 0, score: 0 }]);
    expect(collectTerms("…")).toEqual([]);
  });
});
