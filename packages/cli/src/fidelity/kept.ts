import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { MeasuredFile } from "@palimpsest/lab/internal/fidelity/measure-file";
import { fidelityRunShape, fidelityShape } from "@palimpsest/lab/internal/fidelity/outcome-shape";
import { parsedOrUndefined } from "palimpsest/internal/schema/json";
import { replaceFile } from "palimpsest/internal/store/files/disk";

const fileShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("measured"), outcomes: z.array(fidelityShape), runs: z.array(fidelityRunShape) }),
  z.object({ kind: z.literal("skipped"), why: z.string() }),
]) satisfies z.ZodType<MeasuredFile>;

export async function keepMeasured(path: string, file: MeasuredFile): Promise<void> {
  await replaceFile({ path, data: Buffer.from(`${JSON.stringify(file)}\n`), sync: "unsynced" });
}

/** Undefined where nothing is kept, or not as it was written: then the file is measured anew. */
export async function readMeasured(path: string): Promise<MeasuredFile | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  return fileShape.safeParse(parsedOrUndefined(text)).data;
}
