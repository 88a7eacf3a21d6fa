import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { allTexts, callsOf, lastUserText, newestResults, offeredTools, systemText } from "../actor/request-text.ts";
import { patternTest } from "./pattern.ts";
import type { ConditionForm } from "./schema.ts";

export type Condition = (request: MessagesRequest) => boolean;

/** All that a condition names must hold. */
export function conditionOf(form: ConditionForm): Condition {
  const parts = partsOf(form);
  return (request) => parts.every((holds) => holds(request));
}

function partsOf(form: ConditionForm): readonly Condition[] {
  const { tool, called, turns, not, all, any } = form;
  const parts: Condition[] = [...textParts(form)];
  if (tool !== undefined) parts.push((request) => offeredTools(request).some(({ name }) => name === tool));
  if (called !== undefined) parts.push((request) => callsOf(request).some(({ name }) => name === called));
  if (turns !== undefined) {
    const { atLeast = 0, atMost = Infinity } = turns;
    parts.push((request) => turnsOf(request) >= atLeast && turnsOf(request) <= atMost);
  }
  if (not !== undefined) {
    const holds = conditionOf(not);
    parts.push((request) => !holds(request));
  }
  if (all !== undefined) parts.push(...all.map(conditionOf));
  if (any !== undefined) {
    const choices = any.map(conditionOf);
    parts.push((request) => choices.some((holds) => holds(request)));
  }
  return parts;
}

function textParts({ lastUser, anyText, system, result }: ConditionForm): readonly Condition[] {
  const where: readonly [string | undefined, (request: MessagesRequest) => readonly string[]][] = [
    [lastUser, (request) => [lastUserText(request)]],
    [anyText, allTexts],
    [system, (request) => [systemText(request)]],
    [result, newestResults],
  ];
  return where.flatMap(([pattern, texts]) => {
    if (pattern === undefined) return [];
    const matches = patternTest(pattern);
    return [(request: MessagesRequest) => texts(request).some(matches)];
  });
}

const turnsOf = ({ messages }: MessagesRequest): number => messages.filter(({ role }) => role === "assistant").length;
