import { isObject, type JsonObject, parseJson } from "../schema/json.ts";

interface CallInput {
  readonly input: JsonObject;
  /** Why it is empty though something came. */
  readonly flawed?: string;
}

/** Models now and then write an input that no parser takes, or are cut off inside it; the call still has to be answered. */
export function readCallInput(json: string): CallInput {
  try {
    const input = parseJson(json);
    return isObject(input) ? { input } : { input: {}, flawed: "The input is JSON, but no object." };
  } catch (error) {
    return { input: {}, flawed: `The input is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
