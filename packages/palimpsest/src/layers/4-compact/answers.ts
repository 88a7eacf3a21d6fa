import type { DecisionFact } from "./facts.ts";

/** What a person answered, to be told without what a client writes around it. */
export type Answer = Pick<DecisionFact, "question" | "answer">;

/** Each question of a call with its answer, as clients put them into the result; else the result as the answer to the call. */
export function answersIn(said: string, tool: string): readonly Answer[] {
  const pairs = [...said.matchAll(/"([^"]+)"\s*=\s*"([^"]+)"/g)];
  if (pairs.length === 0) return [{ question: tool, answer: said }];
  return pairs.map(([, question = "", answer = ""]) => ({ question: question.trim(), answer: answer.trim() }));
}

/** What a person said where they did not let a call run: their own words, else what the client says of it. */
export function refusalWords(said: string): string {
  const words = /\b(?:user|they|person) (?:said|says|wrote|provided|gave)\b[^:\n]{0,80}:\s*([^]+)/i.exec(said)?.[1];
  const own = words?.replace(/\n+Note: The user's next message[^]*$/, "").trim();
  return own === undefined || own === "" ? said : own;
}
