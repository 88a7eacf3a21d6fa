import { isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { additionalTools, billingLine } from "../recognise/read-identity.ts";

/** What a request has besides its list. */
export interface FixedPart {
  readonly model: string;
  readonly system: Json | undefined;
  readonly preamble: readonly JsonObject[];
  readonly tools: Json | undefined;
}

/** Bodies of one conversation share the values that did not change, so that identity says most of it. */
export const isSameSystem = (now: FixedPart, sent: FixedPart): boolean =>
  (now.system === sent.system || isSameJson(withoutBilling(now.system), withoutBilling(sent.system))) &&
  isSameList(now.preamble, sent.preamble);

/** A line of Claude Code that is not for the model and changes with the first message. */
function withoutBilling(system: Json | undefined): Json | undefined {
  const [first, ...others] = isArray(system) ? system : [];
  const text = isObject(first) ? textField(first, "text") : undefined;
  return text?.startsWith(billingLine) === true ? others : system;
}

export const isSameTools = (now: FixedPart, sent: FixedPart): boolean =>
  (now.tools === sent.tools || isSameJson(now.tools, sent.tools)) &&
  isSameList(preambleTools(now), preambleTools(sent));

const preambleTools = ({ preamble }: FixedPart): readonly Json[] =>
  preamble.flatMap((element) => additionalTools(element) ?? []);

const isSameList = (now: readonly Json[], sent: readonly Json[]): boolean =>
  now.length === sent.length && now.every((value, at) => value === sent[at] || isSameJson(value, sent[at]));

const isSameJson = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
