import { type z } from "zod";
import { parseJson } from "../../packages/palimpsest/src/schema/json.ts";

/** Parses the lines of an output that are JSON of this form, and skips all others. */
export const parseLines = <Form extends z.ZodType>(form: Form, output: string): readonly z.infer<Form>[] =>
  output.split("\n").flatMap((line) => {
    const parsed = form.safeParse(tryJson(line));
    return parsed.success ? [parsed.data] : [];
  });

function tryJson(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}
