import { isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { billingLine } from "../recognise/read-identity.ts";

/** What a request has besides its list. */
export interface FixedPart {
  readonly model: string;
  readonly system: Json | undefined;
  readonly lead: readonly JsonObject[];
  readonly tools: Json | undefined;
}

/** Bodies of one conversation share the values that did not change, so that identity says most of it. */
export const isSameSystem = (now: FixedPart, sent: FixedPart): boolean =>
  (now.system === sent.system || isSameJson(withoutBilling(now.system), withoutBilling(sent.system))) &&
  now.lead.length === sent.lead.length &&
  now.lead.every((value, at) => value === sent.lead[at] || isSameJson(value, sent.lead[at]));

/** A line of Claude Code that is not for the model and changes with the first message. */
function withoutBilling(system: Json | undefined): Json | undefined {
  const [first, ...others] = isArray(system) ? system : [];
  const text = isObject(first) ? textField(first, "text") : undefined;
  return text?.startsWith(billingLine) === true ? others : system;
}

export const isSameJson = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
