import { isObject, type JsonObject, parseJson } from "../schema/json.ts";

interface CallInput {
  readonly input: JsonObject;
  /** Why `input` is empty although the model wrote one. */
  readonly flawed?: string;
}

/** Never fails: models sometimes write an invalid or truncated input, and the call still has to be answered. */
export function readCallInput(json: string): CallInput {
  try {
    const input = parseJson(json);
    return isObject(input) ? { input } : { input: {}, flawed: "The input is JSON, but no object." };
  } catch (error) {
    return { input: {}, flawed: `The input is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
