import { type z } from "zod";
import { parseJson } from "../../packages/palimpsest/src/schema/json.ts";

/** The lines of an output that are JSON of a form; others are passed over. */
export const linesOf = <Form extends z.ZodType>(form: Form, output: string): readonly z.infer<Form>[] =>
  output.split("\n").flatMap((line) => {
    const read = form.safeParse(jsonOf(line));
    return read.success ? [read.data] : [];
  });

function jsonOf(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}
